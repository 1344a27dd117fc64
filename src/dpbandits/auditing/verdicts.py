"""What an audit returns: its verdict, its bound, and what the bound is about."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpbandits.auditing.events import Tally
from dpbandits.auditing.pairs import TablePair
from dpbandits.guarantees import PrivacyGuarantee

__all__ = ["FEWEST_RUNS", "MOST_RUNS", "Audit"]

_SLACK = 1e-9  # relative error allowed to integrated probabilities
FEWEST_RUNS = 16
MOST_RUNS = 10**15
"""Least number of runs on each table with which an audit works."""


@dataclass(frozen=True, eq=False)
class Audit:
    """Result of an audit.

    Attributes
    ----------
    label : str
        What was audited.
    guarantee : PrivacyGuarantee
        What is declared about it.
    pair : TablePair
        The neighbouring tables.
    epsilon_lower : float
        No ε below this goes with the declared δ.
    tally : Tally or None
        Counts of the event in the runs that tested it, where they were counted.
    event : str
        The event, in words.
    constant : bool
        Whether no reward changed any output, so that nothing could have been seen.
    least : int
        Length of tables from which on, as the subject says, an audit tests something.
    kind : str
        What was audited: "program", "kernel" (the compiled loop of exactly its class) or "formula"
        (its law, integrated).
    masses : tuple of (float, float) or None
        Estimates of the event's probabilities, where it was to be likely and where rare.
    loss : float
        Estimate of the loss of the outputs on these tables, of which nothing is proved; nan if
        there is none.
    runs, searched : int
        Runs on each table that tested the event, and about as many that were spent on the search.
    failure : float
        Probability with which the bound may be too high.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> found = dpb.auditing.audit_exactly(dpb.DPSE(epsilon=2.0))
    >>> found.verdict, found.exact, round(found.epsilon_lower, 3)
    ('acquitted', True, 2.0)
    """

    label: str
    guarantee: PrivacyGuarantee
    pair: TablePair
    epsilon_lower: float
    tally: Tally | None
    event: str
    constant: bool = False
    least: int = 1
    kind: str = "program"
    masses: tuple[float, float] | None = None
    loss: float = math.nan
    runs: int = 0
    searched: int = 0
    failure: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether probabilities were integrated."""
        return self.kind == "formula"

    @property
    def verdict(self) -> str:
        """One of "convicted", "acquitted", "nothing declared"; "nothing tested" if `constant`.

        Convicted is what declares something false, except with the tally's failure probability.
        """
        if not self.guarantee.is_private:
            return "nothing declared"
        if self.constant:
            return "nothing tested"
        allowed = self.guarantee.epsilon * (1.0 + (_SLACK if self.exact else 0.0))
        return "convicted" if self.epsilon_lower > allowed else "acquitted"

    @property
    def convicted(self) -> bool:
        """Whether the verdict says so."""
        return self.verdict == "convicted"

    def __str__(self) -> str:
        found = self._in_words()
        return (
            f"{self.label}: {self.verdict}\ndeclared: {self.guarantee}\n"
            f"tables: {self.pair}\n{found}"
        )

    def _in_words(self) -> str:
        """Say what was found, by what."""
        t = self.tally
        if self.constant:
            n_pulls = self.pair.table.shape[1]
            longer = f" (of {self.least} pulls or more, it says)" if n_pulls < self.least else ""
            runs = (
                f"all {2 * t.runs} runs and as many" if t else "on the same tape all runs here and"
            )
            return (
                f"{runs} on the neighbour did the same: within {n_pulls} pulls, the length of the "
                f"tables, no reward decided anything; longer tables{longer}, or shorter phases of "
                "the algorithm, may test more"
            )
        if self.masses is not None:
            likely, rare = self.masses
            return (
                f"event: {self.event}, of probability {likely:.4g}, and {rare:.4g} on the "
                f"neighbour, in {self.runs} runs of the {self.kind}\nε is at least "
                f"{self.epsilon_lower:.4g}; false with probability {self.failure:g} at most"
            )
        if t is not None:
            return (
                f"event: {self.event}\nseen: {t.hits} of {t.runs} runs, and {t.neighbour_hits} of "
                f"{t.neighbour_runs} on the neighbour\nε is at least {self.epsilon_lower:.4g}; "
                f"false with probability {t.failure:g} at most; so many runs could have shown "
                f"{t.ceiling:.4g}"
            )
        return f"exact: ε is at least {self.epsilon_lower:.4g} ({self.event})"
