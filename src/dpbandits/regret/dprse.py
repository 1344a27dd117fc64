"""DPRSE: Tao, Wu, Zhao & Wang (2022), Algorithm 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.regret.heavy import HeavyElimination

__all__ = ["DPRSE"]


@dataclass(frozen=True)
class DPRSE(HeavyElimination):
    """DP robust successive elimination: Tao, Wu, Zhao & Wang (2022), Algorithm 3.

    In epoch τ = 1, 2, … every viable arm is pulled R times; rewards beyond B count as 0; the mean
    of the epoch's truncated rewards is released with one Laplace variable of scale 2B/(Rε), and
    an arm is eliminated when its released mean lies too far below the best. R (the paper's R_τ),
    B (B_τ) and the threshold (12·err_τ): `dpbandits.heavy_schedules.heavy_epoch`. u and v are the
    instance's `moment_bound` and `order`.

    One reward enters one epoch's sum of one arm, and changes it by at most 2B: the released means
    of all epochs together are ε-differentially private, and so is the sequence of pulls, which
    they determine. This holds for any rewards, whether or not their moment is as promised.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` gives elimination by truncated means without noise.
    beta : float, optional
        Confidence β in (0, 1). None means 1/T, as in the paper's Theorem 4.
    schedule : {"printed", "tightened"}
        Constants: 24 and 12, or 4c and 2c with c = 3 + √(2ε) + ε/3 ≤ 4.75, which is what the proof
        needs.

    Raises
    ------
    ValueError
        If `epsilon` is not positive, `beta` not in (0, 1) or `schedule` unknown.

    Notes
    -----
    Deviations from the paper: its formulas are lost in our copy, so that the constants 24 and 12
    are inferred, and proved, not quoted. For ε > 1 the lengths and thresholds are those of ε = 1;
    the noise is that of ε. An epoch that the horizon cuts short releases nothing. Horizons go to
    2^62; epochs are planned in Python integers of any size.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> s1 = dpb.instances.twzw22("S1", order=0.9)
    >>> runs = dpb.simulate(dpb.DPRSE(epsilon=1.0), s1, horizon=10**9, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000000, 1000000000]
    """

    label: ClassVar[str] = "DPRSE"
    source: ClassVar[str] = "TWZW22, Algorithm 3"
    model: ClassVar[str] = "global"

    epsilon: float
    beta: float | None = None
    schedule: str = "printed"

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls (Theorem 3)."""
        return PrivacyGuarantee(self.model, self.epsilon)
