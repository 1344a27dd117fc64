"""Compiled kernels on the disk do not outlive their source."""

import os

from dpbandits._files import drop_stale_kernels


def test_kernels_older_than_any_source_are_dropped(tmp_path):
    inner = tmp_path / "inner.py"
    kernel = tmp_path / "__pycache__" / "outer.play-1.py311.nbi"
    kernel.parent.mkdir()
    inner.touch()
    kernel.touch()
    os.utime(inner, (100, 100))
    os.utime(kernel, (200, 200))
    assert drop_stale_kernels(tmp_path) == 0 and kernel.exists()
    os.utime(inner, (300, 300))
    assert drop_stale_kernels(tmp_path) == 1 and not kernel.exists()
