"""Privacy guarantees of algorithms, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from dpbandits._validation import check_choice, check_kind, check_range
from dpbandits.configuration import Budget, Configuration, Count, checked_arguments

_BELOW_1 = math.nextafter(1.0, 0.0)
Delta = Annotated[float, partial(check_range, low=0.0, high=_BELOW_1, allowed="[0, 1)")]
"""A δ in [0, 1)."""


@dataclass(frozen=True)
class PrivacyGuarantee(Configuration):
    """A declared privacy guarantee of an algorithm's whole output sequence.

    It refers to real numbers. For outputs that are floats with noise, such as the sums of a counter
    or a private mean, the last bits violate it (:prf:ref:`prop-last-bits`); for pulls no such
    violation is known, and integer noise is private as computed
    (`dpbandits.mechanisms.DiscreteLaplace`).

    Attributes
    ----------
    model : {"central", "local"}
        Trust model: the algorithm sees raw rewards ("central"), or only noisy ones ("local").
    epsilon : float
        Bound ε > 0 on the log ratio of output probabilities on neighbouring reward streams;
        ``inf`` means that nothing is promised.
    delta : float
        Probability mass outside that bound, in [0, 1); 0 is pure differential privacy.
    unit : {"event"}
        Unit of protection. "event": one reward, at one time step.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> guarantee = dpb.DPSE(epsilon=0.5).guarantee
    >>> guarantee
    PrivacyGuarantee(model='central', epsilon=0.5, delta=0.0, unit='event')
    >>> print(guarantee), dpb.UCB().guarantee.is_private
    ε = 0.5, central, event level
    (None, False)
    """

    model: Annotated[str, partial(check_choice, choices=("central", "local"))]
    epsilon: Budget
    delta: Delta = 0.0
    unit: Literal["event"] = "event"

    @property
    def is_private(self) -> bool:
        """Whether any privacy is promised."""
        return math.isfinite(self.epsilon)

    def __str__(self) -> str:
        if not self.is_private:
            return "none"
        budget = f"ε = {self.epsilon:g}"
        if self.delta:
            budget = f"({budget}, δ = {self.delta:g})"
        return f"{budget}, {self.model}, {self.unit} level"


NO_PRIVACY = PrivacyGuarantee("central", math.inf)
"""The guarantee of a non-private algorithm: none."""


def check_guarantee(guarantee: object) -> None:
    """Raise if not None or a guarantee.

    Parameters
    ----------
    guarantee : object
        The value of an argument of that name.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if guarantee is not None:
        example = 'PrivacyGuarantee("central", 1.0)'
        check_kind("guarantee", guarantee, PrivacyGuarantee, example)


class Guaranteed:
    """Base of the classes that declare a guarantee.

    Examples
    --------
    >>> Guaranteed().guarantee.is_private, str(Guaranteed().guarantee_at(16))
    (False, 'none')
    """

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Promised privacy of the whole output."""
        return NO_PRIVACY

    @checked_arguments
    def guarantee_at(self, horizon: Count) -> PrivacyGuarantee:
        """Return the guarantee of runs of a given length.

        Parameters
        ----------
        horizon : int
            Number of pulls, or of elements of a stream.

        Returns
        -------
        PrivacyGuarantee
            The guarantee; here the one that holds for every length.
        """
        return self.guarantee


class Labelled(Guaranteed):
    """Base of the three kinds of algorithms: each concrete class has a label and a source.

    A class is concrete if it defines all abstract methods, unless it is defined with the keyword
    ``abstract=True``, as a base that only subclasses complete.

    Raises
    ------
    ValueError
        When a concrete class is defined whose `label` or `source` is missing or empty.

    Examples
    --------
    >>> class Base(Labelled, abstract=True):
    ...     source = "an example"
    >>> class Nameless(Base):
    ...     pass
    Traceback (most recent call last):
    ...
    ValueError: class Nameless has no label; allowed: label = "...", or abstract=True for a base \
of other classes
    """

    label: ClassVar[str]
    """Name in tables and figures."""
    source: ClassVar[str]
    """Paper and number."""

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any) -> None:
        """Check the label and the source of a concrete class."""
        super().__init_subclass__(**options)
        # the set of abstract methods is not computed yet
        methods = (getattr(cls, name, None) for name in dir(cls))
        if abstract or any(getattr(each, "__isabstractmethod__", False) for each in methods):
            return
        for name in ("label", "source"):
            if not getattr(cls, name, ""):
                raise ValueError(
                    f'class {cls.__name__} has no {name}; allowed: {name} = "...", or '
                    "abstract=True for a base of other classes"
                )
