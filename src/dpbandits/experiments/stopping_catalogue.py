"""The experiments on stopping rules as data: the panels and settings of each figure."""

from __future__ import annotations

__all__ = ["STOPPING_EXPERIMENTS"]

STOPPING_EXPERIMENTS = ()
