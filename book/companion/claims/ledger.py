"""The ledger's types: a claim, what its check found, and the four verdicts.

"Cannot be told from the text" stands for two cases; the reason says which: the text does not say
what it would take to judge the claim, or neither a proof of it nor a counterexample is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from dpbandits._validation import check_choice

__all__ = ["CANNOT_TELL", "CONDITION", "FAILS", "HOLDS", "VERDICTS", "Claim", "Finding", "decide"]

HOLDS = "holds"
CONDITION = "holds with a condition"
FAILS = "does not hold"
CANNOT_TELL = "cannot be told from the text"
VERDICTS = (HOLDS, CONDITION, FAILS, CANNOT_TELL)

Evidence = Mapping[str, float | int | str]


@dataclass(frozen=True)
class Finding:
    """What the check of a claim found.

    Attributes
    ----------
    verdict : str
        One of `VERDICTS`.
    reason : str
        One or two sentences: the condition, the counterexample, or what was checked.
    evidence : mapping of str to number or str
        The numbers that the verdict rests on, by name.
    """

    verdict: str
    reason: str
    evidence: Evidence = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("verdict", self.verdict, VERDICTS)


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and the function that judges it.

    Attributes
    ----------
    id : str
        Stable name, by which a verdict can be cited.
    paper : str
        Key of the paper in the bibliography.
    place : str
        Where the paper says it.
    statement : str
        What it says, in our words.
    check : callable
        Computes the `Finding`; called once, when it is first asked for.
    needs : tuple of str
        Names of results of the chapter's experiments that `check` takes, in this order; such a
        claim is judged where they are computed, by ``claims.judge`` in the chapter.

    Examples
    --------
    >>> claim = Claim("demo", "none", "§1", "1 + 1 = 2", lambda: Finding(decide(1 + 1 == 2), "sum"))
    >>> claim.verdict
    'holds'
    """

    id: str
    paper: str
    place: str
    statement: str
    check: Callable[..., Finding] = field(repr=False)
    needs: tuple[str, ...] = ()

    @cached_property
    def finding(self) -> Finding:
        """What the check found."""
        if self.needs:
            raise ValueError(
                f"claim {self.id} is judged from runs of its chapter, {', '.join(self.needs)}; "
                "execute the chapter, or use `given`"
            )
        return self.check()

    def given(self, results: Mapping[str, Any]) -> Claim:
        """Return the claim with the results that it needs.

        Raises
        ------
        ValueError
            If one of them is missing.
        """
        for name in self.needs:
            if name not in results:
                raise ValueError(f"results lack {name!r}, which the claim {self.id} needs")
        if not self.needs:
            return self
        check = partial(self.check, *(results[name] for name in self.needs))
        return replace(self, check=check, needs=())

    @property
    def verdict(self) -> str:
        """The check's verdict, one of `VERDICTS`."""
        return self.finding.verdict

    @property
    def evidence(self) -> Evidence:
        """The numbers that the verdict rests on."""
        return self.finding.evidence


def decide(passed: bool, verdict: str = HOLDS, otherwise: str = FAILS) -> str:
    """Return `verdict` if everything that it rests on was found to be so, else `otherwise`."""
    return verdict if passed else otherwise
