"""Algorithms that pull the arm of the largest index, with an index of your own."""

from __future__ import annotations

import abc
import dataclasses
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpbandits._arrays import Rng
from dpbandits._validation import check_kind
from dpbandits.configuration import Budget, Number
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.mechanisms.counters import BinaryTree
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.run import Run

__all__ = ["IndexAlgorithm", "compiled"]


@dataclass(frozen=True)
class IndexAlgorithm(RegretAlgorithm, abstract=True):
    """Base of algorithms with an index of their own; `compiled` makes one of a function.

    Every arm once, then at time t the arm of the largest index; ties go to the lowest arm number. A
    subclass is a frozen dataclass of numbers, and defines `index`; its loop is compiled where it is
    simulated or audited. `play` is the same program in Python, except that Python raises errors.

    With a finite ε, the index is computed from private sums: each arm has a binary tree over its
    rewards, whose nodes have Laplace noise of scale (⌊log2 T⌋ + 1)/ε. A reward is in the tree of
    one arm, so the sequence of all released sums is ε-private, and so is everything that an index
    makes of them (:prf:ref:`lem-tree`). The noisy sum may lie outside of [0, n]: an index must be
    defined there. Where Python raises an error, such as for the root of a negative number, the
    compiled loop goes on with nan; `play`, and so a live run, ends.

    Attributes
    ----------
    epsilon : float
        Privacy budget ε > 0, given by name; with ``inf``, the default, the sums have no noise.

    Examples
    --------
    >>> import math
    >>> from dataclasses import dataclass
    >>> import dpbandits as dpb
    >>> @dataclass(frozen=True)
    ... class Moss(dpb.IndexAlgorithm):
    ...     label, source = "MOSS", "Audibert & Bubeck 2009"
    ...     horizon: float
    ...     arms: float
    ...
    ...     @staticmethod
    ...     def index(total, pulls, t, horizon, arms):
    ...         room = max(math.log(horizon / (arms * pulls)), 0.0)
    ...         return total / pulls + math.sqrt(room / pulls)
    >>> runs = dpb.simulate(Moss(1000, 2), dpb.instances.bernoulli([0.9, 0.5]), 1000, n_runs=5)
    >>> runs.how, bool(runs.pulls[:, 0].min() > 900)
    ('compiled', True)
    """

    epsilon: Budget = field(default=math.inf, kw_only=True)

    @staticmethod
    @abc.abstractmethod
    def index(total: float, pulls: int, t: int, *arguments: float) -> float:
        """Return the index of an arm.

        Parameters
        ----------
        total : float
            Sum of its rewards, with noise if ε is finite.
        pulls : int
            Number n of its pulls so far, at least 1.
        t : int
            Number of the pull to decide on, from K + 1.
        *arguments : float
            The fields of the dataclass but `epsilon`, in their order.

        Returns
        -------
        float
            The index. An arm whose index is nan or −∞ is chosen only if all are, and then arm 0.
        """

    @property
    def guarantee(self) -> PrivacyGuarantee:
        if math.isinf(self.epsilon):
            return NO_PRIVACY
        return PrivacyGuarantee("central", self.epsilon)

    @property
    def arguments(self) -> tuple[float, ...]:
        """What `index` takes behind total, pulls and t."""
        own = (each.name for each in dataclasses.fields(self) if each.name != "epsilon")
        return tuple(float(getattr(self, name)) for name in own)

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms, index, arguments = rewards.n_arms, self.index, self.arguments
        counters = []
        if math.isfinite(self.epsilon):
            tree = BinaryTree(self.epsilon, horizon)
            counters = [tree.counter(rng) for _ in range(n_arms)]
        pulls, totals = [0] * n_arms, np.zeros(n_arms).tolist()
        for t in range(1, horizon + 1):
            arm, highest = min(t, n_arms) - 1, -math.inf
            if t > n_arms:
                arm = 0
                for b in range(n_arms):
                    value = index(totals[b], pulls[b], t, *arguments)
                    if value > highest:
                        arm, highest = b, value
            reward = rewards.total(arm, 1)
            totals[arm] = counters[arm].add(reward) if counters else totals[arm] + reward
            pulls[arm] += 1


def compiled(function: Callable[..., float]) -> Any:
    """Make an algorithm of an index function: a decorator.

    Parameters
    ----------
    function : callable
        From the sum of an arm's rewards, the number of its pulls, the number t of the pull to
        decide on, and numbers of your choice, to the index of the arm. It is compiled by Numba:
        numbers, functions of `math`, conditions and loops. Numbers from outside of it are fixed
        when it is compiled.

    Returns
    -------
    type
        A subclass of `IndexAlgorithm` with the function's name; its arguments are the function's
        own after the first three, with their defaults, and `epsilon`.

    Raises
    ------
    ValueError
        If it is no such function.

    Examples
    --------
    >>> import math
    >>> import dpbandits as dpb
    >>> @dpb.compiled
    ... def my_ucb(total, pulls, t, c=2.0):
    ...     return total / pulls + math.sqrt(c * math.log(t) / pulls)
    >>> my_ucb(c=0.5), str(my_ucb(epsilon=1.0).guarantee)
    (my_ucb(c=0.5), 'ε = 1, central, event level')
    >>> arms = dpb.instances.bernoulli([0.9, 0.5])
    >>> runs = dpb.simulate(my_ucb(c=0.5), arms, horizon=10_000, n_runs=5)
    >>> runs.how, bool(runs.mean()[-1] < 100)
    ('compiled', True)
    """
    check_kind("function", function, Callable, "a function of total, pulls and t")  # type: ignore[arg-type]
    given = list(inspect.signature(function).parameters.values())
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if len(given) < 3 or any(each.kind not in positional for each in given):
        raise ValueError(
            f"function={function!r} takes {inspect.signature(function)}; allowed: total, pulls, t, "
            "and numbers by name"
        )
    options: list[Any] = [
        (each.name, Number)
        if each.default is inspect.Parameter.empty
        else (each.name, Number, field(default=each.default))
        for each in given[3:]
    ]
    name = function.__name__
    told = {
        "label": name,
        "source": "an index of your own",
        "index": staticmethod(function),
        "__module__": function.__module__,
        "__qualname__": function.__qualname__,
        "__doc__": function.__doc__ or f"Pull the arm of the largest `{name}`.",
        "__repr__": _repr,
    }
    return dataclasses.make_dataclass(
        name, options, bases=(IndexAlgorithm,), namespace=told, frozen=True, repr=False
    )


def _repr(algorithm: IndexAlgorithm) -> str:
    """Return the algorithm as it is called; ε where it is finite."""
    fields = [each.name for each in dataclasses.fields(algorithm)]
    shown = [
        f"{name}={getattr(algorithm, name)!r}"
        for name in sorted(fields, key=lambda each: each == "epsilon")
        if name != "epsilon" or math.isfinite(algorithm.epsilon)
    ]
    return f"{type(algorithm).__name__}({', '.join(shown)})"
