"""Inequalities proved by a computer, with ball arithmetic and bisection.

A function that is evaluated on a ball, by Arb (Johansson 2017, here from python-flint), returns a
ball that contains all its values there. If that ball is above zero, the function is positive on the
whole input ball, and not only at the points of a grid. If not, the box is cut in two.

>>> from flint import arb
>>> certify(lambda x: 3.41 * x.log() - (4.17 * x**2).log(), [(2.78, 100)]).margin > 0
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context
from fractions import Fraction
from typing import Any

from flint import arb, ctx

__all__ = ["Certificate", "NotCertifiedError", "at_ends", "attempt", "ball", "certify", "hull"]

BITS = 96
"""Precision of the arithmetic; a ball that is wide has its width from the box, not from here."""

MOST_BOXES = 20_000
DEEPEST = 48
"""How often a side is halved before what is left counts as a point."""

Side = tuple[arb, arb]


@dataclass(frozen=True)
class Certificate:
    """An inequality proved by `certify`: the function is at least `margin` on the whole box.

    Attributes
    ----------
    boxes : int
        Number of boxes into which the given one was cut.
    margin : float
        A positive number below all values of the function, at least half the least of them.

    Examples
    --------
    >>> certify(lambda x: 2 + x, [(-1, 1)]).evidence("2 + x > 0")
    {'certified: 2 + x > 0': '2 boxes, least margin 0.999'}
    """

    boxes: int
    margin: float

    def evidence(self, what: str) -> dict[str, str]:
        """Return the certificate as evidence of a claim, keyed by the inequality.

        Parameters
        ----------
        what : str
            The inequality, in words or symbols.

        Returns
        -------
        dict
            The number of boxes and the margin, rounded down to three digits, keyed by the
            inequality.
        """
        shown = Context(prec=3, rounding=ROUND_DOWN).create_decimal_from_float(self.margin)
        boxes = f"{self.boxes} box{'es' if self.boxes > 1 else ''}"
        return {f"certified: {what}": f"{boxes}, least margin {float(shown):g}"}


class NotCertifiedError(ValueError):
    """An inequality was not proved; `box` has the ends of the sides where the proof failed.

    Examples
    --------
    >>> error = NotCertifiedError("is false", [(0.0, 1.0)])
    >>> error.box, str(error)
    ([(0.0, 1.0)], 'is false on the box [0, 1]')
    """

    def __init__(self, what: str, box: Sequence[tuple[float, float]]) -> None:
        self.box = list(box)
        sides = " × ".join(f"[{low:.12g}, {high:.12g}]" for low, high in self.box)
        super().__init__(f"{what} on the box {sides}")


def ball(number: Any) -> arb:
    """Return a ball around a number; a text such as ``"0.08"`` or ``"1/3"`` is read exactly.

    Parameters
    ----------
    number : float, int, str, Fraction or arb
        The number.

    Returns
    -------
    arb
        A ball that contains the number; a point if the number is a float.

    Examples
    --------
    >>> ball("1/5").contains(ball(0.2)), ball("1/4").contains(ball(0.25))
    (False, True)
    """
    if isinstance(number, str | Fraction):
        exact = Fraction(number)
        with ctx.workprec(BITS):
            return arb(exact.numerator) / arb(exact.denominator)
    return arb(number)


def hull(*values: arb) -> arb:
    """Return a ball that contains the given balls.

    Parameters
    ----------
    *values : arb
        Balls.

    Returns
    -------
    arb
        A ball that covers them.

    Examples
    --------
    >>> hull(ball(1), ball(3)).contains(ball(2))
    True
    """
    covering, *others = values
    for value in others:
        covering = covering.union(value)
    return covering


def at_ends(function: Callable[[arb], arb], values: arb) -> arb:
    """Evaluate a monotone function on a ball by its values at the two ends.

    This gives narrower balls than the formula, and works at an end where the formula is undefined
    but the function has a limit. The caller must know that the function is monotone.

    Parameters
    ----------
    function : callable
        A monotone function of a ball; it is called with points.
    values : arb
        A ball.

    Returns
    -------
    arb
        A ball that contains the function's values.

    Examples
    --------
    >>> whole = at_ends(lambda x: (-x).exp(), ball(1).union(ball(2)))
    >>> bool(whole < 0.4), bool(whole > 0.1)
    (True, True)
    """
    return hull(function(values.lower()), function(values.upper()))


def certify(f: Callable[..., arb], box: Sequence[tuple[Any, Any]]) -> Certificate:
    """Prove that a function is positive on a box, by cutting the box until every part is positive.

    Parameters
    ----------
    f : callable
        Takes a ball for each side of the box, and returns a ball that contains all the function's
        values there, as arithmetic on `flint.arb` does. Where the function is undefined, such as
        the logarithm of a ball around zero, it may return a ball that is not finite.
    box : sequence of pairs
        Ends of each side, as `ball` takes them; two equal ends for a point.

    Returns
    -------
    Certificate
        The number of boxes, and a lower bound on all values.

    Raises
    ------
    NotCertifiedError
        If the function is certainly not positive at a point; if it touches zero, or comes so close
        that even the smallest boxes are undecided; or if too many boxes are undecided.
    ValueError
        If the box has no side, or one with its ends in the wrong order.

    Examples
    --------
    >>> certify(lambda x, y: 3 + x - y, [(-1, 1), (0, 1)]).margin >= 0.5
    True
    >>> certify(lambda x: x - 1, [(0, 3)])
    Traceback (most recent call last):
    companion.certify.NotCertifiedError: the inequality is false, at 0.75, on the box [0, 1.5]
    """
    sides = [(ball(low), ball(high)) for low, high in box]
    if not sides or not all(low.mid() <= high.mid() for low, high in sides):
        raise ValueError(f"box={box!r} is empty; allowed: pairs of a low and a high end")
    with ctx.workprec(BITS):
        return _bisect(f, sides)


def attempt(what: str, prove: Callable[[], Certificate]) -> dict[str, str]:
    """Return a certificate as evidence, or an empty dictionary if the proof fails.

    Parameters
    ----------
    what : str
        The inequality, in words or symbols.
    prove : callable
        Calls `certify`.

    Returns
    -------
    dict
        The evidence of the certificate; empty if there is none.

    Examples
    --------
    >>> attempt("x > 1", lambda: certify(lambda x: x - 1, [(0, 3)]))
    {}
    """
    try:
        return prove().evidence(what)
    except NotCertifiedError:
        return {}


def _bisect(f: Callable[..., arb], sides: list[Side]) -> Certificate:
    """Cut boxes, depth first; one counts once its bound is above half the least value seen."""
    waiting = [(sides, (0,) * len(sides))]
    least = seen = math.inf
    boxes = 0
    while waiting:
        part, cuts = waiting.pop()
        value, middle = f(*(hull(*side) for side in part)), [_middle(*side) for side in part]
        there = f(*middle)
        if there.is_finite():
            if there <= 0:
                what = "is false" if there < 0 else "touches zero"
                where = ", ".join(f"{float(x):.12g}" for x in middle)
                raise NotCertifiedError(f"the inequality {what}, at {where},", _ends(part))
            seen = min(seen, float(there.upper()))
        bound = _below(value)
        if bound > 0 and bound >= seen / 2:
            boxes += 1
            least = min(least, bound)
            continue
        wide = [i for i, (low, high) in enumerate(part) if low.mid() < high.mid()]
        side = min(wide, key=cuts.__getitem__, default=0)
        if not wide or cuts[side] >= DEEPEST or boxes + len(waiting) > MOST_BOXES:
            raise NotCertifiedError(
                "the inequality touches zero, or comes too near to it to tell,", _ends(part)
            )
        deeper = (*cuts[:side], cuts[side] + 1, *cuts[side + 1 :])
        (low, high), cut = part[side], middle[side]
        for half in ((cut, high), (low, cut)):
            waiting.append(([*part[:side], half, *part[side + 1 :]], deeper))
    return Certificate(boxes, least)


def _middle(low: arb, high: arb) -> arb:
    """Return a point between two ends."""
    return ((low + high) / 2).mid()


def _ends(part: Sequence[Side]) -> list[tuple[float, float]]:
    return [(float(low.mid()), float(high.mid())) for low, high in part]


def _below(value: arb) -> float:
    """Return a float below all of a ball; minus infinity where it is not finite."""
    return math.nextafter(float(value.lower().mid()), -math.inf) if value.is_finite() else -math.inf
