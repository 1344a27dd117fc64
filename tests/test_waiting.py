"""Waits end when their condition holds, and fail by what processes do."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest
from waiting import family, is_gone, processor_seconds, wait_for

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"


@pytest.fixture
def begin():
    """Begin a program in a process, and in a child of one."""
    begun = []

    def start(program, *words):
        begun.append(subprocess.Popen([sys.executable, "-c", program, *words]))
        return begun[-1].pid

    yield start
    for each in begun:
        for pid in family([each.pid]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        each.wait()


def test_a_wait_ends_with_its_condition(begin):
    pid = begin("")
    wait_for(lambda: is_gone(pid), pid)
    assert is_gone(pid) and is_gone(2**22 + 1) and processor_seconds([2**22 + 1]) == 0.0


def test_what_computes_for_ever_is_noticed_in_a_child_too(begin):
    pid = begin(CHILD, "while True: pass")
    with pytest.raises(AssertionError, match=r"after 1(\.\d+)? s of computing"):
        wait_for(lambda: False, pid, limit=1.0)
    assert not is_gone(pid) and len(family([pid])) == 2


def test_what_does_nothing_for_ever_is_noticed(begin):
    pid = begin("import time; time.sleep(1000)")
    with pytest.raises(AssertionError, match="do nothing"):
        wait_for(lambda: False, pid, idle=8)
