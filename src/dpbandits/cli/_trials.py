"""Group-sequential trials on the command line: a plan's options, and the state between looks."""

from __future__ import annotations

import contextlib
import errno
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dpbandits as dpb
from dpbandits import _files
from dpbandits._files import write_atomically
from dpbandits._validation import check_integer, shown
from dpbandits.trials import GroupEstimate, RunningTrial, TrialLook

ENDED = {
    "continue": "go on",
    "efficacy": "stop, the treatment is better",
    "harm": "stop, the treatment is worse",
    "futility": "stop for futility, or go on, as the committee wants",
    "none": "the last look is over, and no difference is shown",
}


def arms_of(
    means: tuple[float, ...] | None, counts: str | None, deaths: bool
) -> tuple[float, float]:
    """Return the shares of success of treatment and control."""
    if counts is not None:
        (a, n), (b, m) = read_pairs(counts)
        if min(n, m) < 1:
            raise ValueError(
                f"counts={shown(counts)} has an arm without patients; allowed: one or more"
            )
        one, other = a / n, b / m
        one, other = (1.0 - one, 1.0 - other) if deaths else (one, other)
    elif means is None or len(means) != 2:
        raise ValueError(
            f"means={means!r} does not have two arms; allowed: two, with this --design"
        )
    else:
        one, other = means
    if one < other:
        given = f"means={means!r}" if counts is None else f"counts={shown(counts)}"
        raise ValueError(
            f"{given} has the treatment worse; allowed: the treatment first, which is to be better"
        )
    return one, other


def start(path: Path, plan: dpb.GroupSequentialPlan, deaths: bool) -> list[str]:
    """Write the state of a trial before its first look; never replace an existing one."""
    trial = RunningTrial(
        plan.design,
        events="deaths" if deaths else "survivors",
        assumed=(plan.treatment, plan.control),
        level=plan.interval_level,
    )
    try:
        write_atomically(path, trial.to_json(), new=True)
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise
        raise ValueError(
            f"state={str(path)!r} exists; allowed: a file that is not there yet"
        ) from None
    m, letter = plan.design.per_look, "D" if deaths else "S"
    looked = f"--counts treatment={letter}/{m},control={letter}/{m}"
    return [
        "",
        f"{path} counts {trial.events}. Each look, N = 1, 2, …, with its counts {letter}:",
        f"  dpbandits look {path} --number N {looked}{' --deaths' if deaths else ''}",
    ]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[Path]:
    """Lock a trial, as two looks at once would release one look twice; yield its resolved path.

    A look replaces one name of the file: through another one, a hard link, the same look could be
    released again.
    """
    check_regular(path)
    with contextlib.ExitStack() as held:
        try:
            own = held.enter_context(_files.locked(path))
        except (BlockingIOError, FileExistsError):
            raise ValueError(
                f"state={str(path)!r} is in use; allowed: one look at a time"
            ) from None
        names = os.stat(own).st_nlink
        if names > 1:
            raise ValueError(
                f"state={str(path)!r} is a file with {names} names (hard links); allowed: one, as "
                "a look replaces only one"
            )
        _files.check_writable(own)
        yield own


def check_regular(path: Path) -> None:
    """Raise for a pipe or a device, which does not keep the state until the next look."""
    if path.exists() and not path.is_file():
        raise ValueError(f"state={str(path)!r} is not a regular file; allowed: one")


def read(path: Path) -> RunningTrial:
    """Read the state of a trial."""
    check_regular(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(
            f"state={str(path)!r} is not text; allowed: a file that the first look or the plan "
            "wrote"
        ) from None
    return RunningTrial.from_json(text)


def release(path: Path, number: int, counts: str, deaths: bool) -> RunningTrial:
    """Release one look and store it on disk before returning the trial."""
    pairs = read_pairs(counts)
    with locked(path) as own:
        trial = read(own)
        if trial.events is not None and deaths != (trial.events == "deaths"):
            allowed = "--deaths" if trial.events == "deaths" else "without --deaths"
            raise ValueError(
                f"deaths={deaths!r}: but the plan of this trial counts {trial.events}; "
                f"allowed: {allowed}"
            )
        if deaths:
            (a, n), (b, m) = pairs
            pairs = (n - a, n), (m - b, m)
        trial.look(number, *pairs)
        write_atomically(own, trial.to_json())
    return trial


def read_pairs(text: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Read events and patients of treatment and control, given by name in any order."""
    allowed = "EVENTS/PATIENTS by arm, such as treatment=156/163,control=142/163"
    try:
        parts = [part.split("=") for part in text.split(",")]
        found = {name.strip(): tuple(int(n) for n in pair.split("/")) for name, pair in parts}
        (a, n), (b, m) = found.pop("treatment"), found.pop("control")
        if found or len(parts) > 2:
            raise ValueError
    except (ValueError, KeyError):
        raise ValueError(f"counts={shown(text)} cannot be read; allowed: {allowed}") from None
    a, b = (check_integer("counts", e, 0, max(all_, 0)) for e, all_ in ((a, n), (b, m)))
    return (a, n), (b, m)


def report(
    trial: RunningTrial, deaths: bool, level: float | None
) -> tuple[list[str], dict[str, Any]]:
    """Describe the releases and decisions, and the results that may be published."""
    design, looks = trial.design, trial.looks
    m = design.per_look
    deaths = deaths or trial.events == "deaths"
    word = "deaths" if deaths else "survivors"
    lines = [f"privacy: {trial.guarantee}"]
    if trial.rehearsal:
        lines = ["privacy: none, as this is a rehearsal, with noise that can be repeated"]
    if trial.assumed is not None:
        one, other = (1.0 - share if deaths else share for share in trial.assumed)
        lines.append(f"planned with {one:.1%} {word} of the treatment, {other:.1%} of the control")
    for each in looks:
        pair = [m - x if deaths else x for x in (each.treatment, each.control)]
        lines.append(
            f"look {each.number} of {design.looks}, {2 * m * each.number} patients: released "
            f"{word} treatment {pair[0]}, control {pair[1]}; score {each.score:.3f}, boundary "
            f"{each.bound:.3f}: {ENDED[each.decision]}"
        )
    record: dict[str, Any] = {
        "design": design,
        "guarantee": trial.guarantee,
        "looks": [each._asdict() for each in looks],
        "decision": trial.decision,
        "events": trial.events,
        "assumed": trial.assumed,
        "estimate": None,
    }
    if not looks:
        lines.append(f"no look yet; the first takes {m} patients of each arm")
    else:
        found = trial.estimate(level)
        lines += _published(found, looks[-1])
        record["estimate"] = found._asdict()
    return lines, record


def _published(found: GroupEstimate, last: TrialLook) -> list[str]:
    """Describe the results that may be published if the trial ends here, for any reason."""
    repeated = f"{100 * found.repeated_low:.1f} to {100 * found.repeated_high:.1f}"
    if math.isnan(found.median):
        return [
            "if the trial ends here, for futility or for another reason, publish, in points of "
            "success,",
            f"  the repeated interval {repeated}; no other interval is valid after such an end",
        ]
    staged = f"{100 * found.low:.1f} to {100 * found.high:.1f}"
    lines = [
        f"mean share of success {found.share:.4f}, difference of shares in points:",
        f"  median-unbiased {100 * found.median:.1f}, {100 * found.level:.4g}% interval {staged}, "
        f"P-value {found.p_value:.4f} of one side",
        f"  repeated interval {repeated}, to publish if there was another reason to end",
    ]
    if last.decision == "efficacy":
        lines.append(
            f"  (as released {100 * found.naive:.1f}: too large where a trial stops early)"
        )
    return lines
