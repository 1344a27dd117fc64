"""Base of DP-TT, AdaP-TT and AdaP-TT*: Top Two with decisions from released batches."""

from __future__ import annotations

from dpbandits._arrays import Rng
from dpbandits.configuration import Budget, Fraction
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.mechanisms import laplace

__all__ = ["BatchedTopTwo"]


class BatchedTopTwo(IdentificationAlgorithm):
    """Base of the algorithms that play a batch of each arm, then a leader against a challenger.

    Arm a is released when its pulls reach the next number of a grid: the sum of its rewards since
    the last release plus one Laplace variable. In an arm's L-th round as leader it is played if it
    was played in fewer than `leader_share`·L of these rounds, and otherwise the challenger is.
    Leader, challenger and the stopping rule, which is checked after each release, depend only on
    the released values.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> issubclass(dpb.DPTT, BatchedTopTwo), dpb.AdaPTT(1.0, 0.1).guarantee.epsilon
    (True, 1.0)
    """

    # fields of the subclasses
    epsilon: Budget
    leader_share: Fraction | None

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of pulls, stopping time and recommendation.

        Every reward is in one batch, which is released once, with one Lap(1/ε); everything else
        depends only on the released values. Proof: :prf:ref:`thm-dptt-private`.
        """
        return PrivacyGuarantee("central", self.epsilon)

    def release(self, total: float, rng: Rng) -> float:
        """Return the release of a batch: the sum of its rewards plus one Lap(1/ε).

        Parameters
        ----------
        total : float
            Sum of the rewards.
        rng : numpy.random.Generator
            Source of the noise.

        Returns
        -------
        float
            The released sum.

        Examples
        --------
        >>> import numpy as np
        >>> import dpbandits as dpb
        >>> dpb.DPTT(float("inf"), 0.1).release(7.0, np.random.default_rng(0))
        7.0
        """
        return total + laplace(rng, 1.0 / self.epsilon)
