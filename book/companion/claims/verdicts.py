"""The four verdicts.

"Cannot be told from the text" stands for two cases; the reason says which: the text does not say
what it would take to judge the claim, or neither a proof of it nor a counterexample is known.
"""

__all__ = ["CANNOT_TELL", "CONDITION", "FAILS", "HOLDS", "VERDICTS", "decide"]

HOLDS = "holds"
CONDITION = "holds with a condition"
FAILS = "does not hold"
CANNOT_TELL = "cannot be told from the text"
VERDICTS = (HOLDS, CONDITION, FAILS, CANNOT_TELL)


def decide(passed: bool, verdict: str = HOLDS, otherwise: str = FAILS) -> str:
    """Return `verdict` if everything that it rests on was found to be so, else `otherwise`."""
    return verdict if passed else otherwise
