"""The command line, ``dpbandits``: algorithms on your own instances, plans and audits."""

from __future__ import annotations

import codecs
import dataclasses
import io
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

import dpbandits as dpb
from dpbandits._validation import check_choice, check_fraction, check_integer, check_number, shown
from dpbandits.algorithms import identifiers, registry, stopping_rules
from dpbandits.auditing import TablePair, audit_exactly, subject_of
from dpbandits.auditing import audit as audit_sampled
from dpbandits.auditing.verdicts import FOUND, NOTHING_TESTED
from dpbandits.cli import _console as console
from dpbandits.cli import _trials as trials
from dpbandits.cli._console import Jobs, Json, Seed, Settings, configure, reads, show
from dpbandits.configuration import whole
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.identification import FinitePopulation
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.regret.simulation import simulate_many
from dpbandits.rewards import instances, laws
from dpbandits.rewards.laws import Law
from dpbandits.rewards.sources import Arms

__all__ = ["audit", "estimate", "identify", "look", "main", "plan", "read_counts", "run"]

ENDINGS = (".svg", ".png", ".pdf")
OWN = "or FILE.py:NAME, MODULE:NAME"


def _playable() -> dict[str, Any]:
    """Return the regret-minimising algorithms whose arguments are only numbers and words."""
    return {
        name: kind
        for name, kind in registry.items()
        if all("RegretAlgorithm" not in str(f.type) for f in dataclasses.fields(kind))  # type: ignore[arg-type]
    }


def _auditable() -> dict[str, Any]:
    """Return the classes that can be audited by name."""
    return {**_playable(), **stopping_rules, **identifiers}


def _number(name: str, value: Any) -> float:
    return check_number(name, value, "a number")


def _picture(name: str, value: Any) -> Path:
    path = Path(str(value))
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"{name}={value!r} has another ending; allowed: {', '.join(ENDINGS)}")
    return path


Epsilon = Annotated[str | None, Parameter(help="Short for --set epsilon=E.")]
Factor = Annotated[
    int, reads(whole(1), "How many times as many patients, with the same shares (default: 1).")
]
MomentOrder = Annotated[
    float, reads(_number, "Order v of S1 to S3: moments up to 1 + v (default: 0.5).")
]
Means = Annotated[
    tuple[float, ...], reads(console.numbers, "Means of the arms, such as 0.75,0.7,0.7.")
]
MostPulls = Annotated[int, reads(whole(1), "End a run that has not stopped by then.")]
Picture = Annotated[Path | None, reads(_picture, f"Draw a picture: {', '.join(ENDINGS)}.")]
Repetitions = Annotated[int, reads(whole(1), "Replicates.")]
RunsFile = Annotated[Path | None, Parameter(help="Write the runs.")]

app = console.make_app(
    "dpbandits", "Differentially private bandits, reproduced and checked.", dpb.__version__
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command and options; by default those of the program.

    Returns
    -------
    int
        0, or 2 after a bad argument, 1 after a failure, 130 after an interrupt; `audit` has others.
    """
    return console.carry_out(app, arguments)


def _refuse(reason: str, **options: Any) -> None:
    """Raise for options that have no meaning here."""
    for name, value in options.items():
        if value is not None and value is not False:
            shown = str(value) if isinstance(value, Path) else value
            raise ValueError(f"{name.replace('_', '-')}={shown!r} {reason}")


def _lines(option: str, path: str) -> Iterator[str]:
    """Read a file, or stdin, line by line, no further than asked, in UTF-8 or marked UTF-16."""
    try:
        if path == "-":
            for number, line in enumerate(sys.stdin):
                yield line if number else line.removeprefix("\ufeff")
            return
        with Path(path).open("rb") as raw:
            wide = raw.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            yield from io.TextIOWrapper(raw, encoding="utf-16" if wide else "utf-8-sig")
    except UnicodeError:
        raise ValueError(
            f"{option}={path!r} is not text; allowed: a file of numbers, in UTF-8 or UTF-16 with a "
            "byte-order mark, or - for stdin"
        ) from None
    except OSError as error:
        raise ValueError(
            f"{option}={path!r} cannot be read ({error.strerror}); "
            "allowed: a file of numbers, or - for stdin"
        ) from None


def _words(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


def _pulls(pulls: Sequence[float]) -> str:
    return "pulls of each arm, mean: " + " ".join(f"{n:.6g}" for n in pulls)


def _samples(summary: Mapping[str, Any], name: str) -> str:
    """Describe the samples of runs; quantiles beyond the end of cut-off runs are unknown."""
    keys = (f"mean_{name}", f"{name}_q50", f"{name}_q05", f"{name}_q95")
    values = (summary[key] for key in keys)
    mean, middle, low, high = (f"{x:.6g}" if math.isfinite(x) else "unknown" for x in values)
    return f"samples: mean {mean}, median {middle}, 90 % of runs {low} to {high}"


def _errors(summary: Mapping[str, Any]) -> str:
    low, high = summary["error_low95"], summary["error_high95"]
    return f"{summary['error_rate']:.3g}, 95 % interval {low:.3g} to {high:.3g}"


@app.command(
    help_epilogue="Examples: dpbandits run --algorithm dp-se --means 0.9,0.8 --epsilon 0.5 "
    "--horizon 1e6 --runs 30 --plot out.png --csv out.csv; "
    "dpbandits run DPSE DPUCB --instance C2 --epsilon 0.25; "
    "dpbandits run mine.py:MyAlgorithm DPSE --means 0.7,0.6 --epsilon 1",
    synonym=("simulate", "rates", "play"),
)
def run(
    *names: Annotated[str, Parameter(help=f"{', '.join(_playable())}; {OWN}.")],
    algorithm: list[str] | None = None,
    means: Means | None = None,
    instance: str | None = None,
    arms: Annotated[int | None, reads(whole(2), "Arms of C1 to C4 (default: 5).")] = None,
    order: MomentOrder | None = None,
    epsilon: Epsilon = None,
    horizon: Annotated[int, reads(whole(1), "Number of pulls T.")] = 10**6,
    runs: Repetitions = 30,
    seed: Seed = 0,
    jobs: Jobs = 1,
    settings: Settings = None,
    plot: Picture = None,
    csv: RunsFile = None,
    json: Json = False,
) -> int:
    """Simulate algorithms, ours or your own, and report the regret.

    Parameters
    ----------
    algorithm : list of str
        An algorithm, as an option; case and hyphens do not matter. May be given several times.
    instance : str
        Instead of means of Bernoulli arms: C1, C2, C3 or C4 of SS19 (default: C1); S1, S2 or S3
        of TWZW22 for algorithms for heavy-tailed rewards.

    Returns
    -------
    int
        Exit status.

    Raises
    ------
    ValueError
        If an argument is out of range, or options do not go together.
    """
    chosen = [*names, *(algorithm or ())]
    if not chosen:
        raise ValueError("algorithm is missing; allowed: a name such as DPSE (run --help has all)")
    for word in names:
        if isinstance(console.read_literal(word), int | float | tuple):
            raise ValueError(
                f"argument={word!r} is not the name of an algorithm; allowed: numbers "
                "split by commas, without blanks, as --means 0.9,0.8"
            )
    if len(chosen) > 1:
        _refuse("is for one algorithm; allowed: one at a time", csv=csv)
    algorithms = configure([_regret_kind(name) for name in chosen], settings, epsilon)
    bandit = _instance(means, instance, arms, order)
    horizon = check_integer("horizon", horizon, bandit.n_arms)
    console.make_folders(csv, plot)
    cases = {number: (each, bandit) for number, each in enumerate(algorithms)}
    found = list(simulate_many(cases, horizon, runs, seed, jobs).values())
    lines, records = [], []
    for each in found:
        played: Any = each.algorithm
        mean, (low, high) = each.mean()[-1], np.transpose(each.band(0.9))[-1]
        pulls = each.pulls.mean(axis=0)
        lines += [
            f"{played!r} on {bandit.name}, T = {horizon}, {runs} runs",
            f"privacy: {played.guarantee}",
            f"regret at T: mean {mean:.6g}, 90 % of runs {low:.6g} to {high:.6g}",
            _pulls(pulls),
        ]
        records.append(
            {
                "algorithm": played if dataclasses.is_dataclass(played) else repr(played),
                "guarantee": played.guarantee,
                "means": bandit.means,
                "horizon": horizon,
                "n_runs": runs,
                "seed": seed,
                "regret": {"mean": mean, "q05": low, "q95": high},
                "pulls": pulls,
            }
        )
    show(json, lines, {"runs": records})
    if csv is not None:
        found[0].to_csv(csv)
    if plot is not None:
        from dpbandits import plotting

        plotting.save(plotting.runs_figure(found), plot)
    return 0


def _regret_kind(name: str) -> Any:
    """Return the object of a name: a class to configure, or an algorithm."""
    kind = console.find("algorithm", _playable(), name)
    is_kind = isinstance(kind, type) and issubclass(kind, RegretAlgorithm)
    if isinstance(kind, RegretAlgorithm) or (is_kind and dataclasses.is_dataclass(kind)):
        return kind
    raise ValueError(
        f"algorithm={name} is {kind!r}; allowed: a RegretAlgorithm, or a dataclass of that kind"
    )


def _instance(
    means: Sequence[float] | None, name: str | None, arms: int | None, order: float | None
) -> Arms:
    """Return the instance given by the options."""
    if means is not None:
        _refuse("does not go with --means; allowed: either", instance=name, arms=arms, order=order)
        return instances.bernoulli(means, f"means {_words(means)}")
    known = (*instances.SS19_NAMES, *instances.TWZW22_NAMES)
    name = check_choice("instance", (name or "C1").upper(), known)
    if name in instances.TWZW22_NAMES:
        return instances.twzw22(name, order=0.5 if order is None else order)
    _refuse("is for S1 to S3; allowed: without", order=order)
    return instances.ss19(name, 5 if arms is None else arms)


@app.command(
    help_epilogue="Example: dpbandits identify DPLRE --means 0.75,0.7,0.7 --set epsilon=0.5 "
    "--set delta=0.05"
)
def identify(
    algorithm: Annotated[str, Parameter(help=f"{', '.join(identifiers)}.")],
    *,
    means: Means,
    settings: Settings = None,
    epsilon: Epsilon = None,
    runs: Repetitions = 100,
    max_pulls: MostPulls = 10**15,
    seed: Seed = 0,
    jobs: Jobs = 1,
    csv: RunsFile = None,
    json: Json = False,
) -> int:
    """Simulate an algorithm that looks for the best of some arms.

    Returns
    -------
    int
        Exit status.
    """
    kind = identifiers[console.find_name("algorithm", identifiers, algorithm)]
    (identifier,) = configure([kind], settings, epsilon)
    instance = instances.bernoulli(means, "own means")
    console.make_folders(csv)
    found = dpb.identify(identifier, instance, runs, seed, max_pulls, jobs)
    summary, pulls = found.summary(), found.pulls.mean(axis=0)
    lines = [
        f"{identifier!r} on means {_words(means)}, {runs} runs",
        f"privacy: {identifier.guarantee}",
        f"stopped: {summary['stopped']} of {runs}",
        _samples(summary, "time"),
        f"wrong arm: {_errors(summary)}",
        _pulls(pulls),
    ]
    record = {
        "algorithm": identifier,
        "guarantee": identifier.guarantee,
        "means": instance.means,
        "seed": seed,
        **summary,
        "pulls": pulls,
    }
    show(json, lines, record)
    if csv is not None:
        found.to_csv(csv)
    return 0


@app.command(
    help_epilogue="Examples: dpbandits estimate DPExponentialNAS --set epsilon=1 --set alpha=0.5 "
    "--set beta=0.05 --mean 0.1; dpbandits estimate NAS --set alpha=0.1 --set beta=0.01 "
    "--stream numbers.txt"
)
def estimate(
    rule: Annotated[str, Parameter(help=f"{', '.join(stopping_rules)}.")],
    *,
    settings: Settings = None,
    epsilon: Epsilon = None,
    law: Literal["two-point", "uniform", "low-variance", "beta"] = "two-point",
    mean: Annotated[float, reads(_number, "Mean of the law, except for beta.")] = 0.1,
    deviation: Annotated[float, reads(_number, "Standard deviation of low-variance.")] = 0.01,
    shapes: Annotated[tuple[float, ...], reads(console.numbers, "Shapes A,B of beta.")] = (3, 2),
    runs: Repetitions = 100,
    max_samples: MostPulls = 10**12,
    seed: Annotated[
        int | None,
        reads(
            whole(0, 2**128 - 1),
            "Seed (default: 0 on a law; a stream has the system's secure generator).",
        ),
    ] = None,
    jobs: Jobs = 1,
    csv: RunsFile = None,
    stream: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    json: Json = False,
) -> int:
    """Run a stopping rule: replicates on a law, or once on your own numbers.

    Parameters
    ----------
    law : {"two-point", "uniform", "low-variance", "beta"}
        The law of the samples.
    stream : str
        Run once on the numbers of this file, split by white space; - is stdin. What is printed is
        private as it says, unless a seed is given: then it can be repeated, and is not private.

    Returns
    -------
    int
        Exit status.

    Raises
    ------
    ValueError
        If an argument is out of range, or the stream contains no numbers.
    """
    kind = stopping_rules[console.find_name("rule", stopping_rules, rule)]
    (configured,) = configure([kind], settings, epsilon)
    record: dict[str, Any] = {"rule": configured, "guarantee": configured.guarantee}
    privacy = f"privacy: {configured.guarantee}"
    if stream is not None:
        texts = (text for line in _lines("stream", stream) for text in line.split())
        own = (_number("stream", console.read_literal(text)) for text in texts)
        noise = None if seed is None else np.random.default_rng(seed)
        outcome = configured.run(own, noise, max_samples)
        if not outcome.samples:
            raise ValueError(f"stream={stream!r} contains no numbers; allowed: one or more")
        end = f"not halted after {outcome.samples} samples: no estimate"
        if outcome.halted:
            end = f"halted after {outcome.samples} samples; estimate {outcome.estimate:.6g}"
        record |= outcome._asdict() | {"estimate": outcome.estimate if outcome.halted else None}
        record["seed"] = seed
        if seed is not None and configured.guarantee.is_private:
            record["guarantee"] = NO_PRIVACY
            privacy = f"privacy: none, as the noise is that of seed {seed}; without --seed it is"
            privacy = f"{privacy} {configured.guarantee}"
        return show(json, [repr(configured), privacy, end], record)
    drawn = _law(law, mean, deviation, shapes, configured.half_range)
    console.make_folders(csv)
    seed = seed or 0
    found = dpb.estimate(configured, drawn, runs, seed, max_samples, n_jobs=jobs)
    summary = found.summary()
    lines = [
        f"{configured!r} on {drawn.name} of mean {drawn.mean:g}, {runs} runs",
        privacy,
        f"halted: {summary['halted']} of {runs}",
        _samples(summary, "samples"),
    ]
    if drawn.mean != 0:
        lines.append(f"off by more than {configured.alpha:g} of the mean: {_errors(summary)}")
    record |= {"law": {"name": drawn.name, "mean": drawn.mean}, "seed": seed, **summary}
    show(json, lines, record)
    if csv is not None:
        found.to_csv(csv)
    return 0


def _law(
    law: str, mean: float, deviation: float, shapes: Sequence[float], half_range: float
) -> Law:
    """Return the law given by the options."""
    if law == "beta":
        if len(shapes) != 2:
            raise ValueError(f"shapes={_words(shapes)!r} is not a pair; allowed: A,B such as 3,2")
        return laws.shifted_beta(shapes[0], shapes[1], half_range)
    if law == "low-variance":
        return laws.low_variance(mean, deviation, half_range)
    return {"two-point": laws.two_point, "uniform": laws.uniform}[law](mean, half_range)


@app.command(
    help_epilogue="Examples: dpbandits plan --means 0.75,0.7,0.7 --epsilon 0.5 --delta 0.05; "
    "dpbandits plan --counts 568/4300,343/4292 --deaths --epsilon 1 --delta 0.05; "
    "dpbandits plan --design group-sequential --epsilon 1 --deaths "
    "--counts treatment=343/4292,control=568/4300 --state trial.json; "
    "dpbandits plan --goal regret --means 0.6,0.75 --patients 1000 --epsilon 0.3"
)
def plan(
    *,
    means: Means | None = None,
    counts: str | None = None,
    deaths: bool = False,
    factor: Factor | None = None,
    epsilon: Annotated[float, reads(_number, "Privacy budget, or inf.")],
    delta: Annotated[float | None, reads(_number, "Probability of a wrong arm (adaptive).")] = None,
    design: Literal["adaptive", "fixed", "group-sequential"] = "adaptive",
    alpha: Annotated[float | None, reads(_number, "Level of a test (default: 0.05).")] = None,
    power: Annotated[float | None, reads(_number, "Power of a test (default: 0.9).")] = None,
    looks: Annotated[int | None, reads(whole(1), "Looks (default: 5).")] = None,
    boundary: Literal["pocock", "obrien-fleming"] | None = None,
    sides: Annotated[int | None, reads(whole(1, 2), "1, or 2 to stop for harm too.")] = None,
    futility: Annotated[
        float | None, reads(_number, "Score that stops for futility; not binding.")
    ] = None,
    shares: Annotated[
        tuple[float, ...] | None,
        reads(console.numbers, "Common shares of success at which the level has to hold."),
    ] = None,
    certified: Annotated[
        bool | None, Parameter(help="Hold the level between them too, by proof (default: yes).")
    ] = None,
    state: Annotated[Path | None, Parameter(help="Begin a trial: a file for `look`.")] = None,
    goal: Literal["best-arm", "regret"] = "best-arm",
    patients: Annotated[
        int | None, reads(whole(2), "Patients to be treated, for the goal regret.")
    ] = None,
    runs: Annotated[
        int | None, reads(whole(2), "Replicates (default: 40; for the goal regret what it takes).")
    ] = None,
    max_pulls: Annotated[
        int | None, reads(whole(1), "End a run that has not stopped by then (default: 1e12).")
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    plot: Picture = None,
    json: Json = False,
) -> int:
    """Plan a private trial: sample sizes, and what privacy costs.

    How many samples it takes to find the best of some arms under differential privacy: the lower
    bound, what each algorithm takes, and the price of privacy. With counts of a table: what trials
    on its patients, each drawn once, would decide, after how many of them, and at what price. With
    the goal regret: how many of so many patients are lost by learning while they are treated.

    A fixed or group-sequential design tests two arms, for the difference that the means or counts
    assume: its boundary and patients follow from level and power, and it may find no difference.
    Of its two means the treatment's, which is to be better, comes first.

    Parameters
    ----------
    counts : str
        Instead of means: successes of patients of each arm, such as 3732/4300,3949/4292; with
        another design than adaptive arms are named: treatment=3949/4292,control=3732/4300.
    deaths : bool
        The counts are of bad outcomes: the best arm has the smallest share.
    design : {"adaptive", "fixed", "group-sequential"}
        Adaptive: no share is known, and one arm is recommended. Fixed: one look at the end.
    boundary : {"pocock", "obrien-fleming"}
        Boundary of the looks (default: pocock).
    goal : {"best-arm", "regret"}
        What the trial is for: to find the best arm, or to treat patients well while learning.

    Returns
    -------
    int
        Exit status.

    Raises
    ------
    ValueError
        If an argument is out of range, or options do not go together.
    """
    if (means is None) == (counts is None):
        raise ValueError("means or counts must be given; allowed: one of --means and --counts")
    if goal == "regret":
        other = "is for the goal best-arm; allowed without --goal regret"
        _refuse(other, counts=counts, deaths=deaths, factor=factor, delta=delta)
        _refuse(other, max_pulls=max_pulls, design=design if design != "adaptive" else None)
        return _plan_regret(means or (), patients, epsilon, runs, seed, jobs, plot, json)
    _refuse("is for the goal regret; allowed with --goal regret", patients=patients)
    tested = {"alpha": alpha, "power": power, "sides": sides, "shares": shares}
    many = {"looks": looks, "boundary": boundary, "futility": futility, "state": state}
    if design != "adaptive":
        _refuse("is for an adaptive design; allowed: without", delta=delta, factor=factor)
        _refuse("is for an adaptive design; allowed: without", max_pulls=max_pulls)
        if design == "fixed":
            _refuse("is for a group-sequential design; allowed: without", **many)
            many["looks"] = 1
        _refuse("is about counts; allowed with --counts only", deaths=deaths and counts is None)
        treatment, control = trials.arms_of(means, counts, deaths)
        console.make_folders(plot, state)
        given = {**tested, **many, "epsilon": epsilon, "certified": certified, "state": None}
        options: dict[str, Any] = {
            name: value for name, value in given.items() if value is not None
        }
        sized = dpb.plan_group_sequential(treatment, control, **options)
        begun = [] if state is None else trials.start(state, sized, deaths)
        show(json, [str(sized), *begun], sized.as_dict())
        if plot is not None:
            from dpbandits import plotting

            plotting.save(plotting.group_plan_figure(sized), plot)
        return 0
    _refuse("is for a test of two arms; allowed with --design", **tested, **many)
    _refuse("is for a test of two arms; allowed with --design", certified=certified)
    if delta is None:
        raise ValueError("delta is missing; allowed: --delta D, a number below 1/2.4")
    runs = runs or 40
    if means is None:
        _refuse("is not available for counts; allowed with --means", plot=plot)
        ends = "is set by the table: a trial ends with its patients; allowed with --means"
        _refuse(ends, max_pulls=max_pulls)
        population = read_counts(counts or "", deaths, 1 if factor is None else factor)
        trial = dpb.plan_trial(population, epsilon, delta, runs, seed, jobs)
        return show(json, str(trial), trial.as_dict())
    _refuse("is about counts; allowed with --counts only", deaths=deaths, factor=factor)
    if plot is not None and epsilon > 1e100:
        raise ValueError(f"epsilon={epsilon!r} cannot be drawn; allowed with --plot: up to 1e100")
    console.make_folders(plot)
    most = 10**12 if max_pulls is None else check_integer("max-pulls", max_pulls, len(means))
    found = dpb.plan(means, epsilon, delta, runs, seed, jobs, most)
    show(json, str(found), found.as_dict())
    if plot is not None:
        from dpbandits import plotting

        plotting.save(plotting.plan_figure(found), plot)
    return 0


@app.command(
    help_epilogue="Begin with dpbandits plan --state FILE. Example, a look of 163 patients an arm: "
    "dpbandits look trial.json --number 1 --counts treatment=11/163,control=25/163 --deaths"
)
def look(
    state: Path,
    *,
    number: Annotated[int | None, reads(whole(1), "Number of the look, from 1.")] = None,
    counts: str | None = None,
    deaths: bool = False,
    level: Annotated[
        float | None, reads(check_fraction, "Level of the interval (default: the plan's).")
    ] = None,
    plot: Picture = None,
    json: Json = False,
) -> int:
    """Take one look of a group-sequential trial: release two counts, and decide.

    The file has the design and what was released, and no true count. A look that is repeated, left
    out, or of another size than planned is refused, and nothing is released. Arms are named, and
    deaths or survivors counted as in the plan. Without counts, say again what was released.

    Parameters
    ----------
    state : pathlib.Path
        File of the trial, which `plan` began and each look renews.
    counts : str
        Events and patients of each arm, by name, in this look alone, such as
        treatment=156/163,control=142/163.
    deaths : bool
        The events are bad ones; releases are told as such. To be given if the plan was.

    Returns
    -------
    int
        Exit status.

    Raises
    ------
    ValueError
        If the look is refused, or options do not go together.
    """
    if (number is None) != (counts is None):
        raise ValueError("number and counts go together; allowed: both, or neither")
    console.make_folders(plot)
    if number is None or counts is None:
        trial = trials.read(state)
    else:
        trial = trials.release(state, number, counts, deaths)
    if not trial.looks:
        _refuse("is not available before the first look; allowed: afterwards", plot=plot)
    show(json, *trials.report(trial, deaths, level))
    if plot is not None:
        from dpbandits import plotting

        plotting.save(plotting.running_trial_figure(trial), plot)
    return 0


def _plan_regret(
    means: Sequence[float],
    patients: int | None,
    epsilon: float,
    runs: int | None,
    seed: int,
    jobs: int,
    plot: Path | None,
    json: bool,
) -> int:
    """Plan to treat a number of patients while learning."""
    if patients is None:
        raise ValueError("patients=None is missing; allowed: their number, such as 1000")
    console.make_folders(plot)
    found = dpb.plan_regret(means, patients, epsilon, runs, seed, jobs)
    show(json, str(found), found.as_dict())
    if plot is not None:
        from dpbandits import plotting

        plotting.save(plotting.regret_plan_figure(found), plot)
    return 0


def read_counts(text: str, deaths: bool, factor: int) -> FinitePopulation:
    """Read the counts of a trial.

    Parameters
    ----------
    text : str
        Events and patients of each arm, such as 568/4300,343/4292.
    deaths : bool
        Whether the events are bad ones, so that the others are successes.
    factor : int
        Factor on every count, at least 1.

    Returns
    -------
    FinitePopulation
        The patients, named "table".

    Raises
    ------
    ValueError
        If the text cannot be read, or there are more events than patients.

    Examples
    --------
    >>> read_counts("9/10,5/10", deaths=False, factor=2).successes
    (18, 10)
    """
    allowed = "EVENTS/PATIENTS of each arm, such as 568/4300,343/4292"
    try:
        pairs = [tuple(int(n) for n in part.split("/")) for part in text.split(",")]
        events, sizes = zip(*pairs, strict=True)
    except ValueError:
        raise ValueError(f"counts={shown(text)} cannot be read; allowed: {allowed}") from None
    for count, size in pairs:
        if not 0 <= count <= size:
            raise ValueError(f"counts={shown(text)} has {count} of {size}; allowed: {allowed}")
    successes = tuple(n - d for d, n in pairs) if deaths else events
    return FinitePopulation(successes, sizes, "table").scaled(factor)


@app.command(
    help_epilogue="Exit status 1 if a violation was found, 3 if all runs did the same, so that "
    "nothing was tested; 0 if none was found, which proves nothing. Examples: "
    "dpbandits audit DPUCB --epsilon 1; "
    "dpbandits audit mine.py:algorithm --epsilon 1 --pulls 8, where mine.py has a function "
    "algorithm(rewards, rng) that calls rewards.pull(arm)"
)
def audit(
    algorithm: Annotated[str, Parameter(help=f"{', '.join(_auditable())}; {OWN}.")],
    *,
    settings: Settings = None,
    epsilon: str | None = None,
    delta: Annotated[float | None, reads(_number, "δ that goes with it (default: 0).")] = None,
    sampled: Annotated[bool, Parameter(help="Do not integrate, run it.")] = False,
    runs: Annotated[int, reads(whole(16), "Runs on each table.")] = 10**5,
    arms: Annotated[
        int | None, reads(whole(1), "Arms of the tables (default: 2; 1 for a stopping rule).")
    ] = None,
    pulls: Annotated[
        int | None,
        reads(
            whole(1), "Rewards of each arm, and the length of a run (default: 16, or as needed)."
        ),
    ] = None,
    table: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    change: str | None = None,
    failure: Annotated[float, reads(check_fraction, "Probability that the bound is wrong.")] = 1e-6,
    all_runs: Annotated[
        bool,
        Parameter(
            help="Test to the end, for a bound from all runs, also where it convicts earlier."
        ),
    ] = False,
    seed: Seed = 0,
    json: Json = False,
) -> int:
    """Look for a violation of the privacy that an algorithm, yours or ours, declares.

    Run an algorithm many times on two tables of rewards that differ in one entry, and bound its ε
    from below; stop when that convicts it. Exact where outputs can be integrated.

    Parameters
    ----------
    epsilon : str
        Short for --set epsilon=E; for what declares nothing itself, such as a function: the
        budget to test.
    table : str
        Your own table instead of a search, a row of numbers an arm; with --change.
    change : str
        The reward that its neighbour has instead: ARM,PULL,VALUE, counted from 0.

    Returns
    -------
    int
        Exit status: 1 if a violation was found, 3 if nothing was tested, else 0.

    Raises
    ------
    ValueError
        If an argument is out of range, or options do not go together.
    """
    if table is None:
        _refuse("goes with --table; allowed: both, or neither", change=change)
    kind, own = console.find("algorithm", _auditable(), algorithm), ":" in algorithm
    takes_epsilon = "epsilon" in console.argument_names(kind)
    (target,) = configure([kind], settings, epsilon if takes_epsilon else None)
    promised = _promised(target, None if takes_epsilon else epsilon, delta)
    found = None
    if not (sampled or own or table is not None or promised is not None):
        found = audit_exactly(target)
    if found is None:
        if not own:
            subject_of(target)  # raises if it cannot be run on tables
        pair = None if table is None else _pair(table, change)
        found = audit_sampled(
            target,
            pair,
            runs,
            [seed, 0],
            failure,
            promised,
            n_arms=arms,
            n_pulls=pulls,
            all_runs=all_runs,
        )
    record = {"convicted": found.convicted, "verdict": found.verdict, **vars(found)}
    del record["log_wealth"]  # one number per run
    show(json, str(found), record)
    return {FOUND: 1, NOTHING_TESTED: 3}.get(found.verdict, 0)


def _promised(target: Any, epsilon: str | None, delta: float | None) -> PrivacyGuarantee | None:
    """Return the guarantee to test, if the target does not declare one itself."""
    declared = getattr(target, "guarantee", None)
    if declared is not None and declared.is_private:
        _refuse(f"is declared already, {declared}; allowed: without", epsilon=epsilon, delta=delta)
        return None
    if epsilon is None:
        _refuse("goes with --epsilon; allowed: both, or neither", delta=delta)
        return None
    number = _number("epsilon", console.read_literal(epsilon))
    return PrivacyGuarantee("central", number, delta or 0.0)


def _pair(path: str, change: str | None) -> TablePair:
    """Read a table from a file of numbers, separated by commas or blanks, and the changed entry."""
    rows = [line.replace(",", " ").split() for line in _lines("table", path)]
    try:
        table = np.array([[float(x) for x in row] for row in rows if row])
    except ValueError:
        raise ValueError(
            f"table={path!r} contains something other than numbers; allowed: rows of numbers"
        ) from None
    entry = console.read_literal(change or "")
    if not (isinstance(entry, tuple) and len(entry) == 3):
        raise ValueError(f"change={change!r} is not an entry; allowed: ARM,PULL,VALUE as 0,3,1")
    arm, pull = (check_integer("change", place, 0) for place in entry[:2])
    return TablePair(table, arm, pull, _number("change", entry[2]))
