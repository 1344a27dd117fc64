"""Lazy-DP-TS: Hu & Hegde (2022)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dpbandits import bounds
from dpbandits.configuration import Budget, between
from dpbandits.regret.lazy_batches import RACE, SAMPLE, LazyBatches, LazyRule, Released, posteriors

__all__ = ["LazyDPTS"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LazyDPTS(LazyBatches):
    """Lazy-DP-TS: Hu & Hegde (2022), reconstructed.

    Batches grow by 1 + η (`LazyBatches`), and estimates rest on an arm's last batch, of size n,
    with released mean x. At each pull each arm draws

        θ from Normal(y, 1/n),   y = x + α·log t/(εn), moved into [0, 1],

    and the arm with the largest θ is pulled. t is the number of the pull after the latest release
    of any arm: between two releases posteriors stay, while the open batches of all arms fill.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    alpha : float
        α from 1.001 to 100; 3 by default.
    eta : float
        Growth η of the batches, from 0.05 to 100; 1 by default, which doubles.
    draws : {"pulls", "batches"}
        "pulls": as above. "batches": θ is drawn at releases alone, and the arm with the largest is
        played for its next batch, as the other algorithms of this frame do.

    Raises
    ------
    ValueError
        If a number is out of its range, or `draws` unknown.

    Notes
    -----
    We have no text of the paper at hand: batches, posteriors and the two readings are
    reconstructed. With one draw a batch the regret grows like a power of the horizon: each time
    that the best arm's θ is low another arm doubles its batch, and after m times in a row, which
    for a low estimate has a probability not far from 2^(−m), some 2^m pulls are lost.

    The simulation goes from release to release at once (`dpbandits.regret.lazy_sampling`). Its law
    is exact but for the quadrature of the probabilities of the arms, to about 10⁻¹⁰.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.LazyDPTS(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "Lazy-DP-TS"
    source: ClassVar[str] = "Hu & Hegde 2022; reconstructed"

    epsilon: Budget
    alpha: Annotated[float, between(1.001, 100.0)] = 3.0
    eta: Annotated[float, between(0.05, 100.0)] = 1.0
    draws: Literal["pulls", "batches"] = "pulls"

    @property
    def rule(self) -> LazyRule:
        """The algorithm, for the compiled loop."""
        return self._rule(RACE if self.draws == "pulls" else SAMPLE, self.alpha)

    def posteriors(self, released: Released, t: int) -> tuple[Floats, Floats]:
        """Return centres and standard deviations of the posteriors before pull t, shape (K,) each.

        Parameters
        ----------
        released : Released
            What the algorithm knows.
        t : int
            Number of the next pull.
        """
        centres, deviations = posteriors(released, t, self.alpha, self.epsilon)
        return centres, deviations

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        if self.draws == "batches":
            return partial(bounds.worst_regret, instance.gaps, horizon)
        arguments = {"epsilon": self.epsilon, "alpha": self.alpha, "eta": self.eta}
        return partial(bounds.lazy_dp_ts_regret, instance.means, horizon, **arguments)
