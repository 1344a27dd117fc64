"""The five verdicts on a paper's statements, and the class of reconstructed ones.

One flaw counts once: a claim that only inherits it from another says so, or is merged with it.
"""

__all__ = [
    "CANNOT_TELL",
    "CONDITION",
    "FAILS",
    "HOLDS",
    "MEANINGS",
    "NOT_REPRODUCED",
    "RECONSTRUCTED",
    "VERDICTS",
    "decide",
]

HOLDS = "holds"
CONDITION = "holds with a condition"
FAILS = "does not hold"
NOT_REPRODUCED = "not reproduced"
CANNOT_TELL = "cannot be told from the text"

MEANINGS = {
    HOLDS: "As printed, for all that the paper's sentence covers.",
    CONDITION: "True once a hypothesis is added that the paper's own uses satisfy. The hypothesis "
    "is part of the verdict.",
    FAILS: "The paper's own use of it is hit, be it a theorem that rests on it, an experiment or "
    "the headline; or no natural condition saves it. A counterexample or a computation stands "
    "beside it.",
    NOT_REPRODUCED: "An experiment whose parameters are all known comes out otherwise.",
    CANNOT_TELL: "The text lacks what would be needed, or neither a proof nor a counterexample is "
    "known; the reason says which.",
}
"""What each verdict means, in the order of the pages."""

VERDICTS = tuple(MEANINGS)

RECONSTRUCTED = "reconstructed"
"""The class of claims in which our copy of the paper has lost the formula, or the parameters, and
we put our own in its place. Such an entry says what our formula does; it is counted neither for nor
against the paper."""


def decide(passed: bool, verdict: str = HOLDS, otherwise: str = FAILS) -> str:
    """Return `verdict` if all its conditions were confirmed, else `otherwise`."""
    return verdict if passed else otherwise
