"""Heavy-tailed rewards: private means, epochs and widths, and errors of means.

Laws of such rewards are in `dpbandits.rewards.heavy_laws`, the algorithms in `dpbandits.regret`,
and theorems on them in `dpbandits.bounds`.
"""
