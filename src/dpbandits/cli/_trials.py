"""Group-sequential trials on the command line: a plan's options, and the state between looks."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dpbandits as dpb
from dpbandits._files import write_atomically
from dpbandits._validation import check_integer, shown
from dpbandits.identification import FinitePopulation, GroupEstimate, RunningTrial, TrialLook

ENDED = {
    "continue": "go on",
    "efficacy": "stop, the treatment is better",
    "harm": "stop, the treatment is worse",
    "futility": "stop for futility, if the committee wants to",
    "none": "the last look is over, and no difference is shown",
}


def arms_of(
    means: tuple[float, ...] | None, population: FinitePopulation | None
) -> tuple[float, float]:
    """Return the shares of the better and of the other arm, of two."""
    shares = means if population is None else tuple(population.shares.tolist())
    if shares is None or len(shares) != 2:
        what = "means" if population is None else "counts"
        raise ValueError(f"{what}={shares!r} has not two arms; allowed: two, with this --design")
    return max(shares), min(shares)


def start(path: Path, plan: dpb.GroupSequentialPlan) -> None:
    """Write the state of a trial before its first look; a state that exists is never replaced."""
    if path.exists():
        raise ValueError(f"state={str(path)!r} exists; allowed: a file that is not there yet")
    write_atomically(path, RunningTrial(plan.design).to_json())


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other looks at the same trial away: two at once would release one look twice."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        raise ValueError(
            f"state={str(path)!r} is in use; allowed: one look at a time (if none is running, "
            f"remove {lock.name})"
        ) from None
    try:
        yield
    finally:
        lock.unlink()


def read(path: Path) -> RunningTrial:
    """Read the state of a trial."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(
            f"state={str(path)!r} is not text; allowed: what the first look or the plan wrote"
        ) from None
    return RunningTrial.from_json(text)


def release(path: Path, number: int, counts: str, deaths: bool) -> RunningTrial:
    """Release one look and keep it; what is returned, and may be shown, is on the disk already."""
    pairs = read_pairs(counts)
    with locked(path):
        trial = read(path)
        if deaths:
            (a, n), (b, m) = pairs
            pairs = (n - a, n), (m - b, m)
        trial.look(number, *pairs)
        write_atomically(path, trial.to_json())
    return trial


def read_pairs(text: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Read events and patients of treatment and control."""
    allowed = "EVENTS/PATIENTS of treatment and control, such as 156/163,142/163"
    try:
        pairs = [tuple(int(n) for n in part.split("/")) for part in text.split(",")]
        (a, n), (b, m) = pairs
    except ValueError:
        raise ValueError(f"counts={shown(text)} cannot be read; allowed: {allowed}") from None
    a, b = (check_integer("counts", e, 0, max(all_, 0)) for e, all_ in ((a, n), (b, m)))
    return (a, n), (b, m)


def told(trial: RunningTrial, deaths: bool, level: float) -> tuple[list[str], dict[str, Any]]:
    """Say what was released and decided, and what may be published."""
    design, looks = trial.design, trial.looks
    m = design.per_look
    word = "deaths" if deaths else "survivors"
    lines = [f"privacy: {design.guarantee}"]
    for each in looks:
        pair = [m - x if deaths else x for x in (each.treatment, each.control)]
        lines.append(
            f"look {each.number} of {design.looks}, {2 * m * each.number} patients: released "
            f"{word} {pair[0]} treatment, {pair[1]} control; score {each.score:.2f}, boundary "
            f"{each.bound:.2f}: {ENDED[each.decision]}"
        )
    record: dict[str, Any] = {
        "design": design,
        "guarantee": design.guarantee,
        "looks": [each._asdict() for each in looks],
        "decision": trial.decision,
        "estimate": None,
    }
    if not looks:
        lines.append(f"no look yet; the first takes {m} patients of each arm")
    elif trial.decision != "continue":
        found = trial.estimate(level)
        lines += _published(found, looks[-1])
        record["estimate"] = found._asdict()
    return lines, record


def _published(found: GroupEstimate, last: TrialLook) -> list[str]:
    """Say what may be published after the end."""
    repeated = f"{100 * found.repeated_low:.1f} to {100 * found.repeated_high:.1f}"
    lines = [f"mean share of success {found.share:.4f}, difference of shares in points:"]
    if not math.isnan(found.median):
        staged = f"{100 * found.low:.1f} to {100 * found.high:.1f}"
        lines.append(
            f"  median-unbiased {100 * found.median:.1f}, {found.level:.0%} interval {staged}, "
            f"P-value {found.p_value:.4f}"
        )
    lines.append(f"  repeated interval {repeated}, whatever the reason to stop")
    if last.decision == "efficacy":
        lines.append(
            f"  (as released {100 * found.naive:.1f}: too large where a trial stops early)"
        )
    return lines
