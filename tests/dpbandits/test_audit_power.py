"""The power of an audit: tables that convict at one overstatement are tried at smaller ones."""

import pytest

from dpbandits.auditing import overstating, power
from dpbandits.mechanisms import LogarithmicCounter

RUNS = 8000


def blinded(audit, place):
    """Return the audit with hardly any runs, wherever less than three times ε is run."""

    def look(subject, *args, **options):
        args = list(args)
        if subject.epsilon < 3.0:
            args[place] = 16
        return audit(subject, *args, **options)

    return look


@pytest.mark.parametrize("again", [True, False])
def test_tables_that_convict_are_tried_at_smaller_overstatements(monkeypatch, again):
    """The first search sees nothing below 3; the second does, unless it is blind as well."""
    monkeypatch.setattr(overstating, "audit", blinded(overstating.audit, 1))
    if not again:
        blind = blinded(overstating.audit_by_search, 0)
        monkeypatch.setattr(overstating, "audit_by_search", blind)
    found = power(LogarithmicCounter(1.0), (1.5, 2.0, 3.0), n_runs=RUNS, all_runs=False)
    assert list(found.audits) == [1.5, 2.0, 3.0] and found.audits[3.0].convicted
    assert found.least == (1.5 if again else 3.0)
    assert found.decisive.epsilon_lower > 1.0


def test_no_overstatement_is_refused():
    with pytest.raises(ValueError, match="factors=\\(\\) is empty; allowed: at least one"):
        power(LogarithmicCounter(1.0), ())
