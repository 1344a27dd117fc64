"""Shared fixtures, and the account of false alarms; the inequalities are in ``statistical.py``."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

import dpbandits as dpb
from dpbandits._engine import running
from dpbandits._engine.streams import Seeds

# The same examples in every run, so that a failure is a change of code and not of luck.
settings.register_profile("the same", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("the same")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def small_instance():
    """Three arms that a few thousand pulls can tell apart."""
    return dpb.instances.bernoulli([0.8, 0.5, 0.2], "small")


def pytest_collection_modifyitems(items):
    """Note on each statistical test what it may spend: at most 1e-6, or it is refused."""
    for item in items:
        mark = item.get_closest_marker("statistical")
        if mark is not None:
            spent = mark.kwargs.get("false_alarm", 1e-6)
            if spent > 1e-6:
                raise pytest.UsageError(f"{item.nodeid}: false_alarm={spent}; allowed: up to 1e-6")
            item.user_properties.append(("false_alarm", spent))


def pytest_terminal_summary(terminalreporter):
    """Add up the false-alarm probabilities of the statistical tests that ran."""
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if getattr(report, "when", None) == "call"
    ]
    spent = [dict(report.user_properties).get("false_alarm", 0.0) for report in reports]
    if any(spent):
        terminalreporter.write_line(
            f"{sum(map(bool, spent))} statistical tests, "
            f"false-alarm probability of all together at most {sum(spent):.1g}"
        )


@pytest.fixture
def same_seeds(monkeypatch):
    """Let seeds ignore what is simulated, so that two configurations get the same bits."""
    monkeypatch.setattr(
        running,
        "case_seeds",
        lambda configuration, seed, n_runs: Seeds([seed], range(n_runs)),
    )
