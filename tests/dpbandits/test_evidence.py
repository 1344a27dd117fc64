"""DP-LRE's evidence: the law of a batch, the martingale, the certified infimum."""

import math

import mpmath
import numpy as np
import pytest

from dpbandits.identification import bayes_factor as evidence
from dpbandits.identification.bayes_factor import (
    ArmLikelihood,
    is_better,
    log_density,
    log_evidence,
)

INF = math.inf


def batch_log_likelihood(n, x, u, epsilon):
    return np.vectorize(log_density, otypes=[float])(float(n), float(x), u, float(epsilon))


# --- the law of a batch ---------------------------------------------------------------------------


def allowed_error(n, value):
    """Half of what the table allows for."""
    return 0.5 * (1e-10 + 2e-15 * n + 1e-15 * abs(value))


def test_density_is_the_defining_sum(rng):
    """The sum in 60 digits."""
    for _ in range(250):
        n, epsilon = int(10 ** rng.uniform(0, 2.2)), 10 ** rng.uniform(-3, math.log10(125))
        near_end = 10 ** rng.uniform(-8, 0)
        u = float(rng.choice([rng.random(), near_end, 1 - near_end]))
        noisy = n * u + rng.laplace() / epsilon
        x = float(rng.choice([rng.uniform(-0.3 * n - 2, 1.3 * n + 2), noisy, rng.integers(n + 1)]))
        with mpmath.workdps(60):
            p, e = mpmath.mpf(u), mpmath.mpf(epsilon)
            terms = (
                mpmath.binomial(n, j) * p**j * (1 - p) ** (n - j) * mpmath.exp(-e * abs(x - j))
                for j in range(n + 1)
            )
            wanted = float(mpmath.log(e / 2 * mpmath.fsum(terms)))
        value = float(batch_log_likelihood(n, x, u, epsilon))
        assert abs(value - wanted) <= allowed_error(n, wanted), (n, x, u, epsilon)


LARGE = [
    *[(10**5, 0.3, 0.05, 40.25), (10**5, 0.3, 2.0, -700.5), (10**6, 0.9, 0.001, 2000.0)],
    *[(10**6, 1e-4, 1.0, 25.5), (10**9, 0.999999, 0.1, -150.75), (10**9, 1e-7, 0.3, 60.0)],
    *[(10**9, 0.5, 125.0, 30000.5), (10**9, 0.5, 0.01, 3.5)],
]


@pytest.mark.parametrize(("n", "u", "epsilon", "shift"), LARGE)
def test_density_of_large_batches(n, u, epsilon, shift):
    """Against the same sum where it is concentrated, for batches of up to 10⁹ pulls."""
    x = math.floor(n * u) + shift
    reach, centre = 14 * math.sqrt(n * u * (1 - u)) + 45 / epsilon + 60, math.floor(n * u)
    if epsilon >= 1:
        reach, centre = min(reach, 45 / epsilon + 45), math.floor(x)
    low, high = max(centre - int(reach), 0), min(centre + int(reach), n)
    with mpmath.workdps(40):
        p = mpmath.mpf(u)
        log_choose = (
            mpmath.loggamma(n + 1) - mpmath.loggamma(low + 1) - mpmath.loggamma(n - low + 1)
        )
        log_pmf = log_choose + low * mpmath.log(p) + (n - low) * mpmath.log(1 - p)
        # the ratios of neighbours in doubles with compensated logs: about 1e-12 over the range
        j = np.arange(low, high, dtype=np.longdouble)
        steps = np.log((n - j) / (j + 1)) + np.longdouble(float(mpmath.log(p / (1 - p))))
        logs = np.concatenate([[0], np.cumsum(steps)])
        logs = logs - epsilon * np.abs(np.arange(low, high + 1) - np.longdouble(x))
        total = float(logs.max()) + float(np.log(np.exp(logs - logs.max()).sum()))
        wanted = float(log_pmf + total + math.log(epsilon / 2))
    value = float(batch_log_likelihood(n, x, u, epsilon))
    assert abs(value - wanted) <= 1e-9 + allowed_error(n, wanted)


def nodes_of(n, epsilon, reach=32.0, per_cell=8):
    """Nodes and weights that integrate over x, whole numbers being the ends of cells."""
    points, weights = np.polynomial.legendre.leggauss(per_cell)
    last = math.ceil(reach / epsilon)
    left = np.arange(-last, n + last)
    return (left[:, None] + 0.5 * (points + 1)).ravel(), np.tile(0.5 * weights, left.size)


def densities(n, xs, means, epsilon):
    """Array of shape (xs, means)."""
    return np.exp([batch_log_likelihood(n, x, means, epsilon) for x in xs.tolist()])


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0, INF])
def test_log_density_is_concave_in_the_mean_and_not_in_its_log_odds(epsilon, rng):
    u = np.linspace(0, 1, 201)[1:-1]
    for _ in range(50):
        n = int(10 ** rng.uniform(0, 4))
        x = float(rng.integers(n + 1)) if epsilon == INF else rng.uniform(-3, n + 3)
        values = batch_log_likelihood(n, x, u, epsilon)
        assert np.diff(values, 2).max() <= 1e-11 * (1 + np.abs(values).max())
    u = 1 / (1 + np.exp(-np.linspace(-5, -4, 11)))  # around 0.01
    assert np.diff(batch_log_likelihood(10, 5.0, u, 1.0), 2).max() > 1e-3


def test_without_noise_the_law_is_binomial():
    assert float(batch_log_likelihood(3, 2.0, 0.5, INF)) == pytest.approx(math.log(3 / 8))
    assert batch_log_likelihood(3, 3.0, [0.0, 1.0], INF).tolist() == [-INF, 0.0]


# --- evidence -------------------------------------------------------------------------------------
GAPS, SHARES = np.meshgrid(evidence.GAPS, evidence.SHARES, indexing="ij")
LOG_WEIGHTS = evidence._LOG_GAP_WEIGHTS[:, None] + evidence._LOG_SHARE_WEIGHTS


class Arm(ArmLikelihood):
    """An arm that keeps its batches; its log L is by the definition, −inf outside [0, 1]."""

    def __init__(self, epsilon):
        super().__init__(epsilon)
        self.batches = []

    def add(self, n, x):
        super().add(n, x)
        self.batches.append((n, x))

    def log_likelihood(self, means):
        means = np.asarray(means)
        inside = (means >= 0) & (means <= 1)
        result = np.full(means.shape, -INF)
        values = [batch_log_likelihood(n, x, means[inside], self.epsilon) for n, x in self.batches]
        result[inside] = np.sum(values, axis=0)
        return result


def exact_log_e_value(better, worse, u_c, u_b, n_arms=2):
    """log E(u_c, u_b) from its definition, with every gap and share."""
    weights = LOG_WEIGHTS + np.where(SHARES == 0, math.log(n_arms - 1), 0.0)
    above = better.log_likelihood(u_c + SHARES * GAPS)
    below = worse.log_likelihood(u_b - (1 - SHARES) * GAPS)
    at = better.log_likelihood(u_c) + worse.log_likelihood(u_b)
    return float(np.logaddexp.reduce((weights + above + below).ravel()) - at)


def test_the_prior_has_mass_one_at_most():
    assert 0.9 < np.exp(LOG_WEIGHTS).sum() <= 1 + 1e-14
    assert evidence.SHARES[0] == 0 and evidence.SHARES[-1] == 1


@pytest.mark.parametrize("believed", [0.8, 3.0])
def test_e_values_are_a_martingale_under_adaptive_batch_sizes(believed):
    """E[E(μ_c, μ_b)] is the prior's mass inside [0, 1], integrated; noise of another ε is caught.

    First a batch of b; then one of c, of a size that depends on what b's release was.
    """
    epsilon, mean_c, mean_b = 0.8, 0.35, 0.6
    up, down = (mean_c + SHARES * GAPS)[::8], (mean_b - (1 - SHARES) * GAPS)[::8]
    inside, weights = (up <= 1) & (down >= 0), np.exp(LOG_WEIGHTS)[::8]

    def ratios(n, mean, shifted):
        x, dx = nodes_of(n, epsilon)
        law = densities(n, x, [mean], epsilon)[:, 0]
        judged = densities(n, x, [mean, *shifted[inside]], believed)
        return x, dx * law, judged[:, 1:] / judged[:, :1]

    expected_c = {n: dx @ ratio for n in (2, 5) for _, dx, ratio in [ratios(n, mean_c, up)]}
    x, dx, ratio = ratios(3, mean_b, down)
    then = np.where((x > 1.5)[:, None], expected_c[5], expected_c[2])
    total = float((dx[:, None] * ratio * then).sum(axis=0) @ weights[inside])
    wrong = abs(total / weights[inside].sum() - 1)
    assert wrong < 1e-8 if believed == epsilon else wrong > 1e-3


def some_arms(rng):
    """Two arms with a few releases each."""
    epsilon = float(rng.choice([0.01, 0.1, 1.0, 10.0, INF]))
    arms = Arm(epsilon), Arm(epsilon)
    for arm, mean in zip(arms, np.sort(rng.random(2))[::-1], strict=True):
        n = int(10 ** rng.uniform(0.5, 2)) * (20 if epsilon == 0.01 else 1)
        for _ in range(rng.integers(1, 6)):
            x = float(rng.binomial(n, mean)) + (0 if epsilon == INF else rng.laplace() / epsilon)
            arm.add(n, x)
            n += int(rng.integers(0, n + 1))
    return arms


def certified(better, worse):
    """The largest threshold that the evidence certainly reaches, by bisection."""
    low, high = 0.0, 1.0
    while is_better(better, worse, high):
        low, high = high, 2 * high
    while high - low > 1e-4:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_better(better, worse, middle) else (low, middle)
    return low


def test_certified_infimum_is_below_the_true_one_and_near_it(rng):
    """Below E everywhere on a grid, on and off the diagonal; near E where it is smallest."""
    losses = []
    while len(losses) < 15:
        better, worse = some_arms(rng)
        if log_evidence(better, worse) < 2:
            continue
        place = evidence.least(better.table, worse.table, 2, -INF)[1]
        around = place + 0.03 * (better.maximiser - worse.maximiser) * np.arange(-3, 4)
        grid = np.concatenate([np.linspace(0.03, 0.97, 13), np.clip(around, 0.001, 0.999)])
        lower = certified(better, worse)
        assert lower <= min(exact_log_e_value(better, worse, u, u) for u in grid) + 1e-9
        for _ in range(5):  # off the diagonal nothing is lower
            u_c, u_b = np.sort(rng.choice(grid, 2))
            diagonal = exact_log_e_value(better, worse, u_b, u_b)
            assert exact_log_e_value(better, worse, u_c, u_b) >= diagonal - 1e-9
        exact = exact_log_e_value(better, worse, place, place)
        losses.append((exact - lower) / (1 + exact))
    assert max(losses) < 0.03 and np.median(losses) < 0.01


def test_an_e_value_is_never_overstated(rng):
    """The table's bound at any point, also off the diagonal, against the definition."""
    losses = []
    for _ in range(60):
        (better, worse), (y, x) = some_arms(rng), rng.uniform(0.02, 0.98, 2)
        n_arms = int(rng.choice([2, 5, 50]))
        exact = exact_log_e_value(better, worse, y, x, n_arms)
        bound = evidence._log_e_value(
            better.table, worse.table, n_arms, y, x, 0, evidence.GAPS.size
        )
        assert bound <= exact + 1e-9
        if 0 < exact < 30:
            losses.append((exact - bound) / (1 + exact))
    assert len(losses) >= 5 and np.median(losses) < 0.05


def test_bounds_of_a_table_bracket_the_likelihood(rng):
    for _ in range(30):
        arm, _ = some_arms(rng)
        knots, values, _, _, slack = arm.table
        assert 0 <= slack < 1e-8 and (np.diff(knots) > 0).all()
        u = rng.uniform(0.001, 0.999, 30)
        exact, below = arm.log_likelihood(u), np.interp(u, knots, values)
        above = np.array([evidence._upper(knots, values, slack, point) for point in u])
        assert (above >= exact - 1e-10 * np.abs(exact)).all()
        assert (below <= exact + 1e-10 * np.abs(exact)).all()
        fall = values.max() - below
        high = values.max() - exact < 20
        assert ((above - below)[high] <= 0.021 * (1 + fall)[high]).all()
