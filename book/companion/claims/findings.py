"""Parts of claims: the decorator of their checks, the finding of a check, its evidence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from companion.claims.verdicts import RECONSTRUCTED, VERDICTS
from companion.rounding import AGREED, rounded, rounded_data
from dpbandits._validation import check_choice

__all__ = [
    "OTHERWISE",
    "Claim",
    "Evidence",
    "Finding",
    "claim",
    "claims_of",
    "entries",
    "extremes",
    "finding",
    "shown",
]

Evidence = Mapping[str, float | int | str]


@dataclass(frozen=True)
class Finding:
    """The finding of a claim's check: one of `VERDICTS`, the reason, and the evidence.

    The reason is the condition, the counterexample, or a description of the check. Numbers are
    rounded for publication (`companion.rounding`).
    """

    verdict: str
    reason: str
    evidence: Evidence = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("verdict", self.verdict, VERDICTS)
        object.__setattr__(self, "evidence", rounded_data(dict(self.evidence)))


Check = Callable[..., Finding]


OTHERWISE = (
    "The computation gives another verdict than the one that was explained here; the numbers are "
    "those of the computation."
)
"""The reason where a check comes to a verdict for which nobody has written one."""


def finding(
    verdict: str, reason: str | Mapping[str, str], *evidence: tuple[Any, ...] | Evidence
) -> Finding:
    """Return the finding of a check, with its evidence.

    Parameters
    ----------
    verdict : str
        One of `VERDICTS`.
    reason : str or mapping of str to str
        The reason. Words that do not depend on the computation are keyed by the verdict for which
        they were written, so that no other verdict ever gets them: its reason is `OTHERWISE`.
    evidence
        Pieces of the form (name, value[, digits]), or mappings.

    Examples
    --------
    >>> from companion.claims.verdicts import FAILS, HOLDS
    >>> finding(HOLDS, {HOLDS: "Proved."}).reason
    'Proved.'
    >>> finding(FAILS, {HOLDS: "Proved."}).reason == OTHERWISE
    True
    """
    if isinstance(reason, Mapping):
        reason = reason.get(verdict, OTHERWISE)
    parts = [e if isinstance(e, Mapping) else {e[0]: shown(*e[1:])} for e in evidence]
    return Finding(verdict, reason, {name: value for part in parts for name, value in part.items()})


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and the function that judges it; made by `claim`.

    Attributes
    ----------
    id : str
        Stable name, by which a verdict can be cited; it begins with the paper's key.
    place, statement : str
        The place in the paper, and the statement in our words; formulas are in LaTeX between dollar
        signs (`companion.formulas.as_text` writes them as text).
    check : callable
        Computes the `Finding` when it is first needed.
    at : str
        Label of the section of the chapter that discusses it.
    needs : tuple of str
        Names of the experiments' results that `check` takes, in this order; such a claim is judged
        in the chapter that computes them, by ``claims.judge``.
    reconstructed : bool
        Whether the formula or the parameters are missing from our copy of the paper, so that the
        check judges our reconstruction. It then counts neither for nor against the paper.
    """

    id: str
    place: str
    statement: str
    check: Check = field(repr=False)
    at: str = "verdicts"
    needs: tuple[str, ...] = ()
    reconstructed: bool = False

    @property
    def paper(self) -> str:
        """Key of the paper in the bibliography."""
        return self.id.partition("-")[0]

    @cached_property
    def finding(self) -> Finding:
        """The finding of the check."""
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
    def standing(self) -> str:
        """The category in which the claim is counted: its verdict, or `RECONSTRUCTED`."""
        return RECONSTRUCTED if self.reconstructed else self.verdict

    @property
    def evidence(self) -> Evidence:
        """The numbers on which the verdict is based."""
        return self.finding.evidence


_MADE: dict[str, list[Claim]] = {}


MARK = "(reconstructed) "
"""How a statement begins in which a formula is ours."""


def claim(
    id: str,
    place: str,
    at: str = "verdicts",
    needs: tuple[str, ...] = (),
    reconstructed: bool = False,
) -> Callable[[Check], Check]:
    """Register the decorated check in the ledger as the judge of a claim.

    The parameters are those of `Claim`, and the statement is the first paragraph of the check's
    docstring. If it contains a formula of ours it begins with `MARK`, and the claim is
    reconstructed; other claims are so only if the parameter is set.

    Examples
    --------
    >>> from companion.claims import findings
    >>> @findings.claim("demo-sum", "§1", at="thm-sum")
    ... def addition():
    ...     "1 + 1 = 2."
    ...     return findings.finding("holds", "Computed.", ("sum", 2))
    >>> (demo,) = findings.claims_of(addition.__module__)
    >>> demo.paper, demo.statement, demo.verdict
    ('demo', '1 + 1 = 2.', 'holds')
    """

    def enter(check: Check) -> Check:
        paragraph, _, _ = (inspect.getdoc(check) or "").partition("\n\n")
        statement = " ".join(paragraph.split())
        ours = reconstructed or statement.startswith(MARK)
        made = Claim(id, place, statement, check, at, needs, ours)
        _MADE.setdefault(check.__module__, []).append(made)
        return check

    return enter


def claims_of(module: str) -> list[Claim]:
    """Return the claims whose checks are defined in a module, in order."""
    return _MADE[module]


def shown(value: Any, digits: int | str | None = None) -> Any:
    """Return a number as shown on the page: rounded, to an integer for 0, or formatted by ".3g"."""
    value = rounded(value, AGREED) if isinstance(value, float) else value
    if isinstance(digits, str):
        return float(f"{value:{digits}}")
    return value if digits is None else round(value, digits or None)


def entries(
    name: str, values: Mapping[Any, Any], digits: int | str | None = None
) -> dict[str, Any]:
    """Return evidence with an entry for each key, named by formatting `name` with the key.

    Examples
    --------
    >>> entries("ε = {:g}, {}", {(0.1, "mean"): 2.345, (1.0, "mean"): 0.5}, 1)
    {'ε = 0.1, mean': 2.3, 'ε = 1, mean': 0.5}
    """
    return {
        name.format(*key) if isinstance(key, tuple) else name.format(key): shown(value, digits)
        for key, value in values.items()
    }


def extremes(
    name: str, values: Iterable[Any], digits: int | str | None = None, short: bool = False
) -> dict[str, Any]:
    """Return evidence: the least and the greatest of some numbers, or of each key's numbers.

    Examples
    --------
    >>> extremes("ratio", [1.26, 3.0], 1)
    {'ratio, least': 1.3, 'ratio, greatest': 3.0}
    >>> extremes("K = {}", {2: [5, 4]}) | extremes("all", [5, 4], short=True)
    {'K = 2, least': 4, 'K = 2, greatest': 5, 'all, least': 4, 'greatest': 5}
    """
    if isinstance(values, Mapping):
        parts = [extremes(name.format(key), some, digits) for key, some in values.items()]
        return {what: value for part in parts for what, value in part.items()}
    some = list(values)
    greatest = "greatest" if short else f"{name}, greatest"
    return {f"{name}, least": shown(min(some), digits), greatest: shown(max(some), digits)}
