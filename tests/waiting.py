"""Waiting for processes by what they do, and not by a clock: a busy machine changes nothing."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

LIMIT = 120.0
"""Seconds of the processor: some thirty times what the processes of our tests need."""
IDLE = 1200
"""Looks in a row at which processes have done nothing; one that computes shows at every look."""


def stat_of(pid):
    """Return what Linux says of a process behind its name, or nothing if it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    return []


def is_gone(pid):
    """Return whether a process has ended, or has nothing left but its number."""
    return stat_of(pid)[:1] in ([], ["Z"])


def family(pids):
    """Return processes, and those that they or these have begun."""
    stats = {int(each.name): stat_of(each.name) for each in Path("/proc").glob("[0-9]*")}
    parents = {pid: int(stat[1]) for pid, stat in stats.items() if stat}
    found, more = set(), set(pids)
    while more:
        found |= more
        more = {pid for pid, parent in parents.items() if parent in found} - found
    return found


def processor_seconds(pids):
    """Return the seconds that processes, and children of theirs that have ended, have computed."""
    ticks = sum(sum(map(int, stat_of(pid)[11:15])) for pid in pids)
    return ticks / os.sysconf("SC_CLK_TCK")


def wait_for(condition, *pids, limit=LIMIT, idle=IDLE):
    """Wait until a condition holds, for as long as the processes have it come nearer.

    It fails when they, and what they began, have computed for `limit` seconds, or have done nothing
    between so many looks in a row. Where Linux does not tell, it waits.
    """
    seen, begun, before, still = set(pids), None, None, 0
    while not condition():
        if sys.platform.startswith("linux"):
            seen = family(seen)
            used = processor_seconds(seen)
            begun = used if begun is None else begun
            still = still + 1 if used == before else 0
            before = used
            assert used - begun < limit, f"after {used - begun:g} s of computing"
            assert still < idle, f"{seen} do nothing"
        time.sleep(0.05)
