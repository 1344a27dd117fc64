"""Group-sequential trials: tables, enumeration, simulation; sizes, estimates, looks, releases."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy import stats
from statistical import FALSE_ALARM, clopper_pearson
from test_validation import refusal

import dpbandits as dpb
from dpbandits.identification import isis2
from dpbandits.trials import estimate_difference, normal_critical
from dpbandits.trials.group_estimates import _where, upper_tail
from dpbandits.trials.group_plan import _least, usual_shares
from dpbandits.trials.group_sequential import GroupSequential

CONTROL, TREATMENT = isis2().shares[[0, 3]].tolist()
SHARES = (0.75, 0.8, CONTROL, 0.92, 0.95, 0.98)
OURS = GroupSequential(per_look=163, critical=2.127, epsilon=1.0)
SMALL = GroupSequential(per_look=3, critical=1.3, epsilon=1.0, looks=2)


def geometric_noise(rng, epsilon, size):
    """Draw two-sided geometric noise, as a difference of two geometric variables."""
    up, down = rng.geometric(-math.expm1(-epsilon), (2, size))
    return up - down


def noise_law(epsilon, reach=80):
    """Return the law of the noise on −reach, …, reach."""
    q = math.exp(-epsilon)
    return (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1.0))


# ------------------------------------------------------------------------------------ the tables


@pytest.mark.parametrize(
    ("boundary", "alpha", "printed"),
    [
        ("pocock", 0.05, 2.413), ("pocock", 0.1, 2.122), ("pocock", 0.01, 2.986),
        ("obrien-fleming", 0.05, 2.040), ("obrien-fleming", 0.1, 1.751),
        ("obrien-fleming", 0.01, 2.621),
    ],
)  # fmt: skip
def test_constants_are_those_that_are_published(boundary, alpha, printed):
    """Jennison and Turnbull (2000), Tables 2.1 and 2.3, five looks, two-sided."""
    assert round(normal_critical(5, alpha, boundary, 2), 3) == printed
    # to one side the level is half, except for walks that cross both
    one = normal_critical(5, alpha / 2, boundary, 1)
    assert abs(one - printed) < 0.003 and round(normal_critical(5, alpha, boundary, 1), 3) < printed


def test_one_look_is_the_normal_quantile():
    assert normal_critical(1, 0.05, "pocock", 1) == pytest.approx(stats.norm.isf(0.05))


def test_counts_of_many_patients_have_nearly_the_published_level():
    for boundary, c in (("pocock", 2.4132), ("obrien-fleming", 2.0401)):
        design = GroupSequential(600, c, boundary=boundary, sides=2)
        assert design.error(0.5) == pytest.approx(0.05, abs=2e-3)


# ------------------------------------------------------------------------------ exact probabilities


def enumerated(design, treatment, control, reach=13):
    """Return P(stop at k for efficacy), from loops over counts and noise."""
    q, m = math.exp(-design.epsilon), design.per_look
    v = 4 * q / (1 - q) ** 2

    def released(share):
        law = {}
        for s in range(m + 1):
            p = math.comb(m, s) * share**s * (1 - share) ** (m - s)
            for g in range(-reach, reach + 1):
                law[s + g] = law.get(s + g, 0.0) + p * (1 - q) / (1 + q) * q ** abs(g)
        return law

    going, stopped = {(0, 0): 1.0}, []
    for k in range(1, design.looks + 1):
        following, crossed, n = {}, 0.0, k * m
        for (a, b), mass in going.items():
            for (x, p), (y, r) in itertools.product(
                released(treatment).items(), released(control).items()
            ):
                one, other = min(max(a + x, 0), n), min(max(b + y, 0), n)
                rate = (one + other) / (2 * n)
                z = (one - other) / math.sqrt(2 * n * rate * (1 - rate) + k * v)
                if z >= design.critical:
                    crossed += mass * p * r
                else:
                    key = a + x, b + y
                    following[key] = following.get(key, 0.0) + mass * p * r
        going = following
        stopped.append(crossed)
    return stopped


def test_probabilities_are_those_of_an_enumeration():
    """Noise beyond ±13 has probability 10⁻⁵ in all; without the noise it is something else."""
    ours = SMALL.operating(0.8, 0.6).efficacy
    assert ours == pytest.approx(enumerated(SMALL, 0.8, 0.6), abs=1e-5)
    free = dataclasses.replace(SMALL, epsilon=math.inf).operating(0.8, 0.6).efficacy
    assert max(abs(x - y) for x, y in zip(ours, free, strict=True)) > 0.01


@pytest.mark.parametrize("epsilon", [math.inf, 0.7])
@pytest.mark.parametrize(
    "fields",
    [
        {"sides": 2},
        {"futility": 0.3, "boundary": "obrien-fleming"},
        {"looks": 1},
        {"looks": 2, "sides": 2, "boundary": "obrien-fleming"},
    ],
    ids=str,
)
def test_ends_are_sums_over_what_can_be_seen(fields, epsilon):
    """`operating` looks for the places of the bounds, `laws` has the score of all pairs of sums."""

    def ends(design, *shares):
        return np.array(design.operating(*shares)[1:])

    def summed(design, *shares):
        seen = [
            [float(each.law[e].sum()) for e in each.end.values()] for each in design.laws(*shares)
        ]
        return np.array(seen).T[:3]

    for per_look in (1, 30):
        design = GroupSequential(per_look, 1.6, epsilon, **({"looks": 3} | fields))
        other = dataclasses.replace(design, critical=1.9)
        for shares in ((0.9, 0.8), (0.8, 0.9), (0.3, 0.3), (1.0, 0.0), (1.0, 1.0)):
            assert abs(ends(design, *shares) - summed(design, *shares)).max() < 1e-8
        assert per_look == 1 or abs(ends(design, 0.9, 0.8) - summed(other, 0.9, 0.8)).max() > 1e-3


@pytest.mark.statistical
def test_probabilities_are_those_of_simulated_trials(rng):
    """Stops at each of three looks: two-sided, with O'Brien and Fleming's boundary."""
    n = 400_000
    design = GroupSequential(60, 1.8, 0.3, looks=3, boundary="obrien-fleming", sides=2)
    a, b, live, found = np.zeros(n), np.zeros(n), np.ones(n, bool), []
    for k in (1, 2, 3):
        for sums, share in ((a, 0.9), (b, 0.84)):
            sums += rng.binomial(60, share, n) + geometric_noise(rng, 0.3, n)
        z = design.score(k, a, b)
        up, down = (live & (s >= 1.8 * math.sqrt(3 / k)) for s in (z, -z))
        found += [up.sum(), down.sum()]
        live &= ~(up | down)

    def fits(operating):
        expected = [
            p for pair in zip(operating.efficacy, operating.harm, strict=True) for p in pair
        ]
        limits = [clopper_pearson(int(c), n, share=1 / 6) for c in found]
        return all(low <= p <= high for (low, high), p in zip(limits, expected, strict=True))

    assert fits(design.operating(0.9, 0.84))
    assert not fits(dataclasses.replace(design, epsilon=0.36).operating(0.9, 0.84))


def test_the_score_rises_with_the_treatment_and_falls_with_the_control():
    """All sums from 25 below to 25 above what counts can be; without the cut it is false."""
    for design in (SMALL, dataclasses.replace(SMALL, epsilon=math.inf)):
        for look in (1, 2):
            n = look * design.per_look
            values = np.arange(-25, n + 26)
            z = design.score(look, values[:, None], values[None, :])
            assert (np.diff(z, axis=0) >= 0).all() and (np.diff(z, axis=1) <= 0).all()
    a, b = values[:, None], values[None, :]
    rate = np.clip((a + b) / (2 * n), 0.5, 1.0)
    spread = 2 * n * rate * (1 - rate) + SMALL.noise_variance
    assert not (np.diff((a - b) / np.sqrt(spread), axis=1) <= 0).all()


def test_a_worse_treatment_is_found_better_less_often():
    for low, high in ((0.8, 0.868), (0.5, 0.55), (0.02, 0.05)):
        found = OURS.operating(low, high).power
        assert found <= min(OURS.error(low), OURS.error(high))


def test_two_sides_are_mirror_images():
    both = dataclasses.replace(OURS, sides=2, looks=3)
    one, other = both.operating(0.9, 0.85), both.operating(0.85, 0.9)
    assert one.efficacy == pytest.approx(other.harm, abs=1e-9)
    assert both.error(0.9) == pytest.approx(2 * both.operating(0.9, 0.9).power, abs=1e-9)
    assert both.decide(1, 120, 150) == "harm" and OURS.decide(1, 120, 150) == "continue"


def test_futility_costs_power_and_not_level():
    idle = dataclasses.replace(OURS, futility=0.0)
    free, bound = (d.operating(TREATMENT, CONTROL) for d in (OURS, idle))
    assert idle.error(CONTROL) == OURS.error(CONTROL)
    assert bound.power < free.power and sum(bound.futility) > 0 == sum(free.futility)
    at = idle.operating(CONTROL, CONTROL)
    assert at.patients < 0.6 * OURS.operating(CONTROL, CONTROL).patients
    assert sum(at.stops) == pytest.approx(1.0) and idle.decide(1, 140, 145) == "futility"
    assert idle.decide(1, 140, 140) == "futility", "at the score itself"
    assert idle.decide(5, 700, 700) == "none"


def test_drift_between_looks_is_a_share_for_each():
    steady = OURS.operating([0.9] * 5, [0.85] * 5)
    assert steady == OURS.operating(0.9, 0.85)
    assert OURS.error([0.82, 0.85, 0.88, 0.91, 0.94]) < 0.05
    refusal("treatment", [0.9, 0.9], lambda: OURS.operating([0.9, 0.9], 0.8))


def test_the_error_is_bounded_between_the_shares():
    bound = OURS.error_bound(0.75, 0.98)
    tried = [OURS.error(p) for p in np.linspace(0.75, 0.98, 30)]
    assert max(tried) <= bound <= 0.05
    assert bound - max(tried) < 2e-4
    assert OURS.error_bound(0.97, 0.98) < max(tried)  # it is about its interval alone
    assert OURS.error_bound(0.8, 0.8) == pytest.approx(OURS.error(0.8), abs=5e-6)
    refusal("high", 0.7, lambda: OURS.error_bound(0.8, 0.7))


def test_patients_in_the_pipeline_are_enrolled():
    found = OURS.operating(TREATMENT, CONTROL)
    assert found.patients == pytest.approx(found.enrolled(0))
    by_hand = sum(min(326 * k + 300, 1630) * p for k, p in enumerate(found.stops, 1))
    assert found.enrolled(300) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("name", "value", "fields"),
    [
        ("per_look", 0, {"per_look": 0}),
        ("critical", 0, {"critical": 0}),
        ("epsilon", 0, {"epsilon": 0}),
        ("looks", 51, {"looks": 51}),
        ("boundary", "haybittle", {"boundary": "haybittle"}),
        ("sides", 3, {"sides": 3}),
        ("futility", 2.5, {"futility": 2.5}),
        ("futility", 0.0, {"futility": 0.0, "sides": 2}),
    ],
)
def test_what_is_no_design_is_refused(name, value, fields):
    refusal(name, value, lambda: GroupSequential(**{"per_look": 9, "critical": 2.1} | fields))


# -------------------------------------------------------------------------------------- the sizes


@pytest.mark.parametrize(
    ("epsilon", "boundary", "mean", "most"),
    [
        (math.inf, "pocock", 794, 1460),
        (math.inf, "obrien-fleming", 860, 1220),
        (1.0, "pocock", 889, 1630),
        (1.0, "obrien-fleming", 1002, 1420),
    ],
)
def test_sizes_have_level_and_power_and_one_fewer_has_not(epsilon, boundary, mean, most):
    """Mean and greatest numbers of patients are those of an independent program, within 2 %."""
    options = {"epsilon": epsilon, "boundary": boundary, "shares": SHARES, "certified": False}
    plan = dpb.plan_group_sequential(TREATMENT, CONTROL, **options)
    assert plan.effect.patients == pytest.approx(mean, rel=0.02)
    assert plan.design.patients == pytest.approx(most, rel=0.02)
    assert plan.error <= 0.05 and plan.effect.power >= 0.9
    lower = dataclasses.replace(plan.design, critical=plan.design.critical - 0.001)
    assert max(lower.error(p) for p in SHARES) > 0.05
    fewer = dataclasses.replace(plan.design, per_look=plan.design.per_look - 1)
    steps = [dataclasses.replace(fewer, critical=fewer.critical + d / 1000) for d in range(-25, 26)]
    allowed = next(d for d in steps if max(d.error(p) for p in SHARES) <= 0.05)
    assert allowed.operating(TREATMENT, CONTROL).power < 0.9


@pytest.mark.parametrize(
    ("epsilon", "treatment", "control", "alpha"),
    [(1.0, 0.9, 0.5, 0.025), (1.0, 0.7, 0.4, 0.05), (3.0, 0.9, 0.5, 0.05), (0.5, 0.6, 0.2, 0.05)],
)
def test_one_patient_fewer_of_a_single_look_has_not_the_power(epsilon, treatment, control, alpha):
    """Where power rises and falls with the patients, a search that stops early, or late, shows."""
    shares = control, (treatment + control) / 2, treatment
    options = {"epsilon": epsilon, "alpha": alpha, "looks": 1, "certified": False}
    design = dpb.plan_group_sequential(treatment, control, shares=shares, **options).design
    powers = []
    for m in (design.per_look, design.per_look - 1):
        tried = (
            dataclasses.replace(design, per_look=m, critical=1 + d / 1000) for d in range(3000)
        )
        allowed = next(each for each in tried if max(map(each.error, shares)) <= alpha)
        powers.append(allowed.operating(treatment, control).power)
    assert powers[0] >= 0.9 > powers[1]


def test_the_usual_shares_are_equally_spaced_in_the_logarithm_of_the_odds():
    shares = np.array(usual_shares(0.9, 0.3))
    odds = shares / (1 - shares)
    assert odds[[0, -1]] == pytest.approx([0.3 / 0.7 / 2, 2 * 9.0])
    assert np.diff(np.log(odds)) == pytest.approx(math.log(84) / 5)
    assert usual_shares(0.3, 0.9) == tuple(shares)


@pytest.mark.parametrize("start", [1, 40, 500, 5000])
@pytest.mark.parametrize("least", [1, 2, 37, 499, 500, 501, 778, 9000])
def test_the_search_for_a_size_ends_at_the_least_from_any_start(start, least):
    asked = []
    assert _least(lambda m: asked.append(m) or m >= least, start) == least
    assert {type(m) for m in asked} == {int} and min(asked) >= 1


def test_a_certified_plan_holds_between_the_shares():
    options = {"epsilon": 1.0, "looks": 2, "shares": (0.7, 0.95), "certified": True}
    plan = dpb.plan_group_sequential(0.9, 0.75, **options)
    assert plan.error == plan.design.error_bound(0.7, 0.95) <= 0.05
    told = str(plan)
    assert "every common share from 0.7 to 0.95" in told and plan.as_dict()["error"] == plan.error
    assert max(len(line) for line in told.splitlines()) <= 100
    listed = dpb.plan_group_sequential(0.9, 0.75, **options | {"certified": False})
    assert listed.design.critical <= plan.design.critical


def test_a_plan_keeps_its_level_at_every_share_between():
    """By default; at six shares alone, the control, many designs exceed it elsewhere."""
    exceeded = 0
    for boundary, looks, arms in itertools.product(
        ("pocock", "obrien-fleming"), (2, 3), ((0.9, 0.7), (0.6, 0.3))
    ):
        six = usual_shares(*arms)
        grid = [*np.linspace(min(six), max(six), 15).tolist(), *arms]
        options = {"boundary": boundary, "looks": looks}
        plan = dpb.plan_group_sequential(*arms, **options)
        assert max(map(plan.design.error, grid)) <= plan.error <= 0.05
        assert set(arms) < set(plan.shares)
        listed = dpb.plan_group_sequential(*arms, shares=six, certified=False, **options)
        exceeded += max(map(listed.design.error, grid)) > 0.05
        assumed = dpb.plan_group_sequential(*arms, certified=False, **options)
        assert assumed.design.error(arms[1]) <= 0.05
    assert exceeded > 2


def test_futility_and_two_sides_are_planned():
    plain = dpb.plan_group_sequential(0.9, 0.7, looks=3)
    idle = dpb.plan_group_sequential(0.9, 0.7, looks=3, futility=0.0)
    both = dpb.plan_group_sequential(0.9, 0.7, looks=3, sides=2)
    assert idle.effect.power >= 0.9 and idle.design.patients >= plain.design.patients
    assert idle.none.patients < plain.none.patients
    assert both.design.patients > plain.design.patients and both.error <= 0.05


@pytest.mark.parametrize(
    ("name", "value", "options"),
    [
        ("treatment", 0.6, {"treatment": 0.6}),
        ("alpha", 0.6, {"alpha": 0.6}),
        ("power", 0.04, {"power": 0.04}),
        ("shares", (), {"shares": ()}),
        ("shares", (1.0,), {"shares": (1.0,)}),
        ("looks", 0, {"looks": 0}),
        ("treatment", 0.70001, {"treatment": 0.70001}),
    ],
)
def test_what_cannot_be_planned_is_refused(name, value, options):
    given = {"treatment": 0.9, "control": 0.7} | options
    refusal(name, value, lambda: dpb.plan_group_sequential(**given))


# ---------------------------------------------------------------------------- what may be published


def coverage(design, treatment, control, covers):
    """Return P(the true difference is covered), given which cells of the lattice cover it."""
    total = 0.0
    for each in design.laws(treatment, control):
        ended = sum(each.end.values()).astype(bool)
        total += float(each.law[ended & covers(each)].sum())
    return total


def test_the_stagewise_interval_covers_and_the_ordinary_one_does_not():
    """At the true mean share coverage is exact, except for the steps of whole numbers."""
    design = GroupSequential(per_look=60, critical=2.13, epsilon=0.5, looks=3)
    up, down = 0.92, 0.80

    def staged(each):
        scores = np.unique(each.score.round(9))
        scores = scores[:: max(1, scores.size // 30)]
        tails = [upper_tail(design, each.look, float(z), up, down)[0] for z in scores]
        at = np.interp(each.score, scores, tails)
        return (at > 0.05) & (at < 0.95)

    def ordinary(each):
        n = each.look * design.per_look
        a, b = np.clip(each.treatment, 0, n) / n, np.clip(each.control, 0, n) / n
        half = 1.645 * np.sqrt((a * (1 - a) + b * (1 - b)) / n)
        return abs(a - b - (up - down)) <= half

    assert coverage(design, up, down, staged) == pytest.approx(0.9, abs=0.005)
    assert coverage(design, up, down, ordinary) < 0.8


def test_an_estimate_agrees_with_the_test():
    found = estimate_difference(OURS, 2, 302, 277)
    score = OURS.score(2, 302, 277).item()
    assert (found.p_value <= 0.05) == (found.low >= 0.0) and found.low < found.median < found.high
    weights = {
        (0.5, 0.5): (0.5, found.median),
        (1, 0): (0.05, found.low),
        (0, 1): (0.95, found.high),
    }
    for weight, (level, at) in weights.items():
        tails = upper_tail(OURS, 2, score, found.share + at / 2, found.share - at / 2)
        assert tails[0] > tails[1] and np.dot(weight, tails) == pytest.approx(level, abs=1e-4)
    assert found.naive == pytest.approx(25 / 326) and found.median < found.naive
    half = 2.127 / 326 * math.sqrt(OURS._variance(2, 579))
    ends = found.naive - half, found.naive + half
    assert (found.repeated_low, found.repeated_high) == pytest.approx(ends)
    going = estimate_difference(OURS, 2, 280, 277)
    assert math.isnan(going.median) and going.repeated_low < going.naive < going.repeated_high


def test_a_trial_that_just_misses_the_boundary_may_have_a_small_p_value():
    """The boundary is that of the worst survival, the p-value that of the released one."""
    found = estimate_difference(OURS, 5, 803, 787)
    assert OURS.decide(5, 803, 787) == "none" and OURS.score(5, 803, 787) < OURS.critical
    assert found.low > 0.0 and found.p_value < 0.05
    assert OURS.error(found.share) < 0.05


@pytest.mark.parametrize("level", [-1.0, -0.95, -0.3, -0.01, 0.0, 0.02, 0.5, 0.85, 1.0])
def test_a_difference_is_found_wherever_it_lies(level):
    assert _where(lambda difference: difference, level) == pytest.approx(level, abs=1e-6)


def test_an_estimate_of_harm_is_the_mirror_image():
    both = dataclasses.replace(OURS, sides=2)
    good, bad = estimate_difference(both, 1, 150, 120), estimate_difference(both, 1, 120, 150)
    assert bad.median == pytest.approx(-good.median, abs=1e-5)
    assert (bad.low, bad.high) == pytest.approx((-good.high, -good.low), abs=1e-5)


# ---------------------------------------------------------------------------------- a running trial


def test_a_trial_goes_look_by_look_and_its_state_is_its_releases(rng):
    trial = dpb.RunningTrial(dataclasses.replace(OURS, epsilon=math.inf, futility=-1.0))
    first = trial.look(1, (150, 163), (141, 163), rng)
    assert first[:5] == (1, 150, 141, 150, 141) and first.decision == "continue"
    again = dpb.RunningTrial.from_json(trial.to_json())
    assert (again.design, again.releases) == (trial.design, trial.releases)
    second = again.look(2, (155, 163), (137, 163), rng)
    assert second.treatment_sum == 305 and second.decision == "efficacy" == again.decision
    assert again.estimate().naive == pytest.approx((305 - 278) / 326)
    with pytest.raises(ValueError, match=r"^look=3 comes after the end \(efficacy at look 2\)"):
        again.look(3, (150, 163), (141, 163), rng)
    with pytest.raises(ValueError, match="^look=2 is released"):
        again.look(2, (150, 163), (141, 163), rng)


@pytest.mark.parametrize(
    ("number", "treatment", "control", "told"),
    [
        (1, (150, 163), (140, 163), "look=1 is released and cannot be changed; allowed: 2"),
        (3, (150, 163), (140, 163), "look=3 leaves out look 2; allowed: 2"),
        (2, (150, 164), (140, 163), "has 164 patients; allowed: the 163 of a look"),
        (2, (150, 163), (140, 162), "has 162 patients; allowed: the 163 of a look"),
        (2, (164, 163), (140, 163), "treatment=164 is out of range"),
        (2, 150, (140, 163), "treatment=150 is not a pair"),
        (0, (150, 163), (140, 163), "look=0 is out of range"),
    ],
)
def test_what_is_not_the_next_look_is_refused_and_releases_nothing(
    number, treatment, control, told, rng
):
    trial = dpb.RunningTrial(OURS, [(145, 141)])
    before, state = rng.bit_generator.state, trial.to_json()
    with pytest.raises(ValueError, match=told.replace("(", r"\(")) as caught:
        trial.look(number, treatment, control, rng)
    assert "\n" not in str(caught.value)
    assert (rng.bit_generator.state, trial.to_json()) == (before, state)


def test_futility_binds_no_trial_and_has_the_repeated_interval_alone():
    idle = dataclasses.replace(OURS, futility=0.0)
    trial = dpb.RunningTrial(idle, [(140, 141), (150, 120)])
    assert [each.decision for each in trial.looks] == ["futility", "efficacy"]
    with pytest.raises(ValueError, match="ended at look 2"):
        dpb.RunningTrial(idle, [*trial.releases, (140, 140)])
    found = dpb.RunningTrial(idle, trial.releases[:1]).estimate()
    assert math.isnan(found.p_value) and math.isnan(found.low) and math.isnan(found.high)
    assert found.repeated_low < 0.0 < found.repeated_high


def test_a_trial_keeps_what_its_plan_said():
    plan = dpb.plan_group_sequential(0.9, 0.7, looks=1, sides=2, alpha=0.1)
    said = {"events": "deaths", "assumed": (0.9, 0.7), "level": plan.interval_level}
    trial = dpb.RunningTrial(plan.design, [(plan.design.per_look, 2)], **said)
    again = dpb.RunningTrial.from_json(trial.to_json())
    assert (again.events, again.assumed, again.level) == ("deaths", (0.9, 0.7), 0.9)
    assert trial.estimate() == trial.estimate(0.9) == again.estimate()
    assert trial.estimate(0.8).low > again.estimate().low
    plain = dpb.RunningTrial.from_json(dpb.RunningTrial(OURS).to_json())
    assert (plain.events, plain.assumed, plain.level) == (None, None, 0.9)
    refusal("events", "births", lambda: dpb.RunningTrial(OURS, events="births"))
    refusal("level", 1.0, lambda: dpb.RunningTrial(OURS, level=1.0))
    refusal("assumed", (0.9,), lambda: dpb.RunningTrial(OURS, assumed=(0.9,)))


@pytest.mark.parametrize(
    "text", ["", "[]", '{"format": "other"}', '{"format": "dpbandits group-sequential trial, 1"}']
)
def test_what_is_no_state_is_refused(text):
    with pytest.raises(ValueError, match="state cannot be read"):
        dpb.RunningTrial.from_json(text)
    with pytest.raises(ValueError, match="ended at look 1"):
        dpb.RunningTrial(OURS, [(163, 100), (140, 140)])
    with pytest.raises(ValueError, match="look is missing"):
        dpb.RunningTrial(OURS).estimate()


# ------------------------------------------------------------------------------------- the privacy


def release_laws(design, outcomes, release, reach=40):
    """Return log-probabilities of the released pairs of two looks, of one arm with these outcomes.

    `release` says what look k releases of the counts so far, before its noise.
    """
    law, centre = noise_law(design.epsilon), 80
    values = np.arange(-reach, reach + 1)
    counts = [sum(outcomes[:2]), sum(outcomes[2:])]
    logs = [np.log(law[values - release(counts, k) + centre]) for k in (0, 1)]
    return logs[0][:, None] + logs[1][None, :]


def test_releases_lose_epsilon_exactly_and_broken_ones_more():
    """Two looks of two patients; every outcome is changed in turn."""
    design = GroupSequential(per_look=2, critical=2.0, epsilon=0.8, looks=2)

    def loss(release):
        worst = 0.0
        for outcomes in itertools.product((0, 1), repeat=4):
            for i in range(4):
                other = [*outcomes[:i], 1 - outcomes[i], *outcomes[i + 1 :]]
                pair = [release_laws(design, each, release) for each in (outcomes, other)]
                worst = max(worst, np.abs(pair[0] - pair[1]).max())
        return worst

    assert loss(lambda counts, k: counts[k]) == pytest.approx(0.8, abs=1e-9)
    # broken: all patients so far are counted again at each look
    assert loss(lambda counts, k: sum(counts[: k + 1])) == pytest.approx(1.6, abs=1e-9)


@pytest.mark.statistical
def test_a_look_releases_counts_with_this_noise(rng):
    """Nine values of the noise of each arm; the law of twice the budget is refused."""
    n, law = 6_000, noise_law(1.0)
    drawn = np.array([dpb.RunningTrial(SMALL).look(1, (3, 3), (0, 3), rng)[1:3] for _ in range(n)])
    noise = drawn - np.array([3, 0])

    def fits(probabilities, centre=80):
        return all(
            low <= probabilities[centre + g] <= high
            for arm in (0, 1)
            for g in range(-4, 5)
            for low, high in [clopper_pearson(int((noise[:, arm] == g).sum()), n, share=1 / 18)]
        )

    assert fits(law)
    assert not fits(noise_law(2.0))
    # the two arms have noise of their own
    same = int((noise[:, 0] == noise[:, 1]).sum())
    low, high = clopper_pearson(same, n)
    assert low <= float(law @ law) <= high < 1.0 - FALSE_ALARM
