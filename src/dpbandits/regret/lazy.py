"""Base of the lazy-batch algorithms: batches, with one Laplace variable for each.

An arm is pulled in batches whose sizes grow geometrically. At the end of a batch its sum of rewards
is released with a Laplace variable of scale 1/ε, and arms are chosen by released sums alone. Each
reward is in one release, so that the sequence of pulls is ε-private: :prf:ref:`thm-lazy-private`.
Pseudo-code: :prf:ref:`alg-lazy`.

We do not have the texts of Hu, Huang & Mehta (2021), Azize & Basu (2022), Hu & Hegde (2022) and
Azize, Wu, Honda, Orabona, Ito & Basu (2025): batches, indices and posteriors are reconstructed.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from dpbandits._engine.kernels import interpreted
from dpbandits.configuration import Budget, between
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace
from dpbandits.regret.base import RegretAlgorithm

__all__ = ["Alpha", "Eta", "LazyBatches", "draw_laplace"]

Alpha = Annotated[float, between(1.001, 100.0)]
"""Factor α of log t in an index or a posterior."""
Eta = Annotated[float, between(0.05, 100.0)]
"""Growth η of the batches; 1 doubles them."""

draw_laplace = interpreted(laplace)  # the compiled one is slow to accept a generator


class LazyBatches(RegretAlgorithm):
    """Base of the lazy-batch algorithms, with their guarantee.

    A subclass has two fields: `epsilon` is the privacy budget, and `eta` the growth of the batches.
    It first pulls each arm once, in turn, which is the arm's first batch. Then it chooses arms by
    released sums; ties go to the lowest arm number. It does not use the horizon.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> isinstance(dpb.DPIMED(epsilon=2.0), LazyBatches), dpb.DPIMED(epsilon=2.0).guarantee.epsilon
    (True, 2.0)
    """

    releases: ClassVar[bool] = True

    # fields of the subclasses
    epsilon: Budget
    eta: Eta

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls."""
        return PrivacyGuarantee("central", self.epsilon)
