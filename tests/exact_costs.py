"""Divergences and transportation costs in high precision, each value with its certificate.

A minimum is certified by weak duality: the value at some point of the primal problem is an upper
bound, the value at some point of the dual problem a lower one, whatever the points are and
wherever they come from. Both are evaluated with 150 digits, from the definitions.
"""

from __future__ import annotations

import math

import mpmath as mp

mp.mp.dps = 150
CLOSE = mp.mpf(10) ** -25  # what two bounds on a divergence may differ by, relative


def log_moment(tilt, u):
    """Return log(1 − u + u·e^λ)."""
    if u == 0:
        return mp.mpf(0)
    return tilt + mp.log(u + (1 - u) * mp.exp(-tilt))


def entropy(z, u):
    """Return kl(z, u), by its definition."""
    if not 0 <= z <= 1:
        return mp.inf
    total = mp.mpf(0)
    for share, law in ((z, u), (1 - z, 1 - u)):
        if share > 0:
            total += share * mp.log(share / law) if law > 0 else mp.inf
    return total


def tilted(tilt, u):
    """Return the mean of Bernoulli(u) under the tilt."""
    return u / (u + (1 - u) * mp.exp(-tilt)) if u > 0 else mp.mpf(0)


def polished(x, u, ratio, epsilon, t):
    """Return the maximising λ/ε of d̃⁻(x, u, r), by Newton's method in a bracket, from some t."""
    rate, low, high = 2 * ratio / epsilon, mp.mpf(0), mp.mpf(1)
    for _ in range(400):
        p, room = tilted(epsilon * t, u), (1 - t) * (1 + t)
        excess = x - p - rate * t / room
        low, high = (t, high) if excess > 0 else (low, t)
        new = t + excess / (epsilon * p * (1 - p) + rate * (1 + t * t) / room**2)
        if not low < new < high:
            new = mp.sqrt(low * high) if low > 0 and high < 0.5 else (low + high) / 2
        if abs(new - t) <= CLOSE * min(t, 1 - t):
            return new
        t = new
    raise AssertionError(f"no maximum found: {x}, {u}, {ratio}, {epsilon}")


def calibrated(x, u, ratio, epsilon, t=None):
    """Return d̃⁻(x, u, r) (d⁻ if r = 0) from both sides, and its λ/ε; `t` is where to start.

    The upper bound gives the rewards a mean z and the noise the rest x − z: at the price ε(x − z)
    without noise, else r·(2t²/(1 − t²) + log(1 − t²)) where 2rt/(ε(1 − t²)) = x − z.
    """
    x, u, ratio, penalty = mp.mpf(x), mp.mpf(u), mp.mpf(ratio), 0
    if u >= x:
        return mp.mpf(0), mp.mpf(0)
    if math.isinf(epsilon):
        return entropy(x, u), None
    epsilon = mp.mpf(epsilon)
    if ratio > 0:
        t = polished(x, u, ratio, epsilon, mp.mpf(t))
        room = (1 - t) * (1 + t)
        z, penalty = x - 2 * ratio / epsilon * t / room, ratio * mp.log(room)
        z, price = (z if u > 0 else mp.mpf(0)), 2 * ratio * t * t / room + penalty
    else:
        t, z = mp.mpf(1), tilted(epsilon, u)
        if z > x:
            t, z = mp.log(x * (1 - u) / (u * (1 - x))) / epsilon, x
        price = epsilon * (x - z)
    upper = entropy(z, u) + price
    lower = epsilon * t * x - log_moment(epsilon * t, u) + penalty
    assert abs(upper - lower) <= CLOSE * upper, (x, u, ratio, epsilon)
    return lower, t


def dual_cost(problem, tilt_a, tilt_b):
    """Return a lower bound on W̃: the least, over u, of the saddle function at two tilts λ/ε.

    Both −log(1 − u + u·e^λ_a) and −log(1 − u + u·e^−λ_b) are convex in u; with α = 1/(e^λ − 1)
    their slopes are −1/(u + α_a) and 1/(1 − u + α_b), so that the minimiser solves a linear
    equation.
    """
    mean_a, mean_b, weight_a, weight_b, ratio_a, ratio_b, epsilon = problem
    u = mp.mpf(1 if tilt_a > 0 else 0)
    if tilt_a > 0 and tilt_b > 0:
        offset_a, offset_b = 1 / mp.expm1(epsilon * tilt_a), 1 / mp.expm1(epsilon * tilt_b)
        u = (weight_a * (1 + offset_b) - weight_b * offset_a) / (weight_a + weight_b)
        u = min(max(u, mp.mpf(0)), mp.mpf(1))
    total = mp.mpf(0)
    for x, at, weight, ratio, t in (
        (mean_a, u, weight_a, ratio_a, tilt_a),
        (1 - mean_b, 1 - u, weight_b, ratio_b, tilt_b),
    ):
        penalty = ratio * mp.log(1 - t**2) if ratio > 0 else 0
        total += weight * (epsilon * t * x - log_moment(epsilon * t, at) + penalty)
    return total


def moved(x, u, ratio, epsilon, t):
    """Return what the rewards take of x − u, how it falls as u grows, less 1, and λ/ε."""
    t = calibrated(x, u, ratio, epsilon, t)[1]
    p = tilted(epsilon * t, u)
    variance = p * (1 - p)
    if ratio > 0:
        slope = 2 * ratio / epsilon**2 * (1 + t * t) / ((1 - t) * (1 + t)) ** 2
        share = variance / (variance + slope)
    else:
        share = mp.mpf(1 if t < 1 else 0)
    return p - u, (p - u) + variance * share / (p - u), t


def minimiser(problem, u, tilt_a, tilt_b):
    """Return a point near the minimiser u, by Newton's method from one; as good as it happens."""
    mean_a, mean_b, weight_a, weight_b, ratio_a, ratio_b, epsilon = problem
    low, high = max(mean_b, mp.mpf(0)), min(mean_a, mp.mpf(1))
    tiny = mp.mpf(10) ** -30 * (high - low)
    y = min(max(u - low, tiny), high - low - tiny)
    for _ in range(60):
        u = low + y
        pull_a, slope_a, tilt_a = moved(mean_a, u, ratio_a, epsilon, tilt_a)
        pull_b, slope_b, tilt_b = moved(1 - mean_b, 1 - u, ratio_b, epsilon, tilt_b)
        excess = mp.log(weight_b * pull_b / (weight_a * pull_a))
        spread = y * (high - u) / (high - low)
        step = -excess * u * (1 - u) / ((slope_a + slope_b) * spread)  # in log(y/(high − u))
        odds = y / (high - u) * mp.exp(min(max(step, -5), 5))
        y = (high - low) * odds / (1 + odds)
        if abs(step) < mp.mpf(10) ** -20:
            break
    return low + y


def cost_bounds(problem, u, tilt_a=0.5, tilt_b=0.5):
    """Return a lower and an upper bound on W̃ (W if both ratios are 0), for a finite ε.

    The upper one is the cost at u, or near it; the lower one is that of the tilts that are best
    there. An arm without noise whose mean is u = 0 or 1 may have any tilt.
    """
    problem = tuple(map(mp.mpf, problem))
    mean_a, mean_b, weight_a, weight_b, ratio_a, ratio_b, epsilon = problem
    u = mp.mpf(u)
    if u not in (0, 1):
        u = minimiser(problem, u, tilt_a, tilt_b)
    part_a, tilt_a = calibrated(mean_a, u, ratio_a, epsilon, tilt_a)
    part_b, tilt_b = calibrated(1 - mean_b, 1 - u, ratio_b, epsilon, tilt_b)
    if ratio_a == 0 and mean_a == u == 1:
        tilt_a = mp.mpf(1)
    if ratio_b == 0 and mean_b == u == 0:
        tilt_b = mp.mpf(1)
    return dual_cost(problem, tilt_a, tilt_b), weight_a * part_a + weight_b * part_b
