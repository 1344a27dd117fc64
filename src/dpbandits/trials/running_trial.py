"""A running group-sequential trial: looks, releases, decisions, and estimates."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpbandits._arrays import Rng
from dpbandits._validation import (
    check_choice,
    check_flag,
    check_fraction,
    check_generator,
    check_integer,
    check_kind,
    check_values,
    shown,
)
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.mechanisms import DiscreteLaplace
from dpbandits.trials.group_estimates import GroupEstimate, estimate_difference
from dpbandits.trials.group_sequential import MOST_RELEASED, GroupSequential

__all__ = ["TrialLook", "RunningTrial"]

_FORMAT = "dpbandits group-sequential trial, 1"
_ARMS = ("treatment", "control")
_EVENTS = ("deaths", "survivors")
_OVER = ("efficacy", "harm", "none")  # futility is not binding: the trial may continue


class TrialLook(NamedTuple):
    """Releases and decision of one look: all that may be disclosed.

    Attributes
    ----------
    number : int
        The look k, from 1.
    treatment : int
        Released successes among the look's patients of the treatment arm, noise included; it may be
        below 0 or above the number of patients.
    control : int
        Those of the control arm.
    treatment_sum : int
        Sum of the treatment's releases up to this look.
    control_sum : int
        Sum of the control's.
    score : float
        The score Z of the sums.
    bound : float
        Boundary of the score at this look.
    decision : str
        "continue", "efficacy", "harm", "futility" or "none".

    Examples
    --------
    >>> import dpbandits as dpb
    >>> design = dpb.GroupSequential(per_look=167, critical=2.1647, epsilon=1.0)
    >>> seen = dpb.RunningTrial(design, [(154, 143)]).looks[0]
    >>> seen.number, round(seen.score, 2), seen.decision
    (1, 1.82, 'continue')
    """

    number: int
    treatment: int
    control: int
    treatment_sum: int
    control_sum: int
    score: float
    bound: float
    decision: str


class RunningTrial:
    """A trial on your own counts, look by look; it stores releases, and never a true count.

    Parameters
    ----------
    design : GroupSequential
        The design, fixed before the first patient.
    releases : sequence of pairs of int, optional
        Releases of earlier looks: treatment and control.
    events : {"deaths", "survivors"}, optional
        Kind of events that the hospital counts, for the command line; `look` takes successes.
    assumed : pair of float, optional
        Shares of success assumed in the plan: treatment and control. They show which arm is which.
    level : float, optional
        Level of the interval that matches the plan's test.
    rehearsal : bool
        Whether the noise of an earlier look can be repeated, so that nothing is private.

    Raises
    ------
    ValueError
        If the releases are not those of such a trial, or another argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> trial = dpb.RunningTrial(dpb.GroupSequential(per_look=167, critical=2.1647, epsilon=1.0))
    >>> seen = trial.look(1, (156, 167), (142, 167), np.random.default_rng(1))
    >>> seen.number, len(trial.looks)
    (1, 1)
    >>> trial.look(1, (156, 167), (142, 167))
    Traceback (most recent call last):
    ...
    ValueError: look=1 is released and cannot be changed; allowed: 2
    """

    def __init__(
        self,
        design: GroupSequential,
        releases: Sequence[Sequence[int]] = (),
        *,
        events: str | None = None,
        assumed: tuple[float, float] | None = None,
        level: float | None = None,
        rehearsal: bool = False,
    ) -> None:
        check_kind("design", design, GroupSequential, "GroupSequential(161, 2.13, epsilon=1)")
        self._design = design
        self._events = None if events is None else check_choice("events", events, _EVENTS)
        self._level = None if level is None else check_fraction("level", level)
        self._rehearsal = check_flag("rehearsal", rehearsal)
        self._assumed: tuple[float, float] | None = None
        if assumed is not None:
            shares = check_values("assumed", assumed, 0.0, 1.0)
            if shares.shape != (2,):
                raise ValueError(f"assumed={assumed!r} is not a pair; allowed: two shares")
            self._assumed = (float(shares[0]), float(shares[1]))
        self._releases: list[tuple[int, int]] = []
        if isinstance(releases, str | bytes | Mapping) or not isinstance(releases, Iterable):
            raise ValueError(
                f"releases={shown(releases)} are not pairs; allowed: pairs of whole numbers"
            )
        for number, each in enumerate(releases, 1):
            if self.decision in _OVER:
                ended = number - 1
                raise ValueError(
                    f"releases has {len(releases)} looks, but the trial ended at look {ended}; "
                    f"allowed: {ended}"
                )
            if not isinstance(each, Sequence | np.ndarray) or len(each) != 2:
                raise ValueError(
                    f"releases={shown(each)} is not a pair; allowed: two whole numbers"
                )
            one, other = (
                check_integer("releases", value, -MOST_RELEASED, MOST_RELEASED) for value in each
            )
            self._releases.append((one, other))

    @property
    def design(self) -> GroupSequential:
        """The design."""
        return self._design

    @property
    def events(self) -> str | None:
        """Kind of events that the hospital counts, if set in the plan."""
        return self._events

    @property
    def assumed(self) -> tuple[float, float] | None:
        """Shares of success of treatment and control assumed in the plan, if known."""
        return self._assumed

    @property
    def level(self) -> float:
        """Level of the intervals that match the plan's test; 0.9 if the plan is unknown."""
        return 0.9 if self._level is None else self._level

    @property
    def rehearsal(self) -> bool:
        """Whether a look had repeatable noise, so that nothing is private."""
        return self._rehearsal

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Promised privacy of all releases: that of the design, or none in a rehearsal."""
        return NO_PRIVACY if self._rehearsal else self._design.guarantee

    @property
    def releases(self) -> tuple[tuple[int, int], ...]:
        """Released successes of treatment and control at each look so far."""
        return tuple(self._releases)

    @property
    def looks(self) -> tuple[TrialLook, ...]:
        """Releases and decision of each look so far."""
        found, one, other = [], 0, 0
        for number, (treatment, control) in enumerate(self._releases, 1):
            one, other = one + treatment, other + control
            score = self._design.score(number, one, other).item()
            bound = float(self._design.bounds[number - 1])
            decision = self._design.decide(number, one, other)
            found.append(TrialLook(number, treatment, control, one, other, score, bound, decision))
        return tuple(found)

    @property
    def decision(self) -> str:
        """Decision of the last look; "continue" before the first."""
        return self.looks[-1].decision if self._releases else "continue"

    def look(
        self,
        number: int,
        treatment: tuple[int, int],
        control: tuple[int, int],
        rng: Rng | None = None,
    ) -> TrialLook:
        """Release the counts of one look, with noise, and decide.

        A look that is repeated, skipped, after the end, or of another size than planned raises an
        error, and nothing is released. A decision for futility does not end the trial: it is not
        binding.

        Parameters
        ----------
        number : int
            Number of the look: one more than the looks so far.
        treatment : tuple of int
            Successes, and patients, of the treatment arm in this look alone.
        control : tuple of int
            The same of the control arm.
        rng : numpy.random.Generator, optional
            Source of the noise, for rehearsals: anyone who knows its seed can subtract the noise,
            and the trial is marked as a rehearsal from then on. By default noise comes from the
            operating system's secure generator.

        Returns
        -------
        TrialLook
            Releases and decision.

        Raises
        ------
        ValueError
            If the look is rejected.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> trial = dpb.RunningTrial(dpb.GroupSequential(per_look=50, critical=2.2, epsilon=1.0))
        >>> trial.look(1, (46, 51), (40, 50))
        Traceback (most recent call last):
        ...
        ValueError: treatment=(46, 51) has 51 patients; allowed: the 50 of a look
        """
        if rng is not None:
            check_generator("rng", rng)
        self._check_number(number)
        counts = [
            self._checked(name, pair)
            for name, pair in (("treatment", treatment), ("control", control))
        ]
        one, other = DiscreteLaplace(self._design.epsilon).release(counts, rng)
        self._releases.append((one, other))
        self._rehearsal = self._rehearsal or rng is not None
        return self.looks[-1]

    def _check_number(self, number: int) -> None:
        done = len(self._releases)
        number = check_integer("look", number, 1)
        if number <= done:
            following = "none, the trial ended" if self.decision in _OVER else f"{done + 1}"
            raise ValueError(
                f"look={number} is released and cannot be changed; allowed: {following}"
            )
        if self.decision in _OVER:
            raise ValueError(
                f"look={number} comes after the end ({self.decision} at look {done}); allowed: none"
            )
        if number > done + 1:
            raise ValueError(f"look={number} leaves out look {done + 1}; allowed: {done + 1}")

    def _checked(self, name: str, pair: tuple[int, int]) -> int:
        if not isinstance(pair, Sequence) or len(pair) != 2:
            raise ValueError(f"{name}={pair!r} is not a pair; allowed: successes and patients")
        planned = self._design.per_look
        patients = check_integer(name, pair[1], 0)
        if patients != planned:
            raise ValueError(
                f"{name}={pair!r} has {patients} patients; allowed: the {planned} of a look"
            )
        return check_integer(name, pair[0], 0, planned)

    def estimate(self, level: float | None = None) -> GroupEstimate:
        """Estimate the difference after the last look, from the releases alone.

        Parameters
        ----------
        level : float, optional
            Probability with which an interval should contain the difference; by default that of the
            trial.

        Returns
        -------
        GroupEstimate
            Estimates, intervals, and a p-value.

        Raises
        ------
        ValueError
            If there was no look, or `level` is out of range.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> design = dpb.GroupSequential(per_look=167, critical=2.1647, epsilon=1.0)
        >>> found = dpb.RunningTrial(design, [(154, 143), (157, 145)]).estimate()
        >>> round(found.median, 3), round(found.low, 3), round(found.high, 3)
        (0.063, 0.016, 0.104)
        """
        if not self._releases:
            raise ValueError("look is missing; allowed: an estimate after one look or more")
        last = self.looks[-1]
        sums = last.treatment_sum, last.control_sum
        level = self.level if level is None else level
        return estimate_difference(self._design, last.number, *sums, level)

    def to_json(self) -> str:
        """Return the state of the trial as text: its design and its releases.

        Returns
        -------
        str
            The text for `from_json`. It contains neither true counts nor noise.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> design = dpb.GroupSequential(per_look=167, critical=2.1647, epsilon=1.0)
        >>> trial = dpb.RunningTrial(design, [(154, 143)])
        >>> dpb.RunningTrial.from_json(trial.to_json()).releases
        ((154, 143),)
        """
        design = dataclasses.asdict(self._design)
        if math.isinf(self._design.epsilon):
            design["epsilon"] = "inf"
        arms = None if self._assumed is None else dict(zip(_ARMS, self._assumed, strict=True))
        state = {
            "format": _FORMAT,
            "design": design,
            "order of the arms": _ARMS,
            "events": self._events,
            "assumed shares of success": arms,
            "level": self._level,
            **({"rehearsal": True} if self._rehearsal else {}),
            "releases": self._releases,
        }
        return json.dumps(state, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> RunningTrial:
        """Read the state of a trial.

        Parameters
        ----------
        text : str
            Text returned by `to_json`.

        Returns
        -------
        RunningTrial
            The trial.

        Raises
        ------
        ValueError
            If the text is not such a state.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> dpb.RunningTrial.from_json("{}")
        Traceback (most recent call last):
        ...
        ValueError: state cannot be read; allowed: the text written by the first look or the plan
        """
        allowed = "the text written by the first look or the plan"
        try:
            state: Any = json.loads(text)
            if state["format"] != _FORMAT:
                raise KeyError
            fields, releases = dict(state["design"]), list(state["releases"])
            endless = fields["epsilon"] == "inf"
            events, level = state.get("events"), state.get("level")
            rehearsal = state.get("rehearsal", False)
            arms = state.get("assumed shares of success")
            assumed = None if arms is None else (arms[_ARMS[0]], arms[_ARMS[1]])
        except (KeyError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(f"state cannot be read; allowed: {allowed}") from error
        if endless:
            fields["epsilon"] = math.inf
        try:
            design = GroupSequential(**fields)
        except TypeError as error:  # a wrong or missing name
            raise ValueError(f"state cannot be read; allowed: {allowed}") from error
        settings = {"events": events, "assumed": assumed, "level": level, "rehearsal": rehearsal}
        return cls(design, releases, **settings)
