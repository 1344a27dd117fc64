"""Inequalities of chapters 1 and 3 that are certified: no grid, and no gap between its points.

Each function has the number that it certifies as an argument, so that a test can ask for too much.
Unbounded parameters are mapped to bounded ones, 1/log(1/β) for β, or handled by an argument in the
docstring. Samples are in [−1, 1], x = 1/(α|μ|) and q(ε) = (e^ε − 1)/ε.
"""

from __future__ import annotations

from flint import arb

from companion.certify import Certificate, at_ends, ball, certify

LOG_2, LOG_4 = arb(2).log(), arb(4).log()


def _inverse_log(beta: str, over: int = 1) -> arb:
    """Return 1/log(over/β)."""
    return 1 / (over / ball(beta)).log()


def _exponential_quotient(epsilon: arb) -> arb:
    """Return q(ε), which rises, as e^ε is convex, from q(0) = 1."""
    return at_ends(lambda e: e.expm1() / e if e > 0 else arb(1), epsilon)


def _over_log(value: float, beta: arb) -> arb:
    """Return log(value − β)/log(1/β), 0 < β < value ≤ 1: it falls from 0 at β = 0."""
    return at_ends(lambda b: (value - b).log() / -b.log() if b > 0 else arb(0), beta)


def _times_log(value: arb) -> arb:
    """Return z·log z, continued by 0 at 0; it falls up to 1/e."""
    if value.lower() > 0:
        return value * value.log()
    small = value.upper() < 0.36
    return at_ends(lambda z: z * z.log() if z > 0 else arb(0), value) if small else arb("nan")


def constant_below(limit: float, beta: str) -> Certificate:
    """Certify that the constant C of the repaired Theorem 3.3 is below a limit, up to some β.

    The right side F(C) of its equation, over C, falls: so C < limit if F(limit) < limit. With
    u = 1/log(4/β), c₀ = max(2, 1 + u·(log 4 + 2·log κ)) and c₁ = 1 + u·(log(2)/2 + log κ), where
    κ = log2(3·limit/u). u·log κ rises with u (`constant_falls`), from 0.
    """

    def left(u: arb) -> arb:
        growth = at_ends(
            lambda v: v * ((3 * limit / v).log() / LOG_2).log() if v > 0 else arb(0), u
        )
        p = 18 * (1 + u * LOG_4 + 2 * growth).max(arb(2))
        q = 48 * (1 + u * LOG_2 / 2 + growth)
        return limit - 8 * q**2 / (4 * q - p)

    return certify(left, [(0, _inverse_log(beta, 4))])


def constant_falls(least: float = 100) -> Certificate:
    """Certify that C falls as β → 0, if it is `least` or more.

    For a fixed C both c₀ and c₁ rise with u·log κ, and the right side with them, as p < 2q. With
    r = 1/log(3C/u) the derivative of u·log κ in u is −log(r·log 2) − r, which is positive where
    r·log(2)·e^r < 1. u is at most 1/log 4.
    """
    return certify(lambda r: 1 - r * LOG_2 * r.exp(), [(0, 1 / (3 * least * LOG_4).log())])


def printed_covers(constant: float, log_w: float, beta: str, printed: float = 2000) -> Certificate:
    """Certify constant·(log(4/β) + log w) < printed·log(1/β) up to some β, for a log w.

    Divided by log(1/β), of which the inverse is a side of the box.
    """
    return certify(
        lambda inverse: printed - constant * (1 + (LOG_4 + log_w) * inverse),
        [(0, _inverse_log(beta))],
    )


def boundary_falls(inside: float = 8) -> Certificate:
    """Certify that log(8n²/β)/n falls for n ≥ 1 and β ≤ 1, and with it log(16n²/β)/n.

    The derivative has the sign of 2 − log(8n²/β), negative if 8 > e²·β/n².
    """
    return certify(lambda beta, inverse: inside - arb(2).exp() * beta * inverse, [(0, 1), (0, 1)])


def six_covers(constant: float, epsilon: str) -> Certificate:
    """Certify e^ε − 1 < constant·ε for 0 < ε up to some ε, and so log(1 + d(e^ε − 1)) as well."""
    return certify(lambda e: constant - _exponential_quotient(e), [(0, epsilon)])


def six_fails(constant: float, epsilon: str) -> Certificate:
    """Certify e^ε − 1 > constant·ε at some ε, and so beyond, as q rises."""
    return certify(lambda e: _exponential_quotient(e) - constant, [(epsilon, epsilon)])


def nas_time(constant: float, beta: str = "1/2") -> Certificate:
    """Certify that at constant·x²·λ samples, λ = log(x/β), NAS surely halts, up to some β.

    It does at n ≥ 18x²·log(4n²/β), as 2α + 1 < 3. With A for the constant this is
    A·λ ≥ 18·(log 4 + 2·log A + 4·log x + log(1/β) + 2·log λ), and 4·log x + log(1/β) ≤ 4λ. Divided
    by λ, of which the inverse is a side of the box: λ ≥ log(1/β).
    """
    log_a = arb(constant).log()
    return certify(
        lambda v: constant - 18 * (4 + v * (LOG_4 + 2 * log_a) - 2 * _times_log(v)),
        [(0, _inverse_log(beta))],
    )


def doubling_time(constant: float, beta: str = "1/2") -> Certificate:
    """Certify that NAS with looks at powers of two surely halts by constant·x²·ℓ samples.

    For x ≥ e and up to some β, with ℓ = log(1/β) + log log x and A for half of the constant. It
    halts at a look n = 2^k ≥ N = A·x²·ℓ if N ≥ 18x²·log(16k²/β); and k ≤ log2(2N). With v = log x,
    v ≥ 1, log2(2N) = (log 2A + 2v + log ℓ)/log 2 ≤ v·(2 + log 2A + log ℓ)/log 2, and
    log(1/β) + 2·log v ≤ 2ℓ − log 2, as log v ≤ ℓ − log 2. Divided by ℓ, of which the inverse z is
    a side of the box; z·log(2 + log 2A − log z) rises from 0, as 2 + log 2A − log z > 2.
    """
    half = arb(constant) / 2
    base = 2 + (2 * half).log()
    extra = 3 * LOG_2 - 2 * LOG_2.log()  # log 16 − log 2 − 2·log log 2

    def left(z: arb) -> arb:
        inner = at_ends(lambda y: y * (base - y.log()).log() if y > 0 else arb(0), z)
        return half - 18 * (2 + z * extra + 2 * inner)

    return certify(left, [(0, _inverse_log(beta))])


def logarithm_bounded(power: float = 1) -> Certificate:
    """Certify −log(1 − u) < u + power·u² for 0 < |u| ≤ 1/2, divided by u².

    (−log(1 − u) − u)/u² = Σ u^k/(k + 2). What 40 terms leave out is below 2^(−38)/42.
    """

    def left(u: arb) -> arb:
        total = arb(0)
        for k in reversed(range(40)):
            total = total * u + arb(1) / (k + 2)
        return power - (total + arb(0, 2.0**-38 / 42))

    return certify(left, [("-1/2", "1/2")])


def dagum_constant(inverse: float) -> Certificate:
    """Certify that 1/(32·log 2), the smaller constant of the proof, exceeds 1/inverse."""
    return certify(lambda log_2: inverse - 32 * log_2, [(LOG_2, LOG_2)])


def expected_needed(inverse: float) -> Certificate:
    """Certify that a private rule's expected samples exceed log(1/β)/(inverse·ε·α|μ|), every ε.

    On every law of mean μ, for β < 1/4. With x = d(1 − e^(−ε)) ≤ 1/2 the rate is −log(1 − x), at
    most 2·log 2·x, as −log(1 − x)/x rises; and x ≤ 2α|μ|·ε. The bound is log(1/β)/8 over the rate.
    """
    return certify(lambda log_2: 1 / (32 * log_2) - 1 / ball(inverse), [(LOG_2, LOG_2)])


def median_needed(inverse: float, beta: str) -> Certificate:
    """Certify that the median samples exceed log(1/β)/(inverse·ε·α|μ|), every ε, up to some β.

    As above, the private bound times εα|μ| is log((1/2 − β)/β)/(4·log 2) or more.
    """
    return certify(lambda b: (1 + _over_log(0.5, b)) / (4 * LOG_2) - 1 / ball(inverse), [(0, beta)])


def _share(beta: arb) -> arb:
    """Return (1 − 2β)·log((1 − β)/β)/log(1/β), 1 at β = 0."""
    return (1 - 2 * beta) * (1 + _over_log(1, beta))


def both_needed(inverse: float) -> Certificate:
    """Certify Corollary 3.6's sum over `inverse`, for |μ| ≤ 1/2 on two points and β < 1/4.

    KL ≤ (4/3)·(2α|μ|)², by χ², so that the bound without privacy is 3s/16 of the first term or
    more, s the share (1 − 2β)·log((1 − β)/β)/log(1/β); and 3s/8·ε of the second, as α|μ| ≤ 1/2.
    As d ≤ α|μ| the private bound is 1/(8·q(ε)) of the second. What is at least a of one term and b
    of another is at least 1/(1/a + 1/b) of their sum. Up to ε = 1; beyond, b ≥ 3s/8, its value
    there.
    """

    def left(beta: arb, epsilon: arb) -> arb:
        share = _share(beta)
        b = (1 / (8 * _exponential_quotient(epsilon))).max(3 * share / 8 * epsilon)
        return 1 / (16 / (3 * share) + 1 / b) - 1 / ball(inverse)

    return certify(left, [(0, "1/4"), (0, 1)])


# ------------------------------------------------------------------ chapter 3, Lemma 4.2


def pulls_in_order(constant: float) -> Certificate:
    """Certify the closed form of Lemma 4.2 below constant·(log(K/β) + log λ)·(1/Δ² + 1/(εΔ)).

    For λ = log(1/Δ) ≥ 1 and every K ≥ 2, β < 1 and ε. With κ = log2(2/Δ) ≥ e(a) it is enough that
    (512/3)·log(8Kκ²/β) + 2κΔ² stays below constant·(log(K/β) + log λ): the private term has 32 for
    512/3 and 4 for 8. The quotient falls in log(K/β), as κ > λ; so log 2 may stand for that. 2κΔ²
    falls in λ and is below 0.67. With v = 1/(log 2 + log λ), a side of the box, and w = 1/λ, which
    is 2·e^(−1/v), log κ = 1/v − log 2 + log(1 + w·log 2) − log log 2.
    """

    def left(v: arb) -> arb:
        w = at_ends(lambda y: 2 * (-1 / y).exp() if y > 0 else arb(0), v)
        rest = 2 * LOG_2 + 2 * (1 + w * LOG_2).log() - 2 * LOG_2.log()
        return constant - (arb(512) / 3 * (2 + v * rest) + ball("0.67") * v)

    return certify(left, [(0, 1 / LOG_2)])


def last_line_covers(sampling: float = 1024, privacy: float = 96) -> Certificate:
    """Certify the closed form below log(x)·(sampling/Δ² + privacy/(εΔ)), for β ≤ 1/2.

    x = K·log(2/Δ)/β ≥ 4·log 2, for every K ≥ 2, Δ ≤ 1 and ε. As e(a) ≤ log2(2/Δ) and β/K ≤ 1/4,
    8K·e(a)²/β ≤ 2·(x/log 2)², and 4K·e(a)²/β half of that; 2e(a)Δ² ≤ 2, as Δ²·log2(2/Δ) rises up
    to Δ = 1. Both differences are divided by log x, of which the inverse is the side of the box.
    """

    def left(z: arb) -> arb:
        twice = 2 - 2 * z * LOG_2.log()  # log((x/log 2)²)/log x
        first = sampling - arb(512) / 3 * (twice + z * LOG_2) - 2 * z
        return first.min(privacy - 32 * twice)

    return certify(left, [(0, 1 / (4 * LOG_2).log())])
