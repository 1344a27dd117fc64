"""Claims of Jourdan & Azize (2025), in the replies: why DP-TT is as it is, and other settings."""

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import integrate, optimize, stats

from companion.claims.findings import Finding, claim, entries, extremes, finding
from companion.claims.ja25_algorithm import SMALL, Recorded, watch
from companion.claims.verdicts import CANNOT_TELL, CONDITION, FAILS, HOLDS, decide
from companion.publishing import number
from companion.rounding import magnitude
from dpbandits.algorithms import DPRSE
from dpbandits.identification import DPTT, AdaPTT, Identifications, d_eps, kl
from dpbandits.identification.batches import BatchedTopTwo
from dpbandits.identification.thresholds import chernoff_threshold
from dpbandits.rewards.heavy_instances import twzw22
from dpbandits.rewards.heavy_laws import ParetoLaw
from dpbandits.schedules import next_release

Runs = Mapping[Any, Identifications]
"""Results of the chapter; what was run is read off each result, whatever its key."""


@claim(
    "ja25-thm-5",
    "Theorem 5, by the reply to reviewer YnCC",
    at="thm-chernoff-correct",
    needs=("errors",),
    reconstructed=True,
)
def correct(errors: Runs) -> Finding:
    """DP-TT is δ-correct for every ε and δ."""
    rows = [runs for runs in errors.values() if isinstance(runs.algorithm, DPTT)]
    rates = [(runs.error_rate(), runs.algorithm.delta) for runs in rows]
    seen, worst = (max(rate[i] / delta for rate, delta in rates) for i in (0, 1))
    return finding(
        decide(bool(rows) and worst <= 1),
        "Proved for our two thresholds and every ε and δ; the paper's own, its equation (8), is "
        "lost in our copy. In the chapter's runs wrong recommendations are far rarer than δ.",
        ("settings", len(rows)),
        ("runs", sum(runs.n_runs for runs in rows)),
        ("share of wrong recommendations / δ, greatest", seen, 4),
    )


def _variances(pulls: int, epsilon: float) -> tuple[float, float]:
    """Return the variances of an estimate at mean 1/2: of all releases, of the last batch only."""
    releases = pulls.bit_length()  # at 1, 2, 4, …
    last = pulls / 2
    kept = 0.25 / pulls + 2 * releases / (pulls * epsilon) ** 2
    return kept, 0.25 / last + 2 / (last * epsilon) ** 2


@claim("ja25-forgetting", "reviews VJtw and iuVL", at="lem-rate")
def forgetting() -> Finding:
    """Not forgetting samples leads to better estimates, though it adds more Laplace noise."""
    ratios = {}
    for epsilon, k in itertools.product((1.0, 0.1, 0.01), (6, 10, 16)):
        kept, forgotten = _variances(2**k, epsilon)
        ratios[k, epsilon] = kept / forgotten
    better = min(ratios.values()) < 1
    return finding(
        decide(better, CONDITION if max(ratios.values()) > 1 else HOLDS, FAILS),
        "Where the spread of the rewards decides, all rewards give half the variance of the last "
        "batch. Where noise decides, which is up to about (8k − 32)/ε² pulls, k releases, the sum "
        "of k noises is worse than the one noise of a batch of half the size, as soon as k > 4.",
        entries("variance, kept / forgotten, n = 2^{}, ε = {:g}", ratios, 3),
    )


def _product_of_tails(x: float) -> float:
    """Return the greatest product P(X ≥ y)·P(Y ≥ x − y) of two exponential variables."""
    grid = np.linspace(0, x, 201)
    return float(np.max(stats.expon.sf(grid) * stats.expon.sf(x - grid)))


@claim("ja25-lemma-9", "Lemma 9, by the reply to reviewer inBP", at="lem-rate", reconstructed=True)
def lemma_9() -> Finding:
    """The tail of a sum of two independent variables is bounded by the greatest product of their
    tails.
    """
    points = (1.0, 10.0, 100.0)
    ratios = {x: float(stats.gamma.sf(x, 2)) / _product_of_tails(x) for x in points}
    slow = math.log(ratios[100.0]) / 100.0
    exact = max(abs(r / (1 + x) - 1) for x, r in ratios.items())
    over = CONDITION if max(ratios.values()) > 1 else HOLDS
    return finding(
        decide(exact < 1e-9 and slow < 0.1, over, FAILS),
        "Up to a factor, which our copy does not show. For two independent variables with tail "
        "e^(−x) the tail of the sum is 1 + x times the greatest product; the rate in the exponent "
        "is the same, which is what a threshold needs.",
        entries("tail of the sum / greatest product, x = {:g}", ratios, 3),
    )


def _rounds_led(rewards: Recorded) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounds in which each arm led a run of DP-TT, and in how many it was played."""
    sums, pulls, led, own = np.zeros((4, rewards.n_arms))
    ends = [*rewards.ends, len(rewards.asked)]
    for (arm, _, last), released, (start, end) in zip(
        rewards.batches, rewards.released, itertools.pairwise(ends), strict=True
    ):
        sums[arm] += released
        pulls[arm] = last
        if pulls.all():
            leader = int(np.argmax(sums / pulls))
            led[leader] += end - start
            own[leader] += sum(each == leader for each, _ in rewards.asked[start:end])
    return led, own


@claim("ja25-half", "reply to reviewer iuVL, Q4.1", at="alg-dptt")
def half() -> Finding:
    """β = 1/2 ensures that the leader is sampled half of the time."""
    off: list[float] = []
    for run, epsilon in enumerate((0.1, 1.0, 10.0)):
        rng = np.random.default_rng(run)
        table = [rng.random(60_000) < mean for mean in (0.8, 0.5, 0.5)]
        rewards = Recorded(table)
        watch(DPTT(epsilon, 0.01), rewards, rng, 60_000)
        led, own = _rounds_led(rewards)
        off += np.abs(own - led / 2)[led > 0].tolist()
    return finding(
        decide(bool(off) and max(off) <= 1),
        "By the rule that is tracked: an arm that leads is played in every second round in which "
        "it leads, up to one. As the leader changes early on, that is half of all pulls for the "
        "best arm in the long run only.",
        ("arms that led", len(off)),
        ("plays off one half of the rounds led, greatest", max(off)),
    )


@claim("ja25-same-guarantee", "reply to reviewer iuVL, Q3", at="thm-dptt-private")
def same_guarantee() -> Finding:
    """Algorithms that forget and those that do not have the same guarantee of privacy."""
    most, released = {}, {}
    rules: dict[str, BatchedTopTwo] = {"DP-TT": DPTT(0.5, 0.1), "AdaP-TT": AdaPTT(0.5, 0.1)}
    for name, rule in rules.items():
        rng = np.random.default_rng(5)
        recorded = Recorded([rng.random(20_000) < mean for mean in (0.8, 0.5, 0.5)])
        watch(rule, recorded, rng, 20_000)
        most[name] = int(recorded.in_batches().max())
        released[name] = len(recorded.batches)
    same = {rule.guarantee.epsilon for rule in rules.values()} == {0.5}
    return finding(
        decide(set(most.values()) == {1} and same and min(released.values()) > 3),
        "In both a reward is in one batch, whose noisy sum is released once; to add released sums "
        "or to forget them is post-processing.",
        entries("batches that one reward is in, {}", most),
        entries("batches released, {}", released),
    )


@claim("ja25-smaller-eta", "reply to reviewer iuVL, Q4.1", at="ours-bai-eta")
def smaller_eta() -> Finding:
    """A smaller η makes the stopping threshold larger, and adds more Laplace noise."""
    counts, levels = {}, {}
    for eta in (2.0, 1.0, 0.1, 0.01):
        pulls, counts[eta] = 1, 1
        while pulls < 10**6:
            pulls, counts[eta] = next_release(pulls, eta), counts[eta] + 1
        levels[eta] = chernoff_threshold(0.01, 5, counts[eta], counts[eta]) / math.log(1 / 0.01)
    rising, higher = (
        all(b > a for a, b in itertools.pairwise(each.values())) for each in (counts, levels)
    )
    far = chernoff_threshold(SMALL, 5, counts[0.01], counts[0.01]) / math.log(1 / SMALL)
    return finding(
        decide(rising and higher),
        "Releases in proportion to 1/log(1 + η) bring as many Laplace variables, and a union over "
        "more pairs in the threshold. The threshold grows with the logarithm of their number only, "
        "and as δ tends to 0 that is lost against log(1/δ).",
        entries("threshold / log(1/δ) at 10⁶ pulls, δ = 0.01, η = {:g}", levels, 3),
        ("Laplace variables, η = 1", counts[1.0]),
        ("Laplace variables, η = 0.01", counts[0.01]),
        ("threshold / log(1/δ), δ = 10⁻²⁵⁰, η = 0.01", far, 3),
    )


@claim("ja25-ties", "reply to reviewer VJtw, Q1", at="starvation", needs=("tails",))
def ties(tails: Runs) -> Finding:
    """That the means are distinct is not needed in Theorem 6 with forced exploration or a finer
    analysis.
    """
    starved: dict[str, int] = {}
    runs: dict[str, int] = {}
    for result in tails.values():
        rule = result.algorithm
        assert isinstance(rule, DPTT)
        cost = "W" if rule.costs == "plain" else "W̃"
        if rule.exploration:
            cost += " + log N" if rule.exploration == 1 else f" + {rule.exploration:g} log N"
        starved[cost] = starved.get(cost, 0) + int((~result.stopped).sum())
        runs[cost] = runs.get(cost, 0) + result.n_runs
    limit = max(result.max_pulls for result in tails.values())
    calibrated, of = (
        sum(n for cost, n in each.items() if cost.startswith("W̃")) for each in (starved, runs)
    )
    return finding(
        decide(starved["W"] > 0, CANNOT_TELL, CONDITION),
        "It is said without a proof, and neither of the two is in our copy, though Figure 1 is on "
        f"tied means. {'Some such step is needed: with' if starved['W'] else 'With'} the plain "
        f"cost W of the lower bound {starved['W']} of {runs['W']} runs "
        f"of the chapter, on those means, do not stop within {number(limit)} pulls; with "
        f"calibrated costs {calibrated or 'none'} of {of}.",
        {f"runs of {runs[cost]} that do not stop, {cost}": n for cost, n in starved.items()},
    )


def _renyi(order: float, shift: float, deviation: float) -> float:
    """Return the Rényi divergence of two normal laws, by quadrature."""

    def log_term(x: float) -> float:
        here, there = (stats.norm.logpdf(x, centre, deviation) for centre in (shift, 0))
        return float(order * here + (1 - order) * there)

    centre = order * shift
    top, ends = log_term(centre), (centre - 12 * deviation, centre + 12 * deviation)
    total, _ = integrate.quad(lambda x: math.exp(log_term(x) - top), *ends)
    return (math.log(total) + top) / (order - 1)


@claim("ja25-gaussian-mechanism", "reply to reviewer VJtw, Q3", at="thm-dptt-private")
def gaussian_mechanism() -> Finding:
    """With the Gaussian in place of the Laplace mechanism DP-TT is ρ-zCDP or (ε, δ)-DP."""
    spent = [
        _renyi(order, 1.0, 1 / math.sqrt(2 * rho)) / (rho * order)
        for rho, order in itertools.product((0.01, 0.5, 2.0), (1.1, 2.0, 10.0))
    ]
    rho, delta = 0.5, 1e-6
    epsilon, deviation = rho + 2 * math.sqrt(rho * math.log(1 / delta)), 1 / math.sqrt(2 * rho)
    # the exact δ of the Gaussian mechanism at ε
    here, there = (stats.norm.cdf(s / (2 * deviation) - epsilon * deviation) for s in (1, -1))
    exact = here - math.exp(epsilon) * there
    return finding(
        decide(max(spent) <= 1 + 1e-6 and exact <= delta),
        "Privacy rests on the batches alone: a reward is in one released sum, and normal noise of "
        "deviation 1/√(2ρ) makes it ρ-zCDP, and so (ρ + 2√(ρ·log(1/δ)), δ)-DP. The thresholds "
        "have to be derived anew.",
        ("Rényi divergence / (ρ·order), greatest", float(max(spent)), 6),
        ("exact δ / δ at ρ = 1/2, δ = 10⁻⁶", float(exact) / delta, 4),
    )


def _log_ratio(support: float, scale: float) -> float:
    """Return the greatest log ratio of a released sum when one reward moves by `support`."""
    places = np.linspace(-50, 50, 20_001)
    return float(np.max(np.abs(np.abs(places - support) - np.abs(places)))) / scale


@claim("ja25-range", "reply to reviewer inBP, W(b)", at="thm-dptt-private")
def any_range() -> Finding:
    """For rewards in [a, b] the noise is to be multiplied by b − a, and the privacy is the same."""
    epsilon = 0.5
    losses = [
        _log_ratio(high - low, (high - low) / epsilon) / epsilon
        for low, high in ((0.0, 1.0), (-3.0, 5.0), (0.2, 0.3))
    ]
    bare = _log_ratio(8.0, 1 / epsilon) / epsilon
    return finding(
        decide(max(losses) <= 1 + 1e-9 < bare),
        "The sum of a batch moves by b − a at most, and the noise is b − a times as wide.",
        ("greatest loss / ε", max(losses), 6),
        ("on [−3, 5] with the noise of [0, 1]", bare, 3),
    )


def _normal_distance(gap: float, deviation: float) -> float:
    """Return the total variation of two normal laws of one deviation, by the formula."""
    return float(2 * stats.norm.cdf(gap / (2 * deviation)) - 1)


@claim("ja25-normal-distance", "reply to reviewer inBP, W(a)", at="lem-two-forms")
def normal_formula() -> Finding:
    """The total variation of two normal laws has no simple formula."""

    def difference(x: float, gap: float, deviation: float) -> float:
        return float(abs(stats.norm.pdf(x, gap, deviation) - stats.norm.pdf(x, 0, deviation)) / 2)

    off = 0.0
    for law in itertools.product((0.01, 0.5, 3.0), (0.5, 1.0, 4.0)):
        exact, _ = integrate.quad(difference, -40, 40, law, points=[law[0] / 2], limit=200)
        off = max(off, abs(_normal_distance(*law) / exact - 1))
    return finding(
        decide(off < 1e-6, FAILS, CANNOT_TELL),
        "For equal variances, as in bandits with normal rewards of known variance, it is "
        "2Φ(abs(μ − μ')/(2σ)) − 1. For different variances it takes the two points at which the "
        "densities cross. What the reply draws from it, that solvers have to find d_ε, stays "
        "true; it costs nothing else.",
        ("relative difference of formula and quadrature, at most", magnitude(off)),
    )


@claim("ja25-convex", "reply to reviewer inBP, W(a)", at="lem-two-forms")
def convex() -> Finding:
    """What d_ε minimises is continuous and convex on a compact interval, so that solvers find
    it.
    """
    least, off, grid = math.inf, 0.0, np.linspace(0, 1, 2001)
    for x, y, epsilon in itertools.product((0.05, 0.5, 0.9), (0.1, 0.6), (0.01, 0.5, 3.0)):

        def objective(z: Any, x: float = x, y: float = y, epsilon: float = epsilon) -> Any:
            return epsilon * np.abs(x - z) + kl(z, np.full_like(z, y))

        least = min(least, float(np.diff(objective(grid), 2).min()))
        found = optimize.minimize_scalar(
            lambda z, f=objective: float(f(np.array([z]))[0]),
            bounds=(0, 1),
            method="bounded",
            options={"xatol": 1e-10},
        )
        off = max(off, abs(found.fun - float(d_eps(x, y, epsilon))))
    return finding(
        decide(least > -1e-12 and off < 1e-7),
        "kl(z, y) is convex in z on [0, 1] and so is ε·abs(x − z). A plain solver finds the value "
        "of the closed form that Bernoulli laws have.",
        ("second difference, least", least, ".1e"),
        ("solver − closed form, greatest", off, ".1e"),
    )


def _laplace_divergence(changes: int, epsilon: float) -> float:
    """Return KL between Laplace laws of scale 1/ε whose centres differ by `changes`."""
    return epsilon * changes + math.exp(-epsilon * changes) - 1


@claim(
    "ja25-group-divergence", "Appendix D, by the reply to reviewer VJtw, Q3", at="thm-bai-change"
)
def group_divergence() -> Finding:
    """Under ε-DP the divergence of the outputs on data with h changed rewards is at most ε·h."""
    ratios = [_laplace_divergence(h, e) / (e * h) for h in (1, 3, 50) for e in (0.01, 1.0, 10.0)]
    return finding(
        decide(max(ratios) <= 1 and max(ratios) > 0.99),
        "Proved: h changed rewards move each log probability by ε·h at most. The Laplace mechanism "
        "comes near, for large ε·h; for small ε·h the divergence is about (ε·h)²/2, which the "
        "lower bound gives away.",
        extremes("divergence / (ε·h)", ratios, 5),
    )


def _beyond(reward: float) -> float:
    """Return P(X > reward) on the best arm of TWZW22's first setting, v = 0.5."""
    law = twzw22("S1", 0.5).laws[0]
    assert isinstance(law, ParetoLaw)
    return min(1.0, float((law.scale / reward) ** law.shape))


@claim("ja25-only-bounded", "reply to reviewer inBP, W(b)", at="thm-dptt-private")
def only_bounded() -> Finding:
    """All earlier works on private bandits are for Bernoulli or bounded rewards."""
    beyond = _beyond(1e6)
    private = DPRSE(0.5).guarantee
    return finding(
        decide(beyond > 0 and private.epsilon == 0.5, FAILS, CANNOT_TELL),
        "Tao, Wu, Zhao and Wang (2022) have private algorithms for arms with a moment of order "
        "1 + v only: see chapter 4. The remark is a motive for bounded rewards, and nothing in "
        "the paper depends on it.",
        ("P(reward > 10⁶), best arm of their Setting 1, v = 0.5", beyond, ".2g"),
        ("ε of DPRSE there", private.epsilon),
    )
