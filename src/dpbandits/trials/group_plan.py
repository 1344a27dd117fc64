"""Sizing a group-sequential trial: the least number of patients with level and power."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from tqdm import tqdm

from dpbandits._validation import check_values
from dpbandits.configuration import (
    Budget,
    Flag,
    Fraction,
    Number,
    checked_arguments,
    whole,
)
from dpbandits.trials.group_sequential import (
    _MOST_LOOKS,
    Boundary,
    GroupSequential,
    Operating,
    _normal_crossing,
    boundary_shape,
    normal_critical,
)

__all__ = ["GroupSequentialPlan", "plan_group_sequential", "usual_shares"]

_STEPS = 1000  # of the constant of the boundary, per unit
_MOST_PER_LOOK = 10**5
_NAMES = {"pocock": "Pocock", "obrien-fleming": "O'Brien–Fleming"}
_ROW = "{:22} {:>9} {:>11} {:>9}  {}".format


@dataclass(frozen=True)
class GroupSequentialPlan:
    """A sized group-sequential trial, and its ends; `plan_group_sequential` makes it.

    Attributes
    ----------
    design : GroupSequential
        The design: patients of a look, boundary, budget.
    treatment : float
        Assumed share of success in the treatment arm.
    control : float
        Share in the control arm.
    alpha : float
        Level: allowed probability of finding a difference if there is none.
    wanted : float
        Required power.
    shares : tuple of float
        Common shares of success at which the level was checked.
    error : float
        Largest error at these shares; with `certified` a bound for all shares between the smallest
        and the largest of them.
    certified : bool
        Whether the error is bounded between the shares as well.
    effect : Operating
        Ends of trials under the assumed shares.
    half : Operating
        Under half the assumed difference.
    none : Operating
        Under no difference, both arms as the control.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> p = dpb.plan_group_sequential(0.9, 0.7, epsilon=1.0, looks=2)
    >>> p.error <= 0.05, p.effect.power >= 0.9, p.half.power < p.effect.power
    (True, True, True)
    """

    design: GroupSequential
    treatment: float
    control: float
    alpha: float
    wanted: float
    shares: tuple[float, ...]
    error: float
    certified: bool
    effect: Operating
    half: Operating
    none: Operating

    @property
    def interval_level(self) -> float:
        """Level of the interval that matches the test: 1 − 2·alpha for one side, else 1 − alpha."""
        return round(1.0 - (2.0 if self.design.sides == 1 else 1.0) * self.alpha, 12)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values.

        Returns
        -------
        dict
            Ready for JSON.
        """
        design = self.design
        return {
            **dataclasses.asdict(design),
            "bounds": design.bounds.tolist(),
            "treatment": self.treatment,
            "control": self.control,
            "alpha": self.alpha,
            "error": self.error,
            "error_holds": "between the shares" if self.certified else "at the shares",
            "shares": list(self.shares),
            "patients_at_most": design.patients,
            **{
                name: {
                    "power": found.power,
                    "patients": found.patients,
                    "efficacy": list(found.efficacy),
                    "harm": list(found.harm),
                    "futility": list(found.futility),
                }
                for name, found in self._cases().items()
            },
        }

    def _cases(self) -> dict[str, Operating]:
        return {"effect": self.effect, "half_effect": self.half, "no_effect": self.none}

    def __str__(self) -> str:
        design, sides = self.design, "one" if self.design.sides == 1 else "two"
        looks = "1 look" if design.looks == 1 else f"{design.looks} looks"
        shares = ", ".join(f"{share:.4g}" for share in self.shares)
        if self.certified:
            shares = f"every common share from {min(self.shares):.4g} to {max(self.shares):.4g}"
        bounds = ", ".join(f"{bound:.3f}" for bound in design.bounds)
        lines = [
            f"{_NAMES[design.boundary]}, {looks}, {sides}-sided {self.alpha:.3g}; "
            f"ε = {design.epsilon:g}",
            f"assumed shares of success: treatment {self.treatment:.4g}, "
            f"control {self.control:.4g}",
            f"patients of each arm in a look: {design.per_look}; of both arms at most: "
            f"{design.patients:,}",
            f"boundary of the score: {bounds}",
        ]
        if design.futility is not None:
            lines.append(f"futility, not binding: a score of at most {design.futility:g}")
        lines += [
            f"error at most {self.error:.4f}, at {shares}",
            "",
            _ROW("treatment, control", "found", "patients", "", "last look is 1, 2, …"),
        ]
        both = {
            "effect": (self.treatment, self.control),
            "half_effect": (0.5 * (self.treatment + self.control), self.control),
            "no_effect": (self.control, self.control),
        }
        for name, found in self._cases().items():
            stops = " ".join(f"{p:.1%}" for p in found.stops)
            label = "{:.4g}, {:.4g}".format(*both[name])
            lines.append(_ROW(label, f"{found.power:.1%}", f"{found.patients:,.0f}", "", stops))
        lines += ["", "found: probability that the treatment is found better; patients: on average"]
        return "\n".join(line.rstrip() for line in lines)


def usual_shares(treatment: float, control: float) -> tuple[float, ...]:
    """Return six common shares, from half the odds of the smaller to twice the larger."""
    logs = sorted(math.log(p / (1.0 - p)) for p in (treatment, control))
    low, high = logs[0] - math.log(2.0), logs[1] + math.log(2.0)
    return tuple(1.0 / (1.0 + math.exp(-(low + (high - low) * i / 5))) for i in range(6))


@checked_arguments
def plan_group_sequential(
    treatment: Fraction,
    control: Fraction,
    *,
    epsilon: Budget = math.inf,
    alpha: Fraction = 0.05,
    power: Fraction = 0.9,
    looks: Annotated[int, whole(1, _MOST_LOOKS)] = 5,
    boundary: Boundary = "pocock",
    sides: Annotated[int, whole(1, 2)] = 1,
    futility: Number | None = None,
    shares: Sequence[float] | None = None,
    certified: Flag = True,
) -> GroupSequentialPlan:
    """Size a group-sequential trial: its boundary for the level, its patients for the power.

    The constant of the boundary is the least multiple of 0.001 found with an error of at most
    `alpha` at each of the shares and, unless `certified` is off, everywhere between them. The
    number of patients of a look is the least found with enough power: with one fewer in each arm
    the power is too small.

    Parameters
    ----------
    treatment : float
        Assumed share of success in the treatment arm, larger than the control's.
    control : float
        Assumed share in the control arm.
    epsilon : float
        Privacy budget ε > 0 of each patient's outcome; ``inf`` without privacy.
    alpha : float
        Level: allowed probability of finding a difference if there is none, below ½.
    power : float
        Required probability of finding the treatment better, above `alpha`.
    looks : int
        Number K of looks, at most 50; 1 is a fixed design.
    boundary : {"pocock", "obrien-fleming"}
        Shape of the boundary.
    sides : int
        1: stop for efficacy. 2: for harm as well.
    futility : float, optional
        Score that stops for futility before the last look. The level does not rely on it; the power
        is reduced by it.
    shares : sequence of float, optional
        Common shares of success at which the level must hold; by default six, from half the odds of
        the smaller assumed share to twice those of the larger, and the assumed shares and their
        mean.
    certified : bool
        Whether the level must also hold between the smallest and the largest of them, by proof:
        :prf:ref:`prop-group-certified`. Without it, a design with many patients is found a few
        times faster.

    Returns
    -------
    GroupSequentialPlan
        The design, and its ends; printed, it is a report.

    Raises
    ------
    ValueError
        If no design has the power.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> p = dpb.plan_group_sequential(0.9, 0.7, epsilon=1.0, looks=2)
    >>> print(str(p).splitlines()[0])
    Pocock, 2 looks, one-sided 0.05; ε = 1
    """
    if not treatment > control:
        raise ValueError(f"treatment={treatment!r} is not greater; allowed: above {control!r}")
    if not alpha < 0.5:
        raise ValueError(f"alpha={alpha!r} is out of range; allowed: below ½")
    if not power > alpha:
        raise ValueError(f"power={power!r} is out of range; allowed: above alpha={alpha!r}")
    least, most = math.nextafter(0.0, 1.0), math.nextafter(1.0, 0.0)
    half = 0.5 * (treatment + control)
    usual = sorted({*usual_shares(treatment, control), control, half, treatment})
    chosen = usual if shares is None else shares
    asked = tuple(check_values("shares", chosen, least, most).ravel().tolist())
    if not asked:
        raise ValueError(f"shares={shares!r} is empty; allowed: one share or more")
    certified = certified and min(asked) < max(asked)  # one share needs no proof between
    constant = normal_critical(looks, alpha, boundary, sides)
    # futility waits until the boundary is known: it is not part of the level
    start = GroupSequential(1, constant, epsilon, looks, boundary, sides)
    with tqdm(desc="sizing", unit="law", disable=None, leave=False) as progress:
        search = _Search(start, treatment, control, alpha, power, futility, progress)
        design = search.find(asked, alpha)
        error = max(design.error(share) for share in asked)
        if certified:
            low, high = min(asked), max(asked)
            level, proved = alpha, {design: design.error_bound(low, high)}
            while (error := proved[design]) > alpha:
                level -= 1.05 * (error - alpha)
                design = search.find(asked, level, design.per_look)
                if design not in proved:  # a slightly lower level often leads to the same design
                    proved[design] = design.error_bound(low, high)
    ends = (design.operating(p, control) for p in (treatment, half, control))
    return GroupSequentialPlan(
        design, treatment, control, alpha, power, asked, error, certified, *ends
    )


class _Search:
    """The search for the smallest design, with cached results."""

    def __init__(
        self,
        start: GroupSequential,
        treatment: float,
        control: float,
        alpha: float,
        power: float,
        futility: float | None,
        progress: Any,
    ) -> None:
        self.progress = progress
        self.start, self.alpha, self.power, self.futility = start, alpha, power, futility
        self.treatment, self.control = treatment, control
        self.steps = round(start.critical * _STEPS)
        self.worst = control
        self.errors: dict[tuple[int, int, float], float] = {}

    def design(self, per_look: int, steps: int) -> GroupSequential:
        """Return the design with a constant of `steps` steps, without futility."""
        critical = steps / _STEPS
        return dataclasses.replace(self.start, per_look=per_look, critical=critical)

    def reached(self, per_look: int, steps: int) -> float:
        """Return the power, futility included."""
        self.progress.update()
        design = dataclasses.replace(self.design(per_look, steps), futility=self.futility)
        return design.operating(self.treatment, self.control).power

    def least_steps(self, per_look: int, share: float, level: float, start: int) -> int:
        """Return the least constant whose error at a share is at most the level.

        The error decreases in the constant. The search starts with secants and ends with bisection.
        """
        below, above, steps = 0, 0, start  # above = 0: none is known
        slope, last = -2.2 * level / _STEPS, (0, 0.0)  # approximately that of a normal tail
        for tried in itertools.count():
            excess = self.error(per_look, steps, share) - level
            if excess > 0.0:
                below = max(below, steps)
            else:
                above = min(above or steps, steps)
            if above and above - below <= 1:
                return above
            if tried and excess != last[1]:
                slope = min((excess - last[1]) / (steps - last[0]), 0.3 * slope)
            last = steps, excess
            steps -= math.floor(excess / slope) if excess <= 0.0 else math.ceil(excess / slope)
            if above and (tried > 3 or not below < steps < above):
                steps = (below + above) // 2
            steps = max(steps, below + 1)
        raise AssertionError

    def error(self, per_look: int, steps: int, share: float) -> float:
        """Return the error at a share, cached."""
        if (per_look, steps, share) not in self.errors:
            self.progress.update()
            found = self.design(per_look, steps).error(share)
            self.errors[per_look, steps, share] = found
        return self.errors[per_look, steps, share]

    def calibrated(self, per_look: int, shares: Sequence[float], level: float) -> int:
        """Return the least constant whose error is at most the level at all of the shares."""
        steps, is_least = self.steps, False
        while True:
            worst = max(shares, key=lambda p: self.error(per_look, steps, p))
            if is_least and self.error(per_look, steps, worst) <= level:
                self.steps, self.worst = steps, worst
                return steps
            steps, is_least = self.least_steps(per_look, worst, level, steps), True

    def find(self, shares: Sequence[float], level: float, per_look: int = 0) -> GroupSequential:
        """Return the design with the least number of patients that has level and power."""
        per_look = per_look or self._normal_size()
        steps = self.calibrated(per_look, shares, level)
        per_look = _least(lambda m: self.reached(m, steps) >= self.power, per_look)
        while True:
            steps = self.calibrated(per_look, shares, level)
            if self.reached(per_look, steps) >= self.power:
                break
            per_look += 1
        while per_look > 1:
            # a single share gives a constant that is no larger, and a power that is no smaller
            fewer = self.least_steps(per_look - 1, self.worst, level, steps)
            if self.reached(per_look - 1, fewer) < self.power:
                break
            fewer = self.calibrated(per_look - 1, shares, level)
            if self.reached(per_look - 1, fewer) < self.power:
                break
            per_look, steps = per_look - 1, fewer
        return dataclasses.replace(self.design(per_look, steps), futility=self.futility)

    def _normal_size(self) -> int:
        """Return the patients of a look that normal sums would need: (m·Δ)² = t²(m·σ² + v)."""
        from scipy import optimize  # slow to import, used only here

        start = self.start
        bounds = normal_critical(start.looks, self.alpha, start.boundary, start.sides)
        shape = bounds * boundary_shape(start.looks, start.boundary)
        # a drift of this size hardly ever crosses on the side of harm
        t = optimize.brentq(lambda d: _normal_crossing(shape, 1, d) - self.power, 0.0, 40.0)
        spread = sum(p * (1.0 - p) for p in (self.treatment, self.control))
        gap, v = self.treatment - self.control, start.noise_variance
        root = math.sqrt((t * t * spread) ** 2 + 4.0 * gap * gap * t * t * v)
        size: int = math.ceil((t * t * spread + root) / (2.0 * gap * gap))
        if size > _MOST_PER_LOOK:
            allowed = f"shares that need at most {_MOST_PER_LOOK} patients of an arm in a look"
            raise ValueError(
                f"treatment={self.treatment!r} needs {size} patients; allowed: {allowed}"
            )
        return size


def _least(suffices: Callable[[int], bool], start: int) -> int:
    """Return a number that suffices while its predecessor does not, near a start."""
    width = max(1, start // 64)
    if suffices(start):
        low, high = start - width, start
        while low > 0 and suffices(low):
            width *= 2
            low, high = low - width, low
        low = max(low, 0)
    else:
        low, high = start, start + width
        while not suffices(high):
            width *= 2
            low, high = high, high + width
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high
