"""The experiments after Tossou & Dimitrakakis: privacy that is counted, and how they are drawn."""

import itertools
import math

import numpy as np
import pytest
from figure_checks import boxes_of, check_apart, grey
from figure_tables import DRAWINGS, FOUR, as_published, variants

import dpbandits as dpb
from companion.figures import baselines
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.privacy import basic_composition, epsilon_at
from dpbandits.regret.dp_ucb import DPUCB_VARIANTS
from dpbandits.regret.dp_ucb_int import input_of

DELTA = math.exp(-10)
NAMES = [name for name, _ in as_published(1.0)]
T = 100_000


# ------------------------------------------------------------------------- honest privacy


def holds(algorithm):
    """ε at δ = e^(−10) of the first T pulls, from the losses of the releases."""
    if isinstance(algorithm, dpb.DPUCB):
        levels = algorithm.tree(10, T).levels
        return epsilon_at(DELTA, [algorithm.tree(10, T).epsilon / levels] * levels).upper
    if isinstance(algorithm, dpb.DPUCBInt):
        return algorithm.guarantee_at(T, DELTA).epsilon
    assert algorithm.guarantee.delta == 0
    return algorithm.guarantee.epsilon


@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_what_the_variants_of_figure_2_spend(epsilon):
    """Whole budgets for each part, and the inputs of Corollary 3.2, are above the target."""
    every = dict(as_published(epsilon))
    del every["UCB", ""]
    above = {name for name, algorithm in every.items() if holds(algorithm) > epsilon}
    assert above == {
        *((name, v) for name in ("DP-UCB-HYBRID", "DP-UCB-BOUND") for v in ("full", "no bonus")),
        *(("DP-UCB-INT", reading) for reading in ("refreshed", "frozen", "literal")),
    }


@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_delta_gives_nothing_to_hybrid_counters(epsilon):
    """Two releases of loss ε/2, which the third reward of a counter is in, have about ε."""
    counter = dpb.DPUCBHybrid(epsilon).counter
    two = [1 / counter.block_scale, 1 / counter.node_scale(1)]
    bracket = epsilon_at(DELTA, two)
    assert two == [epsilon / 2, epsilon / 2]
    assert epsilon + math.log1p(-4 * DELTA) <= bracket.lower
    assert 0.998 * epsilon < bracket.lower < bracket.upper <= epsilon
    # control: the many small losses of a tree do gain by δ
    assert epsilon_at(DELTA, [epsilon / 17] * 17).upper < 0.8 * epsilon


@pytest.mark.parametrize("reading", ["refreshed", "frozen", "literal"])
@pytest.mark.parametrize("by", ["noise", "interval"])
@pytest.mark.parametrize(
    ("epsilon", "horizon", "exponent"), [(0.5, 3000, 1.3), (5.0, 400, 1.1), (1e-3, 200, 1.5)]
)
def test_calibrations_hold_and_are_the_least(reading, by, epsilon, horizon, exponent):
    a = dpb.DPUCBInt.calibrated(epsilon, 1e-4, horizon, by, reading, exponent)
    assert (a.reading, a.exponent, a.delta) == (reading, exponent, 1e-4)
    here = a.guarantee_at(horizon)
    assert here == PrivacyGuarantee("global", here.epsilon, 1e-4) and here.epsilon <= epsilon

    def spent(x, noise=1.0):
        return dpb.DPUCBInt(x, reading, exponent, 1e-4, noise).guarantee_at(horizon).epsilon

    if by == "noise":
        widest = math.ceil(1 / min(dpb.DPUCBInt.target_input(epsilon, 1e-4, exponent), 1))
        assert a.interval == min(horizon, widest)
        assert not a.losses(horizon).size or spent(a.epsilon, a.noise * (1 - 3e-5)) > epsilon
    else:
        assert a.noise == 1.0
        for f in {1, max(1, a.interval - 1), a.interval, min(a.interval + 19, horizon)}:
            assert (spent(input_of(f)) <= epsilon) == (f >= a.interval)


@pytest.mark.parametrize("variant", DPUCB_VARIANTS)
def test_calibrated_trees(variant):
    a = dpb.DPUCB.calibrated(0.5, 1e-4, 3000, variant, "per-step", 4)
    assert a == dpb.DPUCB(a.epsilon, variant, "per-step", 4.0)
    assert epsilon_at(1e-4, [a.epsilon / 12] * 12).upper <= 0.5
    assert epsilon_at(1e-4, [a.epsilon * (1 + 1e-5) / 12] * 12).upper > 0.5
    assert dpb.DPUCB.calibrated(0.5, 1e-4, 4095) == dpb.DPUCB(a.epsilon), "as many levels"


def test_a_wider_interval_has_no_loss_above_and_no_release_more():
    for reading in ("refreshed", "literal"):
        last = dpb.DPUCBInt(1.0, reading).losses(500)
        for f in range(2, 501):
            losses = dpb.DPUCBInt(input_of(f), reading).losses(500)
            assert losses.size <= last.size and np.all(losses <= last[: losses.size])
            last = losses
        assert basic_composition(last) == 0.0


def test_every_interval_has_an_input():
    for f in [*range(1, 20_000), *10 ** np.arange(5, 15), 2**40 + 1]:
        assert math.ceil(1 / input_of(int(f))) == f
    assert sum(math.ceil(1 / (1 / f)) != f for f in range(1, 20_000)) > 100, "control"
    # T = 49, for which ⌈1/(1/T)⌉ is T + 1: no release, and no noise beyond the paper's
    a = dpb.DPUCBInt.calibrated(1e-4, 1e-4, 49)
    assert (a.interval, a.noise, a.losses(49).size) == (49, 1.0, 0)


# ------------------------------------------------------------------------------ figures


def test_variants_can_be_told_apart_in_grey():
    looks = [look for each in baselines.ALGORITHM_LOOKS.values() for look in each]
    for a, b in itertools.combinations(looks, 2):
        assert a.line != b.line or (a.width != b.width and abs(grey(a) - grey(b)) > 0.15)
    assert len({look[0].colour for look in baselines.ALGORITHM_LOOKS.values()}) == 7
    for main, *others in baselines.ALGORITHM_LOOKS.values():
        assert all((o.colour, o.width < main.width) == (main.colour, True) for o in others)


def test_one_variant_of_each_has_a_band_and_with_theory_a_bound():
    for theory in (False, True):
        for axes in DRAWINGS["variants"](theory=theory).axes:
            assert (len(axes.get_lines()), len(axes.collections)) == (12 + 5 * theory, 5)
            assert {t.get_text() for t in axes.texts} == {baselines.name_of(*n) for n in NAMES}


@pytest.mark.parametrize("panels", [None, ["a", "c"]])
def test_the_figure_of_the_spread(panels):
    figure = DRAWINGS["spread"](panels=panels)
    box, whole = boxes_of(figure), figure.bbox
    assert len(figure.axes) == len(panels or FOUR)
    for place, (panel, axes) in enumerate(zip(panels or FOUR, figure.axes, strict=True)):
        finals = [each.regret[:, -1] for key, each in variants().items() if key[0] == panel]
        numbers = [text for text in axes.texts if text.get_text() != "max − min"]
        for row, (final, number) in enumerate(zip(finals, numbers, strict=True)):
            gap = number.get_text().replace("\u2009", "")
            assert int(gap) == pytest.approx(np.ptp(final), abs=0.51)
            end = axes.transData.transform([(final.max(), row)])[0]
            assert end[0] < box(number).x0, "the number is off the line"
        names = axes.get_yticklabels()
        if place % 2 == 0:  # the right column has the rows of the left one
            assert [text.get_text() for text in names] == [baselines.name_of(*n) for n in NAMES]
        for texts in (names, axes.texts, axes.get_xticklabels()):
            check_apart([box(text) for text in texts if text.get_text()], whole)
    assert figure.axes[-1].get_xlabel() == "regret at T = 5 000 (units of reward)"
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
