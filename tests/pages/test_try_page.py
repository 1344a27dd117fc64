"""Step through the trial by hand in a browser, and compare its frequencies with exact laws.

The probabilities come from `dpbandits` and SciPy.
"""

import math
import re

import numpy as np
import pytest
from reader import DESKTOP, none
from scipy import stats

import dpbandits as dpb
from dpbandits.mechanisms.noise import laplace_sum_error

PAGE = "book/try.html"
SEEDS = 10_000
FALSE_ALARM = 1e-6
MEANS = (0.6, 0.4)

ODDS = """([design, plan, seeds]) => Array.from({length: seeds}, (_, seed) => {
    const program = PrivateTrial.run(design, plan, seed), steps = [];
    for (const step of program) {
        if (step.rows.length) steps.push(step);
        if (plan.once) break;
    }
    return PrivateTrial.odds(design, plan, steps);
})"""
LAST = """([design, plan, seeds]) => Array.from({length: seeds}, (_, seed) => {
    let last;
    for (const step of PrivateTrial.run(design, plan, seed)) last = step;
    return [last.rows[0].released, last.rows[0].secret, last.look ?? 0];
})"""
DROPPED = """([plan, seeds]) => Array.from({length: seeds}, (_, seed) =>
    PrivateTrial.run('elimination', plan, seed).next().value.out)
    .filter(out => out.length === 1 && out[0] === 1).length"""
CHOSEN = """([plan, seeds]) => Array.from({length: seeds}, (_, seed) =>
    PrivateTrial.run('oneLook', plan, seed).next().value.kept[0])
    .filter(arm => arm === 0).length"""


def ahead(n: int, means: tuple[float, float], lead: float, scale: float) -> float:
    """Return P(S + L − S' − L' > lead): binomial sums of n, Laplace noise of a scale."""
    one, other = (stats.binom.pmf(np.arange(n + 1), n, mean) for mean in means)
    difference = np.convolve(one, other[::-1])  # of the sums, from −n to n
    u = (lead - np.arange(-n, n + 1)) / scale
    tail = (1 + np.abs(u) / 2) * np.exp(-np.abs(u)) / 2
    return float(difference @ np.where(u >= 0, tail, 1 - tail))


def exact_error(tree: dpb.mechanisms.BinaryTree, size: float, n: int) -> float:
    """Return P(the error of the sum of n elements exceeds a size)."""
    return laplace_sum_error(size, (n.bit_count(),), (tree.node_scale,))


def unlike(what: str, seen: int, chance: float) -> list[str]:
    """Return a problem if so many of the seeds refute a probability."""
    p = stats.binomtest(seen, SEEDS, chance).pvalue
    return [] if p >= FALSE_ALARM else [f"{what}: {seen} of {SEEDS} for {chance:.4f}"]


@pytest.fixture(scope="module")
def page(browser, base):
    """The page, whose engine is asked for much and keeps nothing."""
    page = browser.new_page(viewport=DESKTOP)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{base}/{PAGE}", wait_until="load")
    yield page
    page.close()
    none(errors)


def test_steps(page):
    """Step through each design; the odds never exceed the promise, and the twin differs by one."""
    problems = []
    for design in ("elimination", "oneLook", "stopping", "counter"):
        page.locator("#t-design").select_option(design)
        if "Nothing is released yet" not in page.locator("#t-said").inner_text():
            problems.append(f"{design}: it does not begin anew")
        for _ in range(3):
            if page.locator("#t-next").is_enabled():
                page.locator("#t-next").click()
        page.locator("#t-end").is_enabled() and page.locator("#t-end").click()
        said = page.locator("#t-said").inner_text()
        times = [float(x) for x in re.findall(r"([\d.]+) times", said)]
        if not times or (len(times) == 2 and times[0] > times[1] + 0.006):
            problems.append(f"{design}: {said}")
        if times and abs(times[-1] - math.e) > 0.006:
            problems.append(f"{design}: at ε = 1 it promises {times[-1]}")
        if page.locator("#t-next").is_enabled():
            problems.append(f"{design}: it does not end")
    sums = page.evaluate(
        "() => ['t-real', 't-twin'].map(id => [...document.querySelectorAll(`#${id} tbody tr`)]"
        ".map(row => Number(row.cells[2].textContent)))"
    )
    changes = np.subtract(*sums)
    if not (changes[:6] == 0).all() or not (np.abs(changes[6:]) == 1).all():
        problems.append(f"counter: the twin's sums differ by {changes.tolist()}")
    none(problems)


def test_frequencies(page):
    """10⁴ seeds of each design agree with its law; a budget that is halved is told apart."""
    plan = {"epsilon": 0.2, "horizon": 100_000, "perArm": 50, "means": MEANS}
    epoch = dpb.DPSE(0.2).plan_epoch(2, 1, 100_000)
    lead = epoch.threshold * epoch.pulls
    dropped = page.evaluate(DROPPED, [plan, SEEDS])
    chosen = page.evaluate(CHOSEN, [plan, SEEDS])
    problems = unlike("B is dropped", dropped, ahead(epoch.pulls, MEANS, lead, 5.0))
    problems += unlike("A is chosen", chosen, ahead(50, MEANS, 0.0, 5.0))
    tree = dpb.mechanisms.BinaryTree(1.0, 15)
    counting = {"epsilon": 1.0, "length": 15, "means": [0.5]}
    found = np.array(page.evaluate(LAST, ["counter", counting, SEEDS]))
    for size in (5.0, 20.0):
        seen = int((np.abs(found[:, 0] - found[:, 1]) > size).sum())
        problems += unlike("a sum errs", seen, exact_error(tree, size, 15))
    rule = dpb.DPExponentialNAS(1.0, alpha=0.5, beta=0.05)
    law = dpb.laws.TwoPointLaw(1.0, 0.0, 1.0, 0.7)
    times = dpb.estimate(rule, law, n_runs=40_000, seed=1).samples
    halting = {"epsilon": 1.0, "alpha": 0.5, "beta": 0.05, "means": [0.7]}
    looks = np.array(page.evaluate(LAST, ["stopping", halting, SEEDS]))[:, 2]
    for look in (10, 11):
        mine, theirs = int((looks <= look).sum()), int((times <= 2**look).sum())
        table = [[mine, SEEDS - mine], [theirs, times.size - theirs]]
        if 0 < mine + theirs < SEEDS + times.size and stats.fisher_exact(table)[1] < FALSE_ALARM:
            problems.append(f"it halts by look {look}: {mine} of {SEEDS}, {theirs} of {times.size}")
    none(problems)
    assert unlike("A is chosen", chosen, ahead(50, MEANS, 0.0, 10.0)), "twice the noise passes"


def test_odds(page):
    """The odds have their law: the mean of 1/odds is 1, whatever the design.

    By Hoeffding's inequality, as the odds with ε = 1 lie between 1/e and e; the mean of the odds
    themselves is larger, and is told apart.
    """
    plan = {"epsilon": 1.0, "horizon": 100_000, "perArm": 50, "length": 16, "means": MEANS}
    plan |= {"alpha": 0.5, "beta": 0.05}
    problems, told = [], []
    for design, seeds in (
        ("elimination", 4000),
        ("oneLook", 4000),
        ("counter", 4000),
        ("stopping", 400),
    ):
        own = plan | {"once": design == "elimination"}
        own |= {"means": MEANS[:1]} if design in ("counter", "stopping") else {}
        odds = np.array(page.evaluate(ODDS, [design, own, seeds]))
        allowed = 2 * math.sinh(1.0) * math.sqrt(math.log(2 / FALSE_ALARM) / (2 * seeds))
        if np.abs(odds).max() > 1.0 + 1e-6:
            problems.append(f"{design}: odds of e^{np.abs(odds).max():.3f}")
        if abs(np.exp(-odds).mean() - 1) > allowed:
            problems.append(f"{design}: the mean of 1/odds is {np.exp(-odds).mean():.3f}")
        told.append(abs(np.exp(odds).mean() - 1) > allowed)
    none(problems)
    assert told[1], "odds for 1/odds pass"
