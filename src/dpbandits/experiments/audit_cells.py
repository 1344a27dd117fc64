"""Cells and settings of audits: an algorithm, how it is audited, and on which tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_choice, check_fraction, check_integer, check_number
from dpbandits.experiments.audit_accounts import accounted, declared, worst_element
from dpbandits.experiments.settings import Arrays, Cell, Setting, describe
from dpbandits.experiments.tables import rounded
from dpbandits.privacy.audit import Audit, audit
from dpbandits.privacy.audit_events import Tally
from dpbandits.privacy.audit_exact import audit_exactly
from dpbandits.privacy.audit_search import search
from dpbandits.privacy.audit_subjects import subject_of
from dpbandits.privacy.audit_tables import TablePair
from dpbandits.privacy.audit_truths import KnownLoss
from dpbandits.privacy.guarantees import PrivacyGuarantee
from dpbandits.provenance import Name
from dpbandits.stopping.base import StoppingRule

__all__ = [
    "METHODS",
    "AuditCell",
    "AuditLabels",
    "AuditSetting",
    "audit_setting",
    "certain_pair",
    "play_audits",
]

METHODS = ("exact", "runs", "certain")
"""How an audit is made: by integration, by runs, or by one run of what has no randomness."""

_TRIAL_SHARE = 100  # a search begins with so much fewer runs
_FEWEST = 16
_WORDS = 4  # of 32 bits, that a replicate's seeds are made of


def certain_pair(target: object, n_pulls: int) -> TablePair | None:
    """Find neighbouring tables on which an algorithm without randomness puts out two things.

    Two tables are far apart: one has rewards of 1 for arm 0, and no others; the other has none.
    If their outputs differ, then so do those of two neighbours among the tables between them, and
    halving finds these. What has no randomness is then not private with any ε.

    Parameters
    ----------
    target : object
        What `subject_of` takes, without randomness.
    n_pulls : int
        Length of the tables.

    Returns
    -------
    TablePair or None
        None if the two tables give the same.
    """
    subject = subject_of(target, n_pulls)
    n_arms = _n_arms(target)

    def table(ones: int) -> NDArray[np.float64]:
        rewards = np.zeros((n_arms, n_pulls))
        rewards[0, :ones] = 1.0
        return rewards

    def shown(ones: int) -> tuple[bytes, ...]:
        outputs = subject.outputs(table(ones), 1, np.random.default_rng(0))
        return tuple(np.ascontiguousarray(part).tobytes() for part in outputs)

    low, high = 0, n_pulls
    least, most = shown(low), shown(high)
    if least == most:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        found = shown(middle)
        if found == least:
            low = middle
        else:
            high = middle
    return TablePair(table(low), 0, low, 1.0)


def _n_arms(target: object) -> int:
    """Arms of the tables: a stopping rule reads one stream."""
    return 1 if isinstance(target, StoppingRule) else 2


def play_audits(
    target: Any,
    method: str,
    n_pulls: int,
    audit_runs: int,
    tried: int,
    delta: float,
    failure: float,
    seeds: Sequence[np.random.SeedSequence],
) -> Arrays:
    """Make one audit per seed: search for a pair of tables, then audit on it."""
    found = [
        _audit(target, method, n_pulls, audit_runs, tried, delta, failure, seed) for seed in seeds
    ]
    none = Tally(0, 0, 0, 0, failure)
    tallies = [none if each.tally is None else each.tally for each in found]
    length = found[0].pair.table.shape[1] if method == "exact" else n_pulls
    limit = accounted(target, length, delta)
    searched = tried > 0 and _known_pair(target, n_pulls) is None
    tables = [_text(each.pair) if searched else "" for each in found]
    return {
        "epsilon_lower": np.array([each.epsilon_lower for each in found]),
        "accounted": np.full(len(found), limit),
        "hits": np.array([t.hits for t in tallies], dtype=np.int64),
        "runs": np.array([t.runs for t in tallies], dtype=np.int64),
        "neighbour_hits": np.array([t.neighbour_hits for t in tallies], dtype=np.int64),
        "neighbour_runs": np.array([t.neighbour_runs for t in tallies], dtype=np.int64),
        "arm": np.array([each.pair.arm for each in found], dtype=np.int64),
        "pull": np.array([each.pair.pull for each in found], dtype=np.int64),
        "table": np.array(tables, dtype=f"<U{2 * n_pulls + 1 if searched else 1}"),
    }


def _audit(
    target: Any,
    method: str,
    n_pulls: int,
    audit_runs: int,
    tried: int,
    delta: float,
    failure: float,
    seed: np.random.SeedSequence,
) -> Audit:
    if method == "exact":
        exact = audit_exactly(target)
        if exact is None:
            raise ValueError(f"target={target!r} has no exact audit; allowed: method='runs'")
        return exact
    if method == "certain":
        pair = certain_pair(target, n_pulls)
        if pair is None:
            raise ValueError(f"target={target!r} shows nothing of {n_pulls} rewards; allowed: more")
        return Audit(type(target).__name__, target.guarantee, pair, math.inf, None, "the output")
    words = [int(word) for word in seed.generate_state(_WORDS)]
    if isinstance(target, KnownLoss):
        promised = PrivacyGuarantee("global", target.epsilon, delta)
        return audit(target, target.pair, audit_runs, [*words, 1], failure, 1, promised)
    subject = subject_of(target, n_pulls)
    pair = _known_pair(target, n_pulls) or search(
        subject,
        _n_arms(target),
        n_pulls,
        tried,
        max(audit_runs // _TRIAL_SHARE, _FEWEST),
        [*words, 0],
    )
    return audit(subject, pair, audit_runs, [*words, 1], failure)


def _known_pair(target: Any, n_pulls: int) -> TablePair | None:
    """Return the pair of tables that is known to tell most; None where it has to be found.

    Of a counter the element changes of which most is released.
    """
    if isinstance(target, KnownLoss):
        return target.pair
    if not callable(getattr(target, "counter", None)):
        return None
    least = -1.0 if hasattr(target, "first_bound") else 0.0
    return TablePair(np.full((1, n_pulls), least), 0, worst_element(target, n_pulls) - 1, 1.0)


def _text(pair: TablePair) -> str:
    """Write a table of zeros and ones, a row an arm."""
    return " ".join("".join(str(int(x)) for x in row) for row in pair.table)


@dataclass(frozen=True)
class AuditCell(Cell):
    """Audits of one target; a replicate is a whole audit, with a search where there is one.

    Attributes
    ----------
    target : object
        An algorithm, a stopping rule or a counter of this package, or a `KnownLoss`.
    method : {"exact", "runs", "certain"}
        By integration, by runs, or by one run of what has no randomness.
    n_pulls : int
        Length of the tables; 0 for exact audits, which have tables of their own.
    audit_runs : int
        Runs on each of the two tables; 0 unless the method is "runs".
    tried : int
        Pairs of tables that a search begins with; 0 where there is none.
    delta : float
        δ of what is audited.
    failure : float
        Probability with which the bound of one audit may be too high.
    n_runs : int
        Number of audits.
    """

    ENTRY: ClassVar[Name] = (__name__, "play_audits")
    CHUNK: ClassVar[int] = 1  # an audit takes seconds

    target: Any
    method: str
    n_pulls: int
    audit_runs: int
    tried: int
    delta: float
    failure: float
    n_runs: int = 1

    def __post_init__(self) -> None:
        if not is_dataclass(self.target):
            raise ValueError(f"target={self.target!r} cannot be played; allowed: a configuration")
        check_choice("method", self.method, METHODS)
        shortest = 0 if self.method == "exact" else 1
        object.__setattr__(self, "n_pulls", check_integer("n_pulls", self.n_pulls, shortest))
        fewest = _FEWEST if self.method == "runs" else 0
        most = None if self.method == "runs" else 0
        runs = check_integer("audit_runs", self.audit_runs, fewest, most)
        object.__setattr__(self, "audit_runs", runs)
        object.__setattr__(self, "tried", check_integer("tried", self.tried, 0))
        object.__setattr__(self, "failure", check_fraction("failure", self.failure))
        if not 0.0 <= check_number("delta", self.delta, "[0, 1)") < 1.0:
            raise ValueError(f"delta={self.delta!r} is out of range; allowed: [0, 1)")
        if self.method == "certain" and self.guarantee.is_private:
            raise ValueError(
                f"target={self.target!r} has noise; allowed with method='certain': what declares "
                "no privacy"
            )
        object.__setattr__(self, "n_runs", check_integer("n_runs", self.n_runs, 1))

    @property
    def parts(self) -> tuple[object, ...]:
        """The target."""
        return (self.target,)

    @property
    def title(self) -> str:
        """What the progress bar calls the cell."""
        return f"{type(self.target).__name__}, {self.audit_runs or self.method}"

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What is declared about the target."""
        return declared(self.target, self.n_pulls)

    @property
    def ceiling(self) -> float:
        """The greatest bound on ε that so many runs can give; infinite for other methods."""
        if self.method != "runs":
            return math.inf
        half = self.audit_runs - self.audit_runs // 2
        return Tally(half, half, 0, half, self.failure).epsilon_lower(self.delta)

    def configuration(self) -> dict[str, Any]:
        """Return what the law of one replicate depends on, ready for JSON."""
        return {
            "target": describe(self.target),
            "method": self.method,
            "n_pulls": self.n_pulls,
            "audit_runs": self.audit_runs,
            "tried": self.tried,
            "delta": self.delta,
            "failure": self.failure,
        }

    def play(self, seeds: Sequence[np.random.SeedSequence]) -> Arrays:
        """Make one audit per seed."""
        return play_audits(
            self.target,
            self.method,
            self.n_pulls,
            self.audit_runs,
            self.tried,
            self.delta,
            self.failure,
            seeds,
        )

    def assemble(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the arrays: a value an audit."""
        return dict(arrays)


class AuditLabels(NamedTuple):
    """A setting, as the tables' first columns name it."""

    panel: str
    target: str
    variant: str
    epsilon: float
    model: str
    declared: float
    delta: float
    method: str
    n_pulls: int
    audit_runs: int

    def __str__(self) -> str:
        how = f"{self.audit_runs} runs" if self.method == "runs" else self.method
        return f"panel {self.panel}, {self.target} {self.variant}, ε = {self.epsilon:g}, {how}"


@dataclass(frozen=True)
class AuditSetting(Setting):
    """Where a cell stands in a figure.

    Attributes
    ----------
    experiment : str
        Id of the experiment.
    panel : str
        Panel, such as "a".
    target : str
        Name of the target's class.
    variant : str
        What tells settings of one class apart.
    epsilon : float
        ε that the panel is about; ``inf`` where nothing is declared.
    model : str
        Model of the guarantee.
    declared : float
        ε of the guarantee, to 7 digits.
    delta : float
        δ, to 7 digits.
    method : str
        How it is audited.
    n_pulls, audit_runs : int
        Length of the tables, and runs on each.
    cell : AuditCell
        What is simulated.
    """

    experiment: str
    panel: str
    target: str
    variant: str
    epsilon: float
    model: str
    declared: float
    delta: float
    method: str
    n_pulls: int
    audit_runs: int
    cell: AuditCell

    @property
    def labels(self) -> AuditLabels:
        """The first columns of the setting's rows in the tables."""
        return AuditLabels(*(getattr(self, name) for name in AuditLabels._fields))


def audit_setting(
    experiment: str, panel: str, cell: AuditCell, epsilon: float, variant: str = ""
) -> AuditSetting:
    """Read a setting's labels off its cell."""
    promised = cell.guarantee
    return AuditSetting(
        experiment,
        panel,
        type(cell.target).__name__,
        variant,
        epsilon,
        promised.model,
        float(rounded(promised.epsilon)),
        float(rounded(cell.delta)),
        cell.method,
        cell.n_pulls,
        cell.audit_runs,
        cell,
    )
