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

__all__ = [
    "CANNOT_TELL",
    "CONDITION",
    "FAILS",
    "HOLDS",
    "VERDICTS",
    "Claim",
    "Evidence",
    "Finding",
    "claim",
    "claims_of",
    "decide",
]

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


Check = Callable[..., Finding]


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and the function that judges it; made by `claim`.

    Attributes
    ----------
    id : str
        Stable name, by which a verdict can be cited; it begins with the paper's key.
    place, statement : str
        Where the paper says it, and what it says, in our words.
    check : callable
        Computes the `Finding`; called once, when it is first asked for.
    at : str
        Label of the place in the chapter where the page speaks of it.
    needs : tuple of str
        Names of results of the chapter's experiments that `check` takes, in this order; such a
        claim is judged where they are computed, by ``claims.judge`` in the chapter.
    """

    id: str
    place: str
    statement: str
    check: Check = field(repr=False)
    at: str = "verdicts"
    needs: tuple[str, ...] = ()

    @property
    def paper(self) -> str:
        """Key of the paper in the bibliography."""
        return self.id.partition("-")[0]

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
        """Return the claim with the results that it needs; ValueError if one is missing."""
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


_MADE: dict[str, list[Claim]] = {}


def claim(
    id: str, place: str, statement: str, at: str = "verdicts", needs: tuple[str, ...] = ()
) -> Callable[[Check], Check]:
    """Enter the decorated check into the ledger, as the one that judges a claim.

    Examples
    --------
    >>> from companion.claims import findings
    >>> @findings.claim("demo-sum", "§1", "1 + 1 = 2.", at="thm-sum")
    ... def addition():
    ...     return findings.Finding(findings.decide(1 + 1 == 2), "Computed.", {"sum": 2})
    >>> (demo,) = findings.claims_of(addition.__module__)
    >>> demo.paper, demo.verdict
    ('demo', 'holds')
    """

    def enter(check: Check) -> Check:
        made = Claim(id, place, statement, check, at, needs)
        _MADE.setdefault(check.__module__, []).append(made)
        return check

    return enter


def claims_of(module: str) -> list[Claim]:
    """Return the claims whose checks stand in a module, in that order."""
    return _MADE[module]


def decide(passed: bool, verdict: str = HOLDS, otherwise: str = FAILS) -> str:
    """Return `verdict` if everything that it rests on was found to be so, else `otherwise`."""
    return verdict if passed else otherwise
