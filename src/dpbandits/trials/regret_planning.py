"""Planning for regret: patients needed, recoveries lost, and bad trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpbandits._arrays import Floats
from dpbandits._intervals import mean_interval, quantile_interval
from dpbandits._validation import check_integer, check_positive
from dpbandits.bounds.selection import selection_probabilities
from dpbandits.identification import d_eps
from dpbandits.identification.base import check_unique_best_arm
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.regret.dp_imed import DPIMED
from dpbandits.regret.dp_klucb import DPKLUCB
from dpbandits.regret.elimination import DPSE
from dpbandits.regret.explore_then_commit import ExploreThenCommit
from dpbandits.regret.simulation import Runs, simulate_many
from dpbandits.rewards.instances import BernoulliInstance, bernoulli
from dpbandits.schedules import MOST_PULLS

__all__ = ["Option", "RegretPlan", "plan_regret"]

_LEARNT = 0.5  # share of a coin's regret above which a trial learns almost nothing
_CLEARLY = 0.9  # an algorithm that loses less than this share is better than a coin
_LEVEL = 0.99
_UNSURE = 1e-9  # probability that an interval misses, if a label depends on it
_RESOLVED = 0.1  # widest interval, over its upper end, of a quantile that is printed as a number
_ENOUGH = 0.01  # half width of a mean's interval, over a coin's loss, at which runs end
_MOST_RUNS = 32_000  # over the number of arms, unless another number is asked for
_STAGES = 16, 4, 1  # a sixteenth of them is run first
_BUDGETS = 0.1, 0.3, 1.0, 3.0, math.inf  # for comparison, one look is planned for these
_MANY = 1e15  # larger numbers are not written out
_SHOWN = 12  # most treatments with a row in a report
_ROW = "{:9} {:>9} {:>20} {:>22} {:>7}  {}".format
_ARM_ROW = "{:9} {:>9} {:>9} {:>20} {:>15} {:>17}".format
_LOOK_ROW = "{:>22} {:>11} {:>14}".format


class Option(NamedTuple):
    """Losses of one algorithm.

    Attributes
    ----------
    runs : Runs
        Simulated trials.
    mean : float
        Recoveries lost on average, compared with the best arm for everybody: computed for one look,
        simulated for the others.
    low95, high95 : float
        Student's interval of the simulated mean, or the mean itself if it is computed.
    worst : float
        Largest loss of 99 in 100 trials: simulated, except for one look, whose distribution is
        known.
    worst_low95, worst_high95 : float
        Interval between two order statistics, or the number itself if it is computed.
    mean_surely, worst_surely : tuple of float
        The two intervals again, with error probabilities of about, and at most, 10⁻⁹.
    proved : float
        Bound on the mean.
    kept : tuple of float, length K, or None
        Probability that one look keeps each arm, if it is one look.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> option = dpb.plan_regret([0.6, 0.9], 500, epsilon=1.0, n_runs=20).options[0]
    >>> option.low95 <= option.mean <= option.high95, option.wrong is None
    (True, True)
    """

    runs: Runs
    mean: float
    low95: float
    high95: float
    worst: float
    worst_low95: float
    worst_high95: float
    mean_surely: tuple[float, float]
    worst_surely: tuple[float, float]
    proved: float
    kept: tuple[float, ...] | None

    @property
    def wrong(self) -> float | None:
        """Probability that one look keeps a worse arm, if it is one look."""
        return None if self.kept is None else 1.0 - self.kept[self.runs.instance.best_arm]

    @property
    def error(self) -> float:
        """Half the width of the mean's interval: 0 if the mean is computed."""
        return (self.high95 - self.low95) / 2

    @property
    def resolved(self) -> bool:
        """Whether the width of the interval of `worst` is at most a tenth of its upper end."""
        return self.worst_high95 - self.worst_low95 <= _RESOLVED * self.worst_high95

    @property
    def algorithm(self) -> RegretAlgorithm:
        """The algorithm."""
        return self.runs.algorithm


@dataclass(frozen=True)
class RegretPlan:
    """Losses of adaptive treatment of a number of patients; `plan_regret` makes it.

    Attributes
    ----------
    means : tuple of float, length K
        The assumed means.
    patients : int
        Number T of patients.
    epsilon : float
        Privacy budget ε of each patient's outcome.
    rates : tuple of float, length K
        d_ε of each worse arm against the best, the evidence in one outcome; 0 for the best.
    needed : tuple of float, length K
        log T/d_ε for each worse arm, whose patients in an adaptive algorithm are about half to
        twice that; 0 for the best.
    coin : float
        Recoveries lost if every patient's arm is drawn at random.
    options : tuple of Option
        The algorithms; the non-private one, for comparison, comes last.
    robust : tuple of (tuple of float, float)
        Other means, whose gaps are half and twice as large, and the mean loss of one look of the
        planned size if they are the true ones.
    robust_imed : tuple of float
        Simulated loss of DP-IMED, which needs no guess, on these means.
    robust_surely : tuple of (float, float)
        Intervals of these, with error probability about 10⁻⁹.
    budgets : tuple of (float, float)
        Other budgets ε, and the mean loss of one look with a size planned for them.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> plan = dpb.plan_regret([0.6, 0.75], patients=1000, epsilon=0.1, n_runs=500)
    >>> plan.choice.algorithm.label, round(plan.coin), plan.learns
    ('one look', 75, True)
    """

    means: tuple[float, ...]
    patients: int
    epsilon: float
    rates: tuple[float, ...]
    needed: tuple[float, ...]
    coin: float
    options: tuple[Option, ...]
    robust: tuple[tuple[tuple[float, ...], float], ...]
    robust_imed: tuple[float, ...]
    robust_surely: tuple[tuple[float, float], ...]
    budgets: tuple[tuple[float, float], ...]

    @property
    def look(self) -> Option:
        """The one look."""
        return next(o for o in self.options if isinstance(o.algorithm, ExploreThenCommit))

    @property
    def private(self) -> tuple[Option, ...]:
        """The options at the planned ε; all, if that is infinite."""
        some = tuple(o for o in self.options if o.algorithm.guarantee.is_private)
        return some or self.options

    @property
    def contenders(self) -> tuple[Option, ...]:
        """The private options that may have the least mean: the others certainly lose more.

        One look is included only if it may also lose less than DP-IMED when gaps are half or twice
        as large as guessed.
        """
        looks = [robust for _, robust in self.robust]
        least, greatest = zip(*self.robust_surely, strict=True)
        rest = tuple(option for option in self.private if option is not self.look)
        if any(np.greater(looks, greatest)):
            return _not_worse(rest)
        found = _not_worse(self.private)
        if self.look in found and any(np.greater(looks, least)):
            found = (*(o for o in _not_worse(rest) if o not in found), *found)
        return found

    @property
    def choice(self) -> Option | None:
        """The only contender; None if the runs do not separate several."""
        return self.contenders[0] if len(self.contenders) == 1 else None

    @property
    def safest_contenders(self) -> tuple[Option, ...]:
        """The private options with the least loss of 99 in 100 trials, up to their intervals.

        Only options whose mean loss is at most 90 % of a coin's are considered, if there are any.
        """
        limit = _CLEARLY * self.coin
        some = tuple(option for option in self.private if option.mean_surely[0] <= limit)
        surely = tuple(option for option in some if option.mean_surely[1] <= limit)
        if not some:
            some = surely = self.private
        if not surely:
            return self.private
        least = min(option.worst_surely[1] for option in surely)
        return tuple(option for option in some if option.worst_surely[0] <= least)

    @property
    def safest(self) -> Option | None:
        """The only one of these; None if the runs do not separate several."""
        return self.safest_contenders[0] if len(self.safest_contenders) == 1 else None

    @property
    def left(self) -> float:
        """The remaining share of a coin's loss, with the choice or the best of several."""
        return min(option.mean for option in self.contenders) / self.coin

    @property
    def learns(self) -> bool:
        """Whether some contender may lose at most half of a coin's loss."""
        return any(o.mean_surely[0] <= _LEARNT * self.coin for o in self.contenders)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values.

        Returns
        -------
        dict
            Ready for JSON: the attributes, and the numbers of each option.
        """
        return {
            "means": list(self.means),
            "patients": self.patients,
            "epsilon": self.epsilon,
            "d_epsilon": list(self.rates),
            "needed": list(self.needed),
            "lost_by_a_coin": self.coin,
            "lost_at_most": self.most,
            "choice": self.choice and self.choice.algorithm.label,
            "choice_among": [option.algorithm.label for option in self.contenders],
            "safest": self.safest and self.safest.algorithm.label,
            "safest_among": [option.algorithm.label for option in self.safest_contenders],
            "learns": self.learns,
            "algorithms": [
                {
                    "algorithm": repr(option.algorithm),
                    "name": option.algorithm.label,
                    "private": option.algorithm.guarantee.is_private,
                    "trials": option.runs.n_runs,
                    "lost": {
                        "mean": option.mean,
                        "low95": option.low95,
                        "high95": option.high95,
                        "quantile99": option.worst,
                        "quantile99_low95": option.worst_low95,
                        "quantile99_high95": option.worst_high95,
                    },
                    "proved": option.proved,
                    "keeps_a_worse_arm": option.wrong,
                    "keeps": None if option.kept is None else list(option.kept),
                }
                for option in self.options
            ],
            "if_the_gaps_are_others": [
                {"means": list(means), "one_look": look, "DP-IMED": imed}
                for (means, look), imed in zip(self.robust, self.robust_imed, strict=True)
            ],
            "one_look_at_other_budgets": [
                {"epsilon": epsilon, "lost": lost} for epsilon, lost in self.budgets
            ],
        }

    def __str__(self) -> str:
        lines = [
            f"{self.patients:,} patients, ε = {self.epsilon:g}",
            f"a coin gives each treatment {_count(self.patients / len(self.means))} patients and "
            f"loses {_count(self.coin)} recoveries; no trial loses more than {_count(self.most)}",
            "",
            *self._treatments(),
            "",
            _ROW("", "private", "lost, mean", "99 in 100 lose", "proved", ""),
        ]
        for option in self.options:
            private = (
                "ε = " + f"{self.epsilon:g}" if option.algorithm.guarantee.is_private else "no"
            )
            mean = _count(option.mean)
            if option.kept is None:
                mean += f" ({_count(option.low95)} to {_count(option.high95)})"
            proved = _count(min(option.proved, self.most))
            marks = ["suggested"] * (option is self.choice)
            marks += ["smallest bad trial"] * (option is self.safest)
            mark = "<- " + ", ".join(marks) if marks else ""
            name = option.algorithm.label
            worst = "≤ " + _count(option.worst)
            if option.worst_low95 < option.worst_high95:
                ends = f"{_count(option.worst_low95)} to {_count(option.worst_high95)}"
                worst = f"{worst} ({ends})" if option.resolved else ends
            lines.append(_ROW(name, private, mean, worst, proved, mark))
        look = self.look
        assert isinstance(look.algorithm, ExploreThenCommit)
        lines += [
            "",
            f"one look: {look.algorithm.per_arm:,} patients each, then one treatment for all; it "
            f"keeps a worse one in {look.wrong:.1%} of trials",
            _LOOK_ROW("if the true means are", "it loses", "DP-IMED loses"),
        ]
        for (others, lost), imed in zip(self.robust, self.robust_imed, strict=True):
            shown = ", ".join(f"{mean:.3g}" for mean in others[:_SHOWN])
            shown += ", …" * (len(others) > _SHOWN)
            lines.append(_LOOK_ROW(shown, _count(lost), _count(imed)))
        at = [
            f"{_count(lost)} "
            + (f"at ε = {epsilon:g}" if epsilon < math.inf else "without privacy")
            for epsilon, lost in self.budgets
        ]
        lines += [
            "what one look of the right size loses by the budget: " + ", ".join(at),
            "",
            *self._legend(),
            "",
            *self._verdict(),
        ]
        return "\n".join(lines)

    def _treatments(self) -> list[str]:
        """Return a table of the treatments: evidence against the best, and odds of being kept."""
        look, best = self.look, max(self.means)
        assert isinstance(look.algorithm, ExploreThenCommit) and look.kept is not None
        lines = [
            _ARM_ROW("treatment", "success", "d_ε", "log T/d_ε", "one look keeps", "then it loses")
        ]
        tried = look.algorithm.per_arm
        for arm, mean in enumerate(self.means[:_SHOWN]):
            needed = self.needed[arm]
            rate, takes = f"{self.rates[arm]:.2g}", _count(needed)
            if needed > self.patients:
                takes += " > all"
            if mean == best:
                rate, takes = "", "the best"
            spent = self.coin / self.patients * len(self.means) * tried
            rest = (self.patients - tried * len(self.means)) * (best - mean)
            kept = f"{look.kept[arm]:.1%}"
            lines.append(_ARM_ROW(arm + 1, f"{mean:g}", rate, takes, kept, _count(spent + rest)))
        if len(self.means) > _SHOWN:
            lines.append(f"… and {len(self.means) - _SHOWN} more")
        return lines

    def _legend(self) -> list[str]:
        """Return the meaning of the columns."""
        numbers = sorted({o.runs.n_runs for o in self.options if o is not self.look})
        trials = " to ".join(f"{number:,}" for number in dict.fromkeys((numbers[0], numbers[-1])))
        return [
            "log T/d_ε: patients that each worse treatment takes until it is told from the best, "
            "about half to twice of it; > all: more than there are",
            f"lost: recoveries, against the best treatment for all; {trials} simulated trials of "
            "each, in brackets 95 % intervals; one look is computed",
            "99 in 100 lose: of the trials that were simulated, and rarer ones may lose more; two "
            "ends alone: the interval is wider than a tenth",
            f"proved: bound on the mean; {_count(self.most)} says only that no trial loses more",
            "suggested: the least mean; one look only if it loses less than DP-IMED for both other "
            "gaps too",
            "smallest bad trial: 99 in 100 lose least, of the private ones whose mean is below "
            f"{_CLEARLY:.0%} of a coin's, if there are any",
            "neither is said unless intervals that miss once in 10⁹ do not overlap",
        ]

    def _verdict(self) -> list[str]:
        """Return the remaining share of a coin's loss, and advice if it is large."""
        free = next(o for o in reversed(self.options) if isinstance(o.algorithm, DPIMED))
        several = [" or ".join(_labels(some)) for some in (self.contenders, self.safest_contenders)]
        lines = []
        if self.choice is None:
            lines.append(f"{several[0]}: these trials do not tell which has the least mean")
        if self.safest is None:
            lines.append(f"{several[1]}: these trials do not tell which has the smallest bad trial")
        said = "the suggested choice" if self.choice else "the best of them"
        lines.append(
            f"{said} loses {self.left:.1%} of what a coin loses; DP-IMED without "
            f"privacy {free.mean / self.coin:.1%}"
        )
        if not self.learns:
            cure = "more patients"
            if free.mean <= _LEARNT * self.coin:
                cure = "a larger ε or more patients"
            best_first = sorted(self.means, reverse=True)  # the order of a plan of two arms
            means = ",".join(f"{mean:g}" for mean in best_first)
            asked = "--design fixed" if len(self.means) == 2 else "--delta 0.05"
            lines.append(
                f"that is more than half: {cure} would help. To find the best treatment for those "
                f"who come later is another goal: dpbandits plan --means {means} "
                f"--epsilon {self.epsilon:g} {asked}"
            )
        return lines

    @property
    def most(self) -> float:
        """The largest possible loss: everybody gets the worst arm."""
        return self.patients * (max(self.means) - min(self.means))


def _count(number: float) -> str:
    """Write a number of people, with one decimal below ten."""
    if abs(number) >= _MANY:
        return f"{number:.1e}"
    digits = 1 if abs(number) < 10 else max(0, 2 - int(math.log10(max(abs(number), 1.0))))
    return f"{round(number, digits):,.{max(digits, 0)}f}"


def _labels(options: Sequence[Option]) -> list[str]:
    return [option.algorithm.label for option in options]


def _not_worse(options: Sequence[Option]) -> tuple[Option, ...]:
    """Return the options that may have the least mean."""
    least = min(option.mean_surely[1] for option in options)
    return tuple(option for option in options if option.mean_surely[0] <= least)


def _other_gaps(means: Sequence[float], factor: float) -> tuple[float, ...]:
    """Return means with the same best one and scaled gaps, truncated at 0."""
    best = max(means)
    return tuple(max(best - factor * (best - mean), 0.0) for mean in means)


def plan_regret(
    means: Sequence[float],
    patients: int,
    epsilon: float,
    n_runs: int | None = None,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
) -> RegretPlan:
    """Estimate the cost of treating patients while learning, under ε-differential privacy.

    For DP-IMED, DP-KLUCB, DP-SE and one look it computes the recoveries lost on average and in the
    worst of a hundred trials, and the proved bounds. Arms are in random order, so that ties favour
    none. An algorithm is called the choice, or its bad trial the smallest, only if intervals with
    error probability 10⁻⁹ do not overlap: no two seeds contradict each other.

    Parameters
    ----------
    means : sequence of float, length K ≥ 2
        Assumed probabilities of success, each in [0, 1], with a unique maximum.
    patients : int
        Number T of patients, from K to 2^62.
    epsilon : float
        Privacy budget ε > 0 of each patient's outcome, ``inf`` without privacy.
    n_runs : int, optional
        Simulated trials of each algorithm, at least 2. By default as many as needed to resolve the
        printed numbers, from 2000/K to 32 000/K.
    seed : int or sequence of int
        Entropy of the root seed: one or more integers of at least 0.
    n_jobs : int
        Number of workers: processes, unless ``joblib.parallel_config`` says otherwise. −1 is all
        processors.

    Returns
    -------
    RegretPlan
        The numbers, and a choice; printed, it is a report.

    Raises
    ------
    ValueError
        If an argument is out of range, or several means are the largest.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> plan = dpb.plan_regret([0.6, 0.75], patients=1000, epsilon=0.3, n_runs=50)
    >>> print(str(plan).splitlines()[0])
    1,000 patients, ε = 0.3
    """
    instance = check_unique_best_arm(bernoulli(means, "plan"))
    epsilon = check_positive("epsilon", epsilon, infinite=True)
    patients = check_integer("patients", patients, instance.n_arms, MOST_PULLS)
    if n_runs is None:
        stages = [max(_MOST_RUNS // (instance.n_arms * part), 50) for part in _STAGES]
    else:
        stages = [check_integer("n_runs", n_runs, 2)]
    look = ExploreThenCommit.planned(epsilon, instance.mean_rewards, patients)
    players: list[RegretAlgorithm] = [DPIMED(epsilon), DPKLUCB(epsilon), DPSE(epsilon), look]
    if epsilon < math.inf:
        players.append(DPIMED(math.inf))
    others = [
        bernoulli(_other_gaps(instance.mean_rewards, factor), f"gaps times {factor:g}")
        for factor in (0.5, 2.0)
    ]
    cases: dict[Any, Any] = {place: (player, instance) for place, player in enumerate(players)}
    cases |= {other: (DPIMED(epsilon), other) for other in others}
    worse = instance.gaps > 0
    rates, needed = np.zeros(instance.n_arms), np.zeros(instance.n_arms)
    rates[worse] = d_eps(instance.means[worse], instance.means.max(), epsilon)
    needed[worse] = math.log(patients) / rates[worse]
    budgets = tuple(
        (
            at,
            float(ExploreThenCommit.planned(at, means, patients).regret_bound(instance, patients)),
        )
        for at in _BUDGETS
    )
    robust = tuple((o.mean_rewards, float(look.regret_bound(o, patients))) for o in others)
    runs: dict[Any, Runs] = {}
    options: dict[int, Option] = {}
    waiting = set(cases)
    for stage in stages:
        some = {place: case for place, case in cases.items() if place in waiting}
        runs |= simulate_many(
            some, patients, stage, seed, n_jobs, checkpoints=[patients], order="random"
        )
        options |= {p: _option(runs[p], instance, patients) for p in some if isinstance(p, int)}
        found = RegretPlan(
            instance.mean_rewards,
            patients,
            epsilon,
            tuple(rates.tolist()),
            tuple(needed.tolist()),
            float(patients * instance.gaps.mean()),
            tuple(options[place] for place in range(len(players))),
            robust,
            tuple(float(runs[other].mean()[-1]) for other in others),
            tuple(_surely(runs[other].regret[:, -1]) for other in others),
            budgets,
        )
        waiting = {place for place, option in options.items() if _is_open(found, option)}
        if found.choice is None and found.look in found.contenders:
            waiting |= set(others)
        if not waiting:
            break
    return found


def _is_open(plan: RegretPlan, option: Option) -> bool:
    """Whether more runs of an option would sharpen the printed numbers."""
    if option is plan.look:
        return False
    low, high = option.mean_surely
    rivals = plan.choice is None and option in plan.contenders
    distinct = high - low <= 2 * _ENOUGH * plan.coin
    alike = plan.safest is None and option in plan.safest_contenders
    return not option.resolved or (rivals and not distinct) or alike


def _surely(finals: Floats) -> tuple[float, float]:
    """Return the interval of a mean that labels depend on."""
    _, low, high = mean_interval(finals, 1 - _UNSURE)
    return float(low), float(high)


def _option(runs: Runs, instance: BernoulliInstance, patients: int) -> Option:
    """Return the results of an algorithm's runs, and its proved bound."""
    finals: Floats = runs.regret[:, -1]
    mean, low, high = (float(x) for x in mean_interval(finals, 0.95))
    surely = _surely(finals)
    proved = float(runs.algorithm.regret_bound(instance, patients))
    most, kept = patients * float(instance.gaps.max()), None
    bad = [quantile_interval(finals, _LEVEL, level) for level in (0.95, 1 - _UNSURE)]
    (worst, *ends), (_, *sure_ends) = np.clip(bad, 0.0, most).tolist()
    if isinstance(runs.algorithm, ExploreThenCommit):
        mean = low = high = proved
        n, epsilon = runs.algorithm.per_arm, runs.algorithm.epsilon
        chosen = selection_probabilities(instance, n, epsilon)
        losses = n * instance.gaps.sum() + (patients - n * instance.n_arms) * instance.gaps
        order = np.argsort(losses, kind="stable")
        enough = np.cumsum(chosen[order]) >= _LEVEL
        worst = float(losses[order][enough.argmax()])
        surely, ends, sure_ends = (mean, mean), [worst, worst], [worst, worst]
        kept = tuple(float(x) for x in chosen)
    return Option(
        runs, mean, low, high, worst, ends[0], ends[1], surely, (sure_ends[0], sure_ends[1]),
        proved, kept,
    )  # fmt: skip
