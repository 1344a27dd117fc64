"""Patients without replacement: their law, trials on them, fixed designs, plans, figures."""

import itertools
import json
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from figure_checks import boxes_of
from figure_tables import DRAWINGS
from matplotlib import pyplot as plt
from scipy import stats
from statistical import FALSE_ALARM, clopper_pearson
from test_validation import NOT_FRACTIONS, refusal

import dpbandits as dpb
from companion.figures.trial import price_at, trial_figure
from companion.publishing import published
from dpbandits.cli.commands import main, read_counts
from dpbandits.identification import (
    DrawnRewards,
    FinitePopulation,
    PopulationRewards,
    isis2,
    simulate_trials,
)
from dpbandits.identification import replicates as trial_module
from dpbandits.plotting.style import filling
from dpbandits.rewards.populations import OutOfPatientsError
from dpbandits.trials import fixed_design, fixed_design_error

SMALL = FinitePopulation((45, 20), (60, 60), "small")
THREE = FinitePopulation((700, 500, 300), (1000, 900, 1000), "three")


def algorithms(epsilon=1.0, delta=0.1):
    private = (dpb.DPLRE, dpb.DPTT, dpb.AdaPTTStar, dpb.DPSEIdentifier)
    return [*(make(epsilon, delta) for make in private), dpb.TopTwo(delta)]


# ----------------------------------------------------------------------------------- population


def test_a_population_is_counts():
    assert (THREE.n_arms, THREE.total, THREE.best_arm) == (3, 2900, 0)
    np.testing.assert_allclose(THREE.shares, [0.7, 5 / 9, 0.3])
    np.testing.assert_allclose(THREE.gaps, [0, 0.7 - 5 / 9, 0.4])
    assert THREE.scaled(4).sizes == (4000, 3600, 4000)
    assert THREE.scaled(4).superpopulation().mean_rewards == tuple(THREE.shares)
    assert THREE.only([2, 0], "two") == FinitePopulation((300, 700), (1000, 1000), "two")
    with pytest.raises(ValueError):
        THREE.shares[0] = 1.0
    for successes, sizes in [
        ((1,), (5,)), ((1, 2), (5, 5, 5)), ((1, 6), (5, 5)), ((-1, 2), (5, 5)), ((1, 0.5), (5, 5)),
        ((1, 1), (5, 1)), ((2, 4), (5, 10)), ((1, 2), (10**9, 10**9)), ("12", "55"), (3, 5),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="allowed: "):
            FinitePopulation(successes, sizes)


def test_the_counts_of_isis2_have_the_printed_margins():
    """The abstract: deaths and patients with and without each treatment."""
    table = np.column_stack([np.subtract(isis2().sizes, isis2().successes), isis2().sizes])
    margins = {(1, 3): (791, 8592), (0, 2): (1029, 8595), (2, 3): (804, 8587), (0, 1): (1016, 8600)}
    assert {arms: tuple(table[[*arms]].sum(axis=0).tolist()) for arms in margins} == margins
    assert isis2().total == 17_187


def one_by_one(good, size, batches):
    """Return the exact law of the sums of batches, from drawing patients one by one."""
    laws = {((), good): 1.0}  # sums so far, successes left → probability
    drawn = 0
    for batch in batches:
        laws = {((*sums, 0), left): p for (sums, left), p in laws.items()}
        for _ in range(batch):
            following = Counter()
            for (sums, left), p in laws.items():
                hit = left / (size - drawn)
                following[(*sums[:-1], sums[-1] + 1), left - 1] += p * hit
                following[sums, left] += p * (1 - hit)
            laws = {state: p for state, p in following.items() if p > 0}
            drawn += 1
    return {sums: p for (sums, _), p in laws.items()}


@pytest.mark.statistical
def test_sums_of_batches_are_those_of_patients_one_by_one(rng):
    population, batches, n_runs = FinitePopulation((7, 1), (12, 5)), (3, 1, 5), 1500
    law = one_by_one(7, 12, batches)
    assert abs(sum(law.values()) - 1) < 1e-12

    def fits(make):
        found = Counter()
        for _ in range(n_runs):
            rewards = make()
            found[tuple(rewards.total(0, size) for size in batches)] += 1
        tail = FALSE_ALARM / (2 * len(law))
        return set(found) <= set(law) and all(
            stats.binom.cdf(found[sums], n_runs, p) >= tail
            and stats.binom.sf(found[sums] - 1, n_runs, p) >= tail
            for sums, p in law.items()
        )

    assert fits(lambda: PopulationRewards(population, rng))
    assert not fits(lambda: DrawnRewards(population.superpopulation(), rng))


def test_each_patient_comes_once(rng):
    rewards = PopulationRewards(SMALL, rng)
    parts = [rewards.total(0, size) for size in (1, 20, 0, 1, 30)]
    assert (rewards.left(0), rewards.left(1), rewards.drawn) == (8, 60, 52)
    with pytest.raises(OutOfPatientsError) as caught:
        rewards.total(0, 9)
    assert caught.value.arm == 0 and rewards.left(0) == 8
    assert rewards.successes_left(0) == 45 - sum(parts) == rewards.total(0, 8)
    refusal("arm", 2, lambda: rewards.total(2, 1))
    refusal("size", -1, lambda: rewards.total(0, -1))
    refusal("population", 3, lambda: PopulationRewards(3, rng))


# --------------------------------------------------------------------------------------- trials


def run_trial(algorithm, population, seed):
    best, *counts = trial_module.run_trial(algorithm, population, np.random.default_rng(seed))
    return best, *(each.tolist() for each in counts)


@pytest.mark.parametrize("algorithm", algorithms(), ids=lambda a: a.label)
@pytest.mark.parametrize("population", [SMALL, SMALL.scaled(1500)], ids=["small", "large"])
def test_a_trial_is_a_run_until_an_arm_is_used_up(algorithm, population):
    """With one patient more, an arm would have too few; with as many, the run is the same."""
    for seed in range(3):
        best, patients, failures = run_trial(algorithm, population, seed)
        rng = np.random.default_rng(seed)
        same = algorithm.draw(population, rng, max(sum(patients), population.n_arms))
        assert same.pulls.tolist() == patients and same.recommendation == best
        assert best >= 0 or (max(patients) == 60 and population is SMALL)
        for a, (came, bad) in enumerate(zip(patients, failures, strict=True)):
            size, good = population.sizes[a], population.successes[a]
            assert 0 <= bad <= came and (came < size or bad == size - good)


def test_trials_are_replicates_and_a_summary_has_their_numbers():
    trials = simulate_trials(dpb.DPLRE(0.3, 0.1), THREE, 9, seed=4)
    assert trials.n_runs == 9 and trials.decided >= trials.right
    assert (trials.inferior == trials.patients[:, 1:].sum(axis=1)).all()
    by_hand = trials.patients[:, 1] * (0.7 - 5 / 9) + trials.patients[:, 2] * 0.4
    np.testing.assert_allclose(trials.excess, by_hand)
    told = trials.summary()
    assert (told["n_runs"], told["decided"], told["right"]) == (9, trials.decided, trials.right)
    ends = tuple(told[f"right_{end}"] for end in ("rate", "low95", "high95"))
    assert ends == trials.share(trials.right) and ends[0] == trials.right / 9
    assert ends[1] <= ends[0] <= ends[2]
    numbers = (trials.totals, trials.inferior, trials.failures.sum(axis=1), trials.excess)
    for name, values in zip(("patients", "inferior", "failures", "excess"), numbers, strict=True):
        half = stats.t.ppf(0.975, 8) * values.std(ddof=1) / 3
        ends = [told[f"{name}{end}"] for end in ("_low95", "", "_high95")]
        np.testing.assert_allclose(ends, values.mean() + half * np.array([-1, 0, 1]))
    ordered = np.sort(trials.totals)
    assert (told["patients_q50"], told["patients_q90"]) == (ordered[4], ordered[8])
    assert told["used"] == pytest.approx(trials.totals.mean() / 2900)
    refusal("count", 10, lambda: trials.share(10))
    refusal("algorithm", 3, lambda: simulate_trials(3, THREE))
    refusal("population", 3, lambda: simulate_trials(dpb.TopTwo(0.1), 3))
    refusal("n_runs", 0, lambda: simulate_trials(dpb.TopTwo(0.1), THREE, 0))


@pytest.mark.statistical
def test_trials_on_a_table_are_right_as_often_as_is_proved():
    """Theorem on fixed releases; its control is an algorithm without a threshold to speak of."""
    close = FinitePopulation((5600, 5200), (10_000, 10_000))

    def errors(algorithm, n_runs=100):
        trials = simulate_trials(algorithm, close, n_runs, seed=1)
        return clopper_pearson(trials.decided - trials.right, n_runs)

    assert errors(dpb.DPTT(1.0, 0.05))[0] <= 0.05
    assert errors(_Hasty(0.05))[0] > 0.05


class _Hasty(dpb.IdentificationAlgorithm):
    """Recommends the better of two patients; claims any δ."""

    label, source = "hasty", "test"

    def __init__(self, delta):
        self.delta = delta

    def decide(self, rewards, rng):
        sums = [rewards.total(arm, 1) for arm in (0, 1)]
        return int(np.argmax(sums)) if sums[0] != sums[1] else int(rng.integers(2))


# --------------------------------------------------------------------------------- fixed design


def brute(laws, best, epsilon, n_grid=40_001):
    """P(wrong) by a plain sum over a fine grid of released values."""
    size = laws[0].size
    pad = 25 / epsilon
    v = np.linspace(-pad, size + pad, n_grid)
    distance = v[:, None] - np.arange(size)
    fall = np.exp(-epsilon * np.abs(distance))
    below = np.where(distance > 0, 1 - 0.5 * fall, 0.5 * fall)
    density = 0.5 * epsilon * fall @ laws[best]
    for arm, law in enumerate(laws):
        if arm != best:
            density = density * (below @ law)
    return 1 - float(density.sum() * (v[1] - v[0]))


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 25.0])
def test_the_error_of_a_fixed_design_is_the_integral(epsilon):
    means, counts, sizes, n = (0.4, 0.7, 0.5), (6, 14, 10), (20, 21, 22), 9
    binomial = [stats.binom.pmf(np.arange(n + 1), n, p) for p in means]
    hypergeometric = [
        stats.hypergeom.pmf(np.arange(n + 1), m, s, n) for s, m in zip(counts, sizes, strict=True)
    ]
    table = FinitePopulation(counts, sizes)
    for source, laws in ((dpb.instances.bernoulli(means), binomial), (table, hypergeometric)):
        found = fixed_design_error(source, n, epsilon)
        assert found == pytest.approx(brute(laws, 1, epsilon), abs=2e-5)


def test_without_noise_every_outcome_can_be_listed():
    means, n = (0.6, 0.3, 0.5), 4
    wrong = 0.0
    for sums in itertools.product(range(n + 1), repeat=3):
        p = math.prod(stats.binom.pmf(s, n, m) for s, m in zip(sums, means, strict=True))
        winners = [arm for arm in range(3) if sums[arm] == max(sums)]
        wrong += p * (1 - (0 in winners) / len(winners))
    instance = dpb.instances.bernoulli(means)
    assert fixed_design_error(instance, n) == pytest.approx(wrong, rel=1e-9)
    for large in (40.0, 79.0, 81.0, 1e6):
        assert fixed_design_error(instance, n, large) == pytest.approx(wrong, rel=1e-7)


def test_the_smallest_design_is_found():
    instance = dpb.instances.bernoulli([0.8, 0.6])
    sizes = []
    for epsilon in (math.inf, 1.0, 0.1):
        design = fixed_design(instance, 0.05, epsilon)
        assert design.error == fixed_design_error(instance, design.per_arm, epsilon) <= 0.05
        assert fixed_design_error(instance, design.per_arm - 1, epsilon) > 0.05
        assert design.patients == 2 * design.per_arm and design.epsilon == epsilon
        sizes.append(design.per_arm)
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]
    assert fixed_design(FinitePopulation((6, 5), (9, 9)), 0.01, 0.1) is None
    for value in NOT_FRACTIONS:
        refusal("delta", value, lambda v=value: fixed_design(instance, v))
    refusal("per_arm", 0, lambda: fixed_design_error(instance, 0))
    refusal("per_arm", 61, lambda: fixed_design_error(SMALL, 61))
    whole = FinitePopulation((60, 59), (100, 100))
    assert fixed_design_error(whole, 100) == 0.0, "the table is known"
    assert fixed_design_error(whole.superpopulation(), 100) > 0.3
    assert fixed_design_error(whole, 100, 0.01) > 0.3


# ---------------------------------------------------------------------------------------- plans


@pytest.fixture(scope="module")
def plan():
    return dpb.plan_trial(SMALL, epsilon=2.0, delta=0.1, n_runs=6, seed=5)


def test_a_plan_is_what_the_package_says(plan):
    assert [trials.algorithm for trials in plan.trials] == algorithms(2.0)
    supply, text = SMALL.superpopulation(), str(plan)
    assert plan.fixed == fixed_design(supply, 0.1, 2.0)
    assert plan.fixed_free == fixed_design(supply, 0.1)
    assert plan.lower_bound >= plan.lower_bound_free
    for trials in plan.trials:
        again = simulate_trials(trials.algorithm, SMALL, 6, seed=5)
        assert trials.means() == again.means()
        (line,) = [x for x in text.splitlines() if x.startswith(trials.algorithm.label + " ")]
        assert f"{trials.right / 6:.0%}" in line and f"{trials.decided - trials.right}/6" in line
    free = dpb.plan_trial(SMALL, math.inf, 0.1, n_runs=2)
    assert [trials.algorithm.label for trials in free.trials] == ["Top Two"]
    for name, value in {"population": 3, "epsilon": 0, "delta": 0.5, "n_runs": 1}.items():
        good = {"population": SMALL, "epsilon": 1.0, "delta": 0.1}
        refusal(name, value, lambda bad={**good, name: value}: dpb.plan_trial(**bad))


COMMAND = ["plan", "--epsilon", "2", "--delta", "0.1", "--runs", "6", "--seed", "5"]


def said(capsys, *arguments):
    status = main([*COMMAND, *arguments])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_counts_on_the_command_line(plan, capsys):
    status, out, _ = said(capsys, "--counts", "15/60,40/60", "--deaths", "--json")
    assert status == 0 and json.loads(out)["algorithms"] == plan.as_dict()["algorithms"]
    status, out, _ = said(capsys, "--counts", "45/60,20/60")
    assert status == 0 and out == str(plan).replace("small:", "table:") + "\n"
    hint = "`dpbandits plan --factor F`"
    assert hint not in out
    _, out, _ = said(capsys, "--counts", "9/10,8/10")
    assert out.splitlines()[-1].startswith("no trial decided") and hint in out
    assert read_counts("1/10,2/10", False, 3) == FinitePopulation((3, 6), (30, 30), "table")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--counts 1/10,x", "counts='1/10,x' cannot be read"),
        ("--counts 1/10,2/10/3", "cannot be read"),
        ("--counts 1/10,12/10", "12 of 10"),
        ("--counts 1/10,1/10", "several best arms"),
        ("--counts 1/10,2/10 --factor 0", "factor=0"),
        ("--counts 1/10,2/10 --plot x.svg", "is not available for counts"),
        ("--counts 1/10,2/10 --max-pulls 9", "max-pulls=9 is set by the table"),
        ("--means 0.9,0.2 --deaths", "deaths=True is about counts"),
        ("--means 0.9,0.2 --factor 2", "factor=2 is about counts"),
        ("--means 0.9,0.2 --counts 1/10,2/10", "one of --means and --counts"),
        ("", "one of --means and --counts"),
    ],
)
def test_bad_options_are_one_line(options, told, capsys):
    status, out, err = said(capsys, *options.split())
    assert status == 2 and out == "" and told in err and err.count("\n") == 1


# -------------------------------------------------------------------------------------- figure


@pytest.mark.parametrize("values", ["right", "patients", "inferior", "excess"])
@pytest.mark.parametrize("over", ["epsilon", "total"])
def test_the_figure_shows_the_table(over, values):
    """That it is drawn from its file alone, and from all of it, is in ``test_figures.py``."""
    table, titles = DRAWINGS["trials"].table(), {"a": "two arms", "b": "three arms"}
    figure = trial_figure(table, over=over, titles=titles, values=values)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["DP-LRE", "DP-TT", "AdaP-TT*", "DP-SE", "Top Two, no privacy"]
    column = {"right": "right_rate"}.get(values, values)
    for panel, axes in zip(titles, figure.axes, strict=True):
        lines = {line.get_label(): line.get_ydata().tolist() for line in axes.get_lines()}
        for name in names[:-1]:
            rows = table[(table.panel == panel) & (table.algorithm == name)]
            assert lines[name] == rows.sort_values(over, kind="stable")[column].tolist()
    plt.close(figure)
    refusal("values", "deaths", lambda: trial_figure(table, over=over, titles={}, values="deaths"))
    refusal("over", "delta", lambda: trial_figure(table, over="delta", titles=titles))


# ------------------------------------------------------------------------- the price of privacy


def test_a_price_is_a_ratio_with_its_interval(rng):
    """The half-width is that of a bootstrap, to a tenth; and half as many runs widen it."""
    samples = {1.0: rng.gamma(4.0, 500.0, 800), math.inf: rng.gamma(3.0, 600.0, 800)}
    rows = [
        {"epsilon": e, "n_runs": x.size, "mean_time": x.mean(), "time_sd": x.std(ddof=1)}
        for e, x in samples.items()
    ]
    price = price_at(pd.DataFrame(rows), 1.0)
    drawn = [rng.choice(x, (4000, x.size)).mean(axis=1) for x in samples.values()]
    low, high = np.quantile(drawn[0] / drawn[1], [0.025, 0.975])
    assert price.ratio == pytest.approx(samples[1.0].mean() / samples[math.inf].mean())
    assert price.half_width == pytest.approx((high - low) / 2, rel=0.1)
    fewer = price_at(pd.DataFrame(rows).assign(n_runs=400), 1.0)
    assert fewer.half_width == pytest.approx(math.sqrt(2) * price.half_width)


@pytest.mark.parametrize("width", [3.5, 7.0])
def test_the_price_is_drawn_with_room_for_its_words(width):
    with filling(width):
        figure = published("ours-trial-price").draw()
    box = boxes_of(figure)
    (axes,) = figure.axes
    texts = [*axes.texts, axes.title, axes._left_title, *axes.get_xticklabels()]
    found = [(text.get_text(), box(text)) for text in texts if text.get_text()]
    assert {"without privacy", "with ε-privacy"} < {text for text, _ in found}
    for (first, a), (second, b) in itertools.combinations(found, 2):
        assert not a.overlaps(b), (first, second)
    for text, place in found:
        assert figure.bbox.x0 <= place.x0 and place.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= place.y0 and place.y1 <= figure.bbox.y1, text
    plt.close(figure)
