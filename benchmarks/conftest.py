"""Options of the benchmarks, and the record of what they measured."""

import pytest
import record

UNIFORM = pytest.StashKey[float]()
MEDIANS = pytest.StashKey[list]()
STOPPING = pytest.StashKey[list]()
HEAVY = pytest.StashKey[list]()
IDENTIFICATION = pytest.StashKey[list]()
AUDITS = pytest.StashKey[list]()


def pytest_addoption(parser):
    group = parser.getgroup("dpbandits")
    group.addoption("--record", metavar="DIR", help="write benchmarks.csv and .json to DIR")
    group.addoption("--short", action="store_true", help="short horizons, to try things out")


def pytest_configure(config):
    config.stash[MEDIANS] = []
    config.stash[STOPPING] = []
    config.stash[HEAVY] = []
    config.stash[IDENTIFICATION] = []
    config.stash[AUDITS] = []


@pytest.fixture
def keep(request):
    """Take note of a measurement; without one (``--benchmark-disable``) of nothing."""

    def note(case, benchmark):
        if benchmark.stats is not None:
            stats = benchmark.stats.stats
            request.config.stash[MEDIANS].append((case, stats.median, stats.rounds))

    return note


@pytest.fixture
def keep_stopping(request):
    """Take note of a measurement of a stopping rule, and of how many samples it used."""

    def note(case, benchmark, samples):
        if benchmark.stats is not None:
            stats = benchmark.stats.stats
            row = record.make_stopping_row(case, stats.median, stats.rounds, samples)
            request.config.stash[STOPPING].append(row)

    return note


@pytest.fixture
def keep_heavy(request):
    """Take note of a measurement with heavy-tailed rewards; it is shown, and not recorded."""

    def note(case, benchmark):
        if benchmark.stats is not None:
            request.config.stash[HEAVY].append((case, benchmark.stats.stats.median / case.runs))

    return note


@pytest.fixture
def keep_identification(request):
    """Take note of a measurement of best-arm identification; it is shown, and not recorded."""

    def note(case, benchmark, pulls):
        if benchmark.stats is not None:
            seconds = benchmark.stats.stats.median
            request.config.stash[IDENTIFICATION].append(
                (case, seconds / case.runs, seconds / pulls)
            )

    return note


@pytest.fixture
def keep_audit(request):
    """Take note of a measurement of an audit."""

    def note(target, how, runs, benchmark):
        if benchmark.stats is not None:
            seconds = record.rounded(benchmark.stats.stats.median)
            label = getattr(target, "label", type(target).__name__)
            request.config.stash[AUDITS].append(record.AuditRow(label, how, runs, seconds))

    return note


@pytest.fixture
def keep_uniform(request):
    """Take note of the nanoseconds that one uniform costs."""

    def note(nanoseconds):
        request.config.stash[UNIFORM] = nanoseconds

    return note


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    """Show the measurements as a table, and write them where ``--record`` says."""
    stopping = config.stash[STOPPING]
    if stopping:
        line = "{:34} {:28} {:>11} {:>11} {:>11}".format
        terminalreporter.section("speed of stopping rules")
        terminalreporter.write_line(line("", "law", "samples", "ms a run", "ns a sample"))
        for r in stopping:
            cells = (f"{r.samples:,}", f"{r.ms_per_run:.4g}", f"{r.ns_per_sample:.4g}")
            terminalreporter.write_line(line(f"{r.rule}, {r.how}"[:34], r.law[:28], *cells))
        if config.getoption("--record"):
            path = record.write_stopping(config.getoption("--record"), stopping)
            terminalreporter.write_line(f"written: {path}")
    heavy = config.stash[HEAVY]
    if heavy:
        line = "{:34} {:>26} {:>11} {:>11}".format
        terminalreporter.section("speed with heavy-tailed rewards")
        terminalreporter.write_line(line("", "T", "ms a run", "ns a pull"))
        for case, seconds in heavy:
            cells = (f"{seconds * 1e3:.4g}", f"{seconds / case.horizon * 1e9:.4g}")
            name = f"{case.label}, {case.how}"[:34]
            terminalreporter.write_line(line(name, f"{case.horizon:,}", *cells))
    found = config.stash[IDENTIFICATION]
    if found:
        line = "{:34} {:>8} {:>11} {:>11}".format
        terminalreporter.section("speed of best-arm identification, μ1, δ = 0.01")
        terminalreporter.write_line(line("", "ε", "ms a run", "ns a pull"))
        for case, run, pull in found:
            cells = (f"{case.epsilon:g}", f"{run * 1e3:.4g}", f"{pull * 1e9:.4g}")
            terminalreporter.write_line(line(case.algorithm.label, *cells))
    audits = config.stash[AUDITS]
    if audits:
        line = "{:34} {:28} {:>11} {:>11}".format
        terminalreporter.section("speed of audits, on two processors")
        terminalreporter.write_line(line("", "", "runs", "seconds"))
        for r in audits:
            terminalreporter.write_line(line(r.target, r.how, f"{r.runs:,}", f"{r.seconds:.4g}"))
        if config.getoption("--record"):
            path = record.write_audits(config.getoption("--record"), audits)
            terminalreporter.write_line(f"written: {path}")
    uniform = config.stash.get(UNIFORM, None)
    medians = config.stash[MEDIANS]
    if uniform is None or not medians:
        if config.getoption("--record"):
            terminalreporter.write_line("nothing recorded: the unit or the cases were not measured")
        return
    rows = [record.make_row(*median, uniform) for median in medians]
    line = "{:34} {:>3} {:>11} {:>11} {:>11} {:>9}".format
    terminalreporter.section("speed")
    terminalreporter.write_line(f"NumPy draws a uniform in {uniform:.3g} ns")
    terminalreporter.write_line(line("", "K", "T", "ms a run", "ns a pull", "uniforms"))
    for r in rows:
        cells = (f"{r.ms_per_run:.4g}", f"{r.ns_per_pull:.4g}", f"{r.uniforms_per_pull:.4g}")
        terminalreporter.write_line(
            line(f"{r.algorithm}, {r.how}"[:34], r.n_arms, f"{r.horizon:,}", *cells)
        )
    if config.getoption("--record"):
        path = record.write(config.getoption("--record"), rows, uniform)
        terminalreporter.write_line(f"written: {path}")
