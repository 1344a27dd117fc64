"""DP-KLUCB and DP-IMED: Azize, Wu, Honda, Orabona, Ito & Basu (2025)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

from dpbandits import bounds
from dpbandits.configuration import Budget, Flag, between
from dpbandits.regret.lazy_batches import CALIBRATED, EVIDENCE, LazyBatches, LazyRule

__all__ = ["DPIMED", "DPKLUCB"]


@dataclass(frozen=True)
class DPKLUCB(LazyBatches):
    """DP-KLUCB: Azize, Wu, Honda, Orabona, Ito & Basu (2025), reconstructed.

    An arm is released when its pulls reach the next number of the grid ⌈(1 + η)^j⌉; released sums
    accumulate (`LazyBatches`). With x the released mean of n rewards and k Laplace variables, the
    arm with the largest

        max {q in [0, 1] : n·d̃⁺(x, q, k/n) ≤ log t + ξ·log(1 + log t)}

    is played for its next batch; ties go to the lowest arm number. d̃⁺ is the Chernoff rate of such
    a mean (`calibrated_plus`), which tends to d_ε as k/n → 0.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    eta : float
        Growth η of the grid, from 0.05 to 100; 0.5 by default.
    slack : float
        ξ from 0 to 100; 2 by default.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Notes
    -----
    We have no text of the paper at hand: it has d_ε in its index, and lower-order terms that we
    have replaced by the exact Chernoff rate. The index of an arm is below its mean with
    probability at most 1/(t·(1 + log t)^ξ) at a given release and time.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.DPKLUCB(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "DP-KLUCB"
    source: ClassVar[str] = "Azize et al. 2025; reconstructed"
    forgets: ClassVar[bool] = False

    epsilon: Budget
    eta: Annotated[float, between(0.05, 100.0)] = 0.5
    slack: Annotated[float, between(0.0, 100.0)] = 2.0

    @property
    def rule(self) -> LazyRule:
        """The algorithm, for the compiled loop."""
        return self._rule(CALIBRATED, self.slack)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        arguments = {"epsilon": self.epsilon, "eta": self.eta, "slack": self.slack}
        return partial(bounds.dp_klucb_regret, instance.means, horizon, **arguments)


@dataclass(frozen=True)
class DPIMED(LazyBatches):
    """DP-IMED: Azize, Wu, Honda, Orabona, Ito & Basu (2025), reconstructed.

    Batches and estimates as in `DPKLUCB`. With y the released mean of an arm's n rewards and k
    Laplace variables, moved into [0, 1], the arm with the least

        n·d̃⁺(y, max y, k/n) + log n

    is played for its next batch; ties go to the lowest arm number.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    eta : float
        Growth η of the grid, from 0.05 to 100; 0.5 by default.
    calibrated : bool
        Whether the evidence is d̃⁺, the Chernoff rate of such an estimate, or its limit d_ε.

    Raises
    ------
    ValueError
        If `epsilon` or `eta` is out of its range, or `calibrated` not True or False.

    Notes
    -----
    We have no text of the paper at hand. Two things that it may do otherwise:

    - The means are moved into [0, 1]. A noise of −z in a mean has probability about e^(−εnz) and
      would, without that, keep the arm from being played for about e^(εnz) pulls, whatever z is.
    - The evidence is calibrated. With d_ε the regret has the same limit, but a constant term that
      grows fast as ε falls: of n rewards with k ≈ log n noises, d_ε counts one noise only.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.DPIMED(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "DP-IMED"
    source: ClassVar[str] = "Azize et al. 2025; reconstructed"
    forgets: ClassVar[bool] = False

    epsilon: Budget
    eta: Annotated[float, between(0.05, 100.0)] = 0.5
    calibrated: Flag = True

    @property
    def rule(self) -> LazyRule:
        """The algorithm, for the compiled loop."""
        return self._rule(EVIDENCE, self.calibrated)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        arguments: dict[str, Any] = {"epsilon": self.epsilon, "eta": self.eta}
        arguments["calibrated"] = self.calibrated
        return partial(bounds.dp_imed_regret, instance.means, horizon, **arguments)
