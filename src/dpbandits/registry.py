"""Every algorithm by its name: what tests, tables, the API page and the command line go through."""

from __future__ import annotations

from dpbandits.regret.base import RegretAlgorithm
from dpbandits.regret.dp_se import DPSE
from dpbandits.regret.dp_ucb import DPUCB
from dpbandits.regret.guess_and_double import GuessAndDouble
from dpbandits.regret.successive_elimination import SuccessiveElimination
from dpbandits.regret.ucb import UCB

__all__ = ["registry"]

registry: dict[str, type[RegretAlgorithm]] = {
    algorithm.__name__: algorithm
    for algorithm in (UCB, DPUCB, SuccessiveElimination, DPSE, GuessAndDouble)
}
"""Name of each algorithm's class → the class."""
