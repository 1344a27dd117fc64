"""What an algorithm promises about privacy, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpbandits._validation import check_choice, check_number, check_positive

__all__ = ["NO_PRIVACY", "PrivacyGuarantee"]


@dataclass(frozen=True)
class PrivacyGuarantee:
    """A declared privacy guarantee of an algorithm's whole output sequence.

    Attributes
    ----------
    model : {"global", "local"}
        Who is trusted: the algorithm sees raw rewards ("global"), or only noised ones ("local").
    epsilon : float
        Bound on the log ratio of output probabilities on neighbouring reward streams;
        ``inf`` means that nothing is promised.
    delta : float
        Probability mass outside that bound; 0 is pure differential privacy.
    unit : {"event"}
        What is protected. "event": one reward, at one time step.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> dpb.PrivacyGuarantee("global", epsilon=0.5).is_pure
    True
    """

    model: str
    epsilon: float
    delta: float = 0.0
    unit: str = "event"

    def __post_init__(self) -> None:
        check_choice("model", self.model, ("global", "local"))
        check_choice("unit", self.unit, ("event",))
        check_positive("epsilon", self.epsilon, infinite=True)
        if not 0 <= check_number("delta", self.delta, "[0, 1)") < 1:
            raise ValueError(f"delta={self.delta!r} is out of range; allowed: [0, 1)")

    @property
    def is_private(self) -> bool:
        """Whether anything is promised."""
        return math.isfinite(self.epsilon)

    @property
    def is_pure(self) -> bool:
        """Whether the guarantee is pure ε-differential privacy (δ = 0)."""
        return self.is_private and self.delta == 0

    def __str__(self) -> str:
        if not self.is_private:
            return "none"
        budget = f"ε = {self.epsilon:g}"
        if self.delta:
            budget = f"({budget}, δ = {self.delta:g})"
        return f"{budget}, {self.model}, {self.unit} level"


NO_PRIVACY = PrivacyGuarantee("global", math.inf)
"""The guarantee of a non-private algorithm: none."""
