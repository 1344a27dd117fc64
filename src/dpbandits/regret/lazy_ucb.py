"""Upper confidence bounds on lazy batches: Hu, Huang & Mehta (2021), Azize & Basu (2022)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

from dpbandits import bounds
from dpbandits.configuration import Budget, between
from dpbandits.regret.lazy_batches import KL, UCB, LazyBatches, LazyRule

__all__ = ["AdaPKLUCB", "AdaPUCB", "AnytimeLazyUCB"]


@dataclass(frozen=True)
class AnytimeLazyUCB(LazyBatches):
    """Anytime-Lazy-UCB: Hu, Huang & Mehta (2021), reconstructed.

    Arms are played in batches that grow by 1 + η (`LazyBatches`). With n the size of an arm's last
    batch and x its released mean, the arm with the largest

        x + √(α·log t/n) + α·log t/(εn)

    is played for its next batch; ties go to the lowest arm number.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    alpha : float
        α from 1.001 to 100; 3 by default.
    eta : float
        Growth η of the batches, from 0.05 to 100; 1 by default, which doubles.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Notes
    -----
    We have no text of the paper at hand: batches and index are reconstructed. The index of an arm
    is below its mean with probability at most t^(−2α) + t^(−α)/2 at a given release and time, and
    `lazy_ucb_regret` needs no more than α > 1.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.AnytimeLazyUCB(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, 2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "Lazy-UCB"
    source: ClassVar[str] = "Hu, Huang & Mehta 2021; reconstructed"

    epsilon: Budget
    alpha: Annotated[float, between(1.001, 100.0)] = 3.0
    eta: Annotated[float, between(0.05, 100.0)] = 1.0

    @property
    def rule(self) -> LazyRule:
        """The algorithm, for the compiled loop."""
        return self._rule(UCB, self.alpha, self.alpha)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        arguments = {"epsilon": self.epsilon, "sampling": self.alpha, "noise": self.alpha}
        return partial(bounds.lazy_ucb_regret, instance.means, horizon, eta=self.eta, **arguments)


@dataclass(frozen=True)
class AdaPUCB(LazyBatches):
    """AdaP-UCB: Azize & Basu (2022), reconstructed.

    Arms are played in batches that grow by 1 + η (`LazyBatches`). With n the size of an arm's last
    batch and x its released mean, the arm with the largest

        x + √(α·log t/(2n)) + α·log t/(εn)

    is played for its next batch; ties go to the lowest arm number.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    alpha : float
        α from 1.001 to 100; 3.1 by default, as the paper asks for α > 3.
    eta : float
        Growth η of the batches, from 0.05 to 100; 1 by default, which doubles.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Notes
    -----
    We have no text of the paper at hand: batches and index are reconstructed. The index of an arm
    is below its mean with probability at most 1.5·t^(−α) at a given release and time, and
    `lazy_ucb_regret` needs no more than α > 1.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.AdaPUCB(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "AdaP-UCB"
    source: ClassVar[str] = "Azize & Basu 2022; reconstructed"

    epsilon: Budget
    alpha: Annotated[float, between(1.001, 100.0)] = 3.1
    eta: Annotated[float, between(0.05, 100.0)] = 1.0

    @property
    def rule(self) -> LazyRule:
        """The algorithm, for the compiled loop."""
        return self._rule(UCB, 0.5 * self.alpha, self.alpha)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        arguments = {"epsilon": self.epsilon, "sampling": 0.5 * self.alpha, "noise": self.alpha}
        return partial(bounds.lazy_ucb_regret, instance.means, horizon, eta=self.eta, **arguments)


@dataclass(frozen=True)
class AdaPKLUCB(LazyBatches):
    """AdaP-KLUCB: Azize & Basu (2022), reconstructed.

    As `AdaPUCB`, with the index

        max {q in [0, 1] : n·kl(y, q) ≤ α·log t},   y = x + α·log t/(εn), moved into [0, 1].

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    alpha : float
        α from 1.001 to 100; 3.1 by default, as the paper asks for α > 3.
    eta : float
        Growth η of the batches, from 0.05 to 100; 1 by default, which doubles.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Notes
    -----
    We have no text of the paper at hand: batches and index are reconstructed. The index of an arm
    is below its mean with probability at most 1.5·t^(−α) at a given release and time, and
    `adap_klucb_regret` needs no more than α > 1.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.AdaPKLUCB(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "AdaP-KLUCB"
    source: ClassVar[str] = "Azize & Basu 2022; reconstructed"

    epsilon: Budget
    alpha: Annotated[float, between(1.001, 100.0)] = 3.1
    eta: Annotated[float, between(0.05, 100.0)] = 1.0

    @property
    def rule(self) -> LazyRule:
        """The algorithm, for the compiled loop."""
        return self._rule(KL, self.alpha)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        arguments = {"epsilon": self.epsilon, "alpha": self.alpha, "eta": self.eta}
        return partial(bounds.adap_klucb_regret, instance.means, horizon, **arguments)
