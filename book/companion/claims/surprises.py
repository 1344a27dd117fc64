"""The ten verdicts that surprise most, as sentences for the page of claims.

A sentence takes its numbers from the published evidence, as [NAME] or, to three digits, [NAME ~3],
and is valid only while its claim has the verdict for which it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from companion.claims.verdicts import CONDITION, FAILS, HOLDS

__all__ = ["SURPRISES", "Surprise", "sentences"]


@dataclass(frozen=True)
class Surprise:
    """A sentence about a claim; names of numbers of its evidence are in brackets."""

    id: str
    verdict: str
    sentence: str


SURPRISES = (
    Surprise(
        "td16-cor-3.2",
        FAILS,
        "Releases of DP-UCB-INT that are called (0.1, e^{−10})-private are "
        "([ε at δ = e^(−10), target 0.1 ~3], e^{−10})-private: the printed bound has ε where the "
        "proof gives √ε. At smaller targets the very first choice breaks the promise: at 0.0146 it "
        "needs [δ needed at the first choice / e^(−10), target 0.0146 ~2] times the δ.",
    ),
    Surprise(
        "ss19-thm-3.3",
        CONDITION,
        "The printed bound on a waiting time can be a negative number of patients: "
        "[printed bound at α = 1 − 10⁻⁶, |μ| = R, ε = 1]. With two logarithms mended it holds, "
        "and the constant [constant in place of 2000, β = 0.08] is enough in place of 2000.",
    ),
    Surprise(
        "ss19-thm-3.4",
        HOLDS,
        "The private lower bound is better than stated: it holds on every law, however small its "
        "variance, and not on the hardest one alone.",
    ),
    Surprise(
        "td16-thm-3.5",
        FAILS,
        "A few runs of DP-UCB-INT leave the best arm for most of the time, and their regret "
        "breaks the bound: on two arms the mean is [mean regret, frozen, v = 1.1], the printed "
        "bound [printed bound, v = 1.1 ~3].",
    ),
    Surprise(
        "ss19-guess-and-double",
        FAILS,
        "Without a known horizon, doubling the guess does not keep the regret bound, and squaring "
        "it does: at T = 10^{11} the first costs [doubling, T = 1e+11] times what the bound "
        "allows with T known, the second [squaring, T = 1e+11] times.",
    ),
    Surprise(
        "ss19-lemma-4.2",
        CONDITION,
        "A step in the proof for DP-SE can fail once arms are dropped and the noise sets the "
        "lengths: an epoch can be [R₂/R₁ ~3] times as long as the one before it, where the proof "
        "has at least 2. The lemma survives.",
    ),
    Surprise(
        "ss19-five-times",
        CONDITION,
        "That DP-SE has five times less regret rests on the rival. One DP-UCB has at least "
        "[least ratio, mishra-thakurta ~3] times the regret of DP-SE in every setting; another, "
        "with less noise, has only [least ratio, tree-exact] times as much in one. The text does "
        "not say which was run.",
    ),
    Surprise(
        "td16-hybrid",
        CONDITION,
        "A counter with noise of scale 1/ε at powers of two spends [loss / ε, ε each] ε from "
        "[length from which ε is exceeded, ε each] records on; with the budget split in halves it "
        "spends ε.",
    ),
    Surprise(
        "ss19-lemma-3.5",
        CONDITION,
        "Group privacy with the printed constant 6 is right up to ε = "
        "[greatest ε for every n and d], and wrong beyond. There is a sharp factor for every ε.",
    ),
    Surprise(
        "ja25-constant-8",
        CONDITION,
        "The factor 8 between what DP-TT needs and what every algorithm needs is 2 · 2 · 2. With a "
        "threshold that is proved in the book the product is [greatest factor, chernoff ~3], if "
        "the shares of the pulls converge as there, which we have not proved.",
    ),
)


def sentences(
    records: Sequence[Mapping[str, Any]], write: Callable[[object], str] = str
) -> list[tuple[str, str]]:
    """Return ids and sentences, with the numbers of published records.

    Parameters
    ----------
    records : sequence of mappings
        Published records of claims.
    write : callable
        Writes a text or a number in the markup of the page.

    Returns
    -------
    list of pairs of str
        Id and sentence, in the order of `SURPRISES`.

    Raises
    ------
    ValueError
        If a claim now has another verdict, lacks a number, or judges a formula of ours.
    """
    found = {str(record["id"]): record for record in records}
    written = []
    for surprise in SURPRISES:
        record = found.get(surprise.id, {})
        if record.get("verdict") != surprise.verdict or record["reconstructed"]:
            raise ValueError(
                f"the sentence on {surprise.id} is for {surprise.verdict!r}; the verdict is "
                f"{record.get('verdict')!r}"
            )
        parts = surprise.sentence.replace("]", "[").split("[")
        for place, name in enumerate(parts):
            key, _, digits = name.partition(" ~")
            number = place % 2 == 1
            if number and key not in record["evidence"]:
                raise ValueError(f"the sentence on {surprise.id} needs {key!r} as evidence")
            value = record["evidence"][key] if number else name
            parts[place] = write(float(f"{value:.{digits}g}") if number and digits else value)
        written.append((surprise.id, "".join(parts)))
    return written
