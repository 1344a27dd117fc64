"""DP-LRE once more in NumPy, from the words of chapter 5, makes the package's decisions."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

import dpbandits as dpb
from dpbandits.identification import dplre
from dpbandits.identification.bayes_factor import ArmLikelihood

U = np.sin(np.linspace(0.0, math.pi / 2, 3001)) ** 2
GAPS = 2.0 ** (-np.arange(192) / 4)
EDGES = np.maximum(np.arange(193) - 0.5, 0.0) * math.log(2.0) / 4
WEIGHTS = np.diff(0.9 * np.minimum(EDGES / 4, 1) + 0.1 * EDGES / (3 + EDGES))
SHARES = np.arange(9) / 8
OF_SHARES = np.array([0.2, *(0.75 / 7 * (1.5 - SHARES[1:-1])), 0.05])


def density(n, x, epsilon):
    """Return log f at the means U."""
    up, down = (1 - U + U * math.exp(s * epsilon) for s in (1, -1))
    k = math.floor(x)
    with np.errstate(divide="ignore"):
        below = stats.binom.logcdf(k, n, U * math.exp(epsilon) / up) + n * np.log(up) - epsilon * x
        above = stats.binom.logsf(k, n, U * math.exp(-epsilon) / down)
        above += n * np.log(down) + epsilon * x
    return np.maximum(np.logaddexp(below, above), -1e9)


def price(x, y, epsilon):
    """Return d_ε(x, y)."""
    theta = math.log(x * (1 - y) / ((1 - x) * y)) if 0 < x < 1 else math.copysign(math.inf, x - y)
    theta = min(max(theta, -epsilon), epsilon)
    return theta * x - math.log(1 - y + y * math.exp(theta))


def cheapest(high, low, weight, epsilon):
    """Return the least weight·d⁻(high, u) + d⁺(low, u) between two means."""

    def cost(u):
        return weight * price(high, u, epsilon) + price(low, u, epsilon)

    return optimize.minimize_scalar(
        cost, bounds=(low, high), method="bounded", options={"xatol": 1e-9}
    ).fun


def maximiser(values):
    """Return where a concave row is greatest."""
    i = min(max(int(values.argmax()), 1), U.size - 2)
    a, b, _ = np.polyfit(U[i - 1 : i + 2] - U[i], values[i - 1 : i + 2] - values[i], 2)
    inside = 0 < values.argmax() < U.size - 1
    return U[i] - b / (2 * a) if inside else U[values.argmax()]


def lre(n_arms, epsilon, delta, felt=1.0):
    """Say which arm is released next and of about what size, and get its size and release."""
    logs, pulls = np.zeros((n_arms, U.size)), np.zeros(n_arms, dtype=int)
    arms, enough = range(n_arms), math.log((n_arms - 1) / delta)

    def demand(b):
        return enough + 2 * math.log(max(pulls.max() / (15 * math.sqrt(n_arms - 1) * pulls[b]), 1))

    def lacks(c, b):
        high, low = (maximiser(logs[a]) for a in (c, b))
        if high <= low:
            return demand(b)
        middle = round(-4 * math.log2(high - low))
        used = slice(max(middle - 8, 0), middle + 13)
        of_shares = OF_SHARES * np.where(SHARES == 0, n_arms - 1, 1)
        gap, weight = GAPS[used, None], WEIGHTS[used, None] * of_shares
        u = np.linspace(low, high, 101)[:, None, None]
        above, below = u + SHARES * gap, u - (1 - SHARES) * gap
        terms = np.interp(above, U, logs[c]) - np.interp(u, U, logs[c])
        terms = terms + np.interp(below, U, logs[b]) - np.interp(u, U, logs[b]) + np.log(weight)
        terms[(above > 1) | (below < 0)] = -np.inf
        return demand(b) - float(np.logaddexp.reduce(terms, axis=(1, 2)).min())

    def release(arm, size):
        n, x = yield arm, size
        logs[arm] += density(n, x, epsilon)
        pulls[arm] += n

    for arm in arms:
        yield from release(arm, math.ceil(enough / price(1.0, 0.5, epsilon)))
    contenders = set(arms)
    while True:
        peaks = [maximiser(row) for row in logs]
        best = int(np.argmax(peaks))
        asked = [b for b in arms if b != best and (b in contenders or demand(b) > enough)]
        lacking = {b: x for b in asked if (x := lacks(best, b)) > 0}
        if not lacking:
            return best
        plan, share = {}, {}
        for b, x in lacking.items():
            odds = [
                math.log(p / (1 - p)) if 0 < p < 1 else math.inf for p in (peaks[best], peaks[b])
            ]
            share[b] = felt * min(max((odds[0] - odds[1]) / (2 * epsilon), 0.0), 1.0)
            lead, wanted = len(lacking) ** (0.5 - share[b] / 4), math.inf
            if peaks[best] > peaks[b]:
                gain = cheapest(peaks[best], peaks[b], lead, epsilon)
                wanted = (0.5 * (1 + share[b]) * x + share[b]) / gain
            limits = 0.1 * pulls[b], (1 + 3 * share[b]) * pulls[b]
            plan[b] = math.ceil(min(max(wanted, limits[0]), limits[1]))
        h = max(share.values())
        power = 1 / (0.5 - h / 4)
        aim = sum((pulls[b] + float(size)) ** power for b, size in plan.items()) ** (1 / power)
        rivals = list(lacking)
        if aim - pulls[best] >= 0.1 * pulls[best]:
            most = (1 + 3 * h) * pulls[best]
            yield from release(best, math.ceil(min(aim - pulls[best], most)))
            rivals = [b for b in rivals if lacks(best, b) > 0]
        left = []
        for b in rivals:
            yield from release(b, plan[b])
            if lacks(best, b) > 0:
                left.append(b)
        if not left:
            return best
        contenders, root = {best, *left}, math.isqrt(int(pulls.max()))
        for b in arms:
            if b not in contenders and pulls[b] < root:
                yield from release(b, 2 * root)


def agrees(algorithm, means, seed, felt, monkeypatch):
    """Whether the two choose the same arms on the same releases, sizes within 10 %, and answer."""
    log, made = [], []

    class Logged(ArmLikelihood):
        def __init__(self, epsilon):
            super().__init__(epsilon)
            self.arm = len(made)
            made.append(self)

        def add(self, n, x):
            log.append((self.arm, n, x))
            super().add(n, x)

    monkeypatch.setattr(dplre, "ArmLikelihood", Logged)
    arms = dpb.instances.bernoulli(means)
    decision = algorithm.draw(arms, np.random.default_rng(seed), 10**7, "reference")
    ours = lre(len(means), algorithm.epsilon, algorithm.delta, felt)
    wanted, answer = next(ours), None
    for arm, n, x in log:
        if answer is not None or wanted[0] != arm or abs(n / wanted[1] - 1) > 0.1:
            return False
        try:
            wanted = ours.send((n, x))
        except StopIteration as end:
            answer = end.value
    return answer == decision.recommendation


CASES = [(0.3, 0.05, (0.7, 0.5, 0.4)), (1.0, 0.01, (0.9, 0.6)), (0.1, 0.1, (0.8, 0.3, 0.2, 0.1))]


@pytest.mark.parametrize(("felt", "least", "most"), [(1.0, 12, 15), (0.0, 0, 5)])
def test_the_page_is_enough_to_rebuild_it(felt, least, most, monkeypatch):
    """In 15 runs; where they part, a number is close to a limit: both read tables of likelihoods.

    Control: without the noise share.
    """
    same = [
        agrees(dpb.DPLRE(epsilon, delta), means, seed, felt, monkeypatch)
        for epsilon, delta, means in CASES
        for seed in range(5)
    ]
    assert least <= sum(same) <= most
