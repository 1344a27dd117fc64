"""The experiments by their ids."""

from __future__ import annotations

from collections.abc import Iterable

from dpbandits._validation import check_choice
from dpbandits.experiments.audit_catalogue import AUDIT_EXPERIMENTS
from dpbandits.experiments.head_catalogue import HEAD_EXPERIMENTS
from dpbandits.experiments.ja25_catalogue import JA25_EXPERIMENTS
from dpbandits.experiments.regret_catalogue import REGRET_EXPERIMENTS
from dpbandits.experiments.settings import Experiment
from dpbandits.experiments.stopping_catalogue import STOPPING_EXPERIMENTS
from dpbandits.experiments.td16_catalogue import TD16_EXPERIMENTS
from dpbandits.experiments.trial_catalogue import TRIAL_EXPERIMENTS
from dpbandits.experiments.twzw22_catalogue import TWZW22_EXPERIMENTS

__all__ = ["EXPERIMENTS", "resolve"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.id: experiment
    for experiment in (
        *REGRET_EXPERIMENTS,
        *STOPPING_EXPERIMENTS,
        *TD16_EXPERIMENTS,
        *TWZW22_EXPERIMENTS,
        *JA25_EXPERIMENTS,
        *AUDIT_EXPERIMENTS,
        *HEAD_EXPERIMENTS,
        *TRIAL_EXPERIMENTS,
    )
}
"""Id → experiment, by the order in which they came to the book."""


def resolve(ids: str | Iterable[str]) -> tuple[Experiment, ...]:
    """Return the experiments that `ids` means: an id, several, or "all".

    Raises
    ------
    ValueError
        If an id is unknown: the message lists what exists.
    """
    if not isinstance(ids, Iterable):
        raise ValueError(
            f"ids={ids!r} is neither an id nor several; allowed: all, {', '.join(EXPERIMENTS)}"
        )
    names = [ids] if isinstance(ids, str) else list(ids)
    for name in names:
        check_choice("id", name, (*EXPERIMENTS, "all"))
    if not names:
        raise ValueError(f"ids={ids!r} names nothing; allowed: all, {', '.join(EXPERIMENTS)}")
    if "all" in names:
        return tuple(EXPERIMENTS.values())
    return tuple(EXPERIMENTS[name] for name in dict.fromkeys(names))
