"""Results of audits: verdict, bound, event, and tried tables."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpbandits._arrays import Floats
from dpbandits.auditing.coverage import Coverage
from dpbandits.auditing.pairs import TablePair
from dpbandits.guarantees import PrivacyGuarantee

__all__ = [
    "FAILURE",
    "FEWEST_RUNS",
    "FOUND",
    "MOST_RUNS",
    "NOTHING_DECLARED",
    "NOTHING_TESTED",
    "NOT_FOUND",
    "Audit",
]

FOUND, NOT_FOUND = "violation found", "no violation found"
NOTHING_DECLARED, NOTHING_TESTED = "nothing declared", "nothing tested"
_SLACK = 1e-9  # allowed relative error of integrated probabilities
FAILURE = 1e-9
"""Probability with which a bound of the book's own audits may be too high."""
FEWEST_RUNS = 16
"""Least number of runs on each table in an audit."""
MOST_RUNS = 10**15


@dataclass(frozen=True, eq=False)
class Audit:
    """Result of an audit.

    Attributes
    ----------
    label : str
        Name of the target.
    guarantee : PrivacyGuarantee
        Its declared guarantee.
    pair : TablePair
        The neighbouring tables.
    epsilon_lower : float
        No smaller ε is possible with the declared δ, except with probability `failure`. If the test
        stopped because it convicted, it is barely above the declared ε.
    event : str
        The event, in words.
    constant : bool
        Whether no reward changed any output, so that no violation could have been found.
    least : int
        Least length of tables on which, as the subject declares, an audit tests something.
    kind : str
        Method: "program", "kernel" (the compiled loop of exactly its class) or "formula" (its
        distribution, integrated).
    masses : tuple of (float, float) or None
        Estimates of the event's probabilities, on the likely and on the rare side.
    loss : float
        Estimate of the loss of the outputs on these tables, without a proof; nan if there is none.
        It is the largest of several estimates, and so biased upwards, more so if the test stopped.
    runs, searched : int
        Runs on each table in the test of the event, and approximately in the search.
    failure : float
        Probability with which the bound may be too high, for this audit alone: for m audits until
        one finds something, divide it by m.
    coverage : Coverage or None
        Rewards that were changed, and those that never were; None for an integrated distribution.
    convictable : float
        Least loss of the event that these runs would have convicted; infinite if none.
    planned : int
        Runs on each table planned for the test.
    log_wealth : numpy.ndarray of float, shape (runs,), or None
        Logarithm of the wealth of the bet against the declared guarantee, after each of these runs:
        it convicts when this reaches −log `failure`. None for an integrated distribution.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> found = dpb.auditing.audit_exactly(dpb.DPSE(epsilon=2.0))
    >>> found.verdict, found.exact, round(found.epsilon_lower, 3)
    ('no violation found', True, 2.0)
    """

    label: str
    guarantee: PrivacyGuarantee
    pair: TablePair
    epsilon_lower: float
    event: str
    constant: bool = False
    least: int = 1
    kind: str = "program"
    masses: tuple[float, float] | None = None
    loss: float = math.nan
    runs: int = 0
    searched: int = 0
    failure: float = 0.0
    coverage: Coverage | None = None
    convictable: float = math.inf
    planned: int = 0
    log_wealth: Floats | None = None

    @property
    def stopped(self) -> bool:
        """Whether the test stopped before its last run, because it convicted."""
        return self.runs < self.planned

    @property
    def exact(self) -> bool:
        """Whether probabilities were integrated."""
        return self.kind == "formula"

    @property
    def verdict(self) -> str:
        """One of "violation found", "no violation found", "nothing declared", "nothing tested".

        A violation is found if the declared ε is below the bound: the declaration is then false,
        except with probability `failure`. Not finding one proves nothing: see `overstatement` and
        `coverage`.
        """
        if not self.guarantee.is_private:
            return NOTHING_DECLARED
        if self.constant:
            return NOTHING_TESTED
        allowed = self.guarantee.epsilon * (1.0 + (_SLACK if self.exact else 0.0))
        return FOUND if self.epsilon_lower > allowed else NOT_FOUND

    @property
    def convicted(self) -> bool:
        """Whether a violation was found."""
        return self.verdict == FOUND

    @property
    def overstatement(self) -> float:
        """Approximate factor by which noise must be too small for these runs to find it.

        The ratio of the loss that these runs would have convicted to the event's own, assuming that
        the loss is proportional to the budget; infinite if the event has no loss.
        """
        p, q = self.masses or (0.0, 0.0)
        if not 0.0 < q < p - self.guarantee.delta:
            return math.inf
        return self.convictable / math.log((p - self.guarantee.delta) / q)

    def __str__(self) -> str:
        said = [f"{self.label}: {self.verdict}", f"declared: {self.guarantee}"]
        said += [f"tables: {self.pair}", self._in_words()]
        if self.verdict == NOT_FOUND and not self.exact:
            said.append(self._power_in_words())
        if self.coverage is not None and self.coverage.changed:
            said.append(str(self.coverage))
        return "\n".join(said)

    def _in_words(self) -> str:
        """Describe the finding and its method."""
        if self.constant:
            n_pulls = self.pair.table.shape[1]
            longer = f" (of {self.least} pulls or more, it says)" if n_pulls < self.least else ""
            return (
                "on the same tape all runs here and on the neighbour did the same: within "
                f"{n_pulls} pulls, the length of the tables, no reward decided anything; longer "
                f"tables{longer}, or shorter phases of the algorithm, may test more"
            )
        if self.masses is not None:
            likely, rare = self.masses
            early = f", stopped as it convicts ({self.planned} were planned)" * self.stopped
            return (
                f"event: {self.event}, of probability {likely:.4g}, and {rare:.4g} on the "
                f"neighbour, in {self.runs} runs of the {self.kind} after a search of "
                f"{self.searched}{early}\nε is at least {self.epsilon_lower:.4g}; false with "
                f"probability {self.failure:g} at most, for this audit alone"
            )
        return f"exact: ε is at least {self.epsilon_lower:.4g} ({self.event})"

    def _power_in_words(self) -> str:
        """Describe what these runs would have found."""
        if self.convictable == math.inf:
            return "these runs would have convicted no loss of this event: there are too few"
        factor = self.overstatement
        shown = (
            "which shows none"
            if factor == math.inf
            else f"whose own is about {self.convictable / factor:.3g}: noise too small by a factor "
            f"of about {factor:.3g}"
        )
        return (
            f"these runs would probably have convicted a loss of {self.convictable:.3g} of this "
            f"event, {shown}; a smaller violation may pass, and one that shows elsewhere"
        )
