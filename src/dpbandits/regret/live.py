"""Ask and tell: an algorithm that runs on a live system, and goes on after a restart."""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import threading
import weakref
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from ctypes import CFUNCTYPE, addressof, c_double, c_uint32, c_uint64, c_void_p, cast
from typing import Any, NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits._engine.acceleration import REFERENCE
from dpbandits._secure import CalledBits, secure_generator
from dpbandits._validation import (
    check_integer,
    check_kind,
    check_number,
    check_range,
    check_seed,
    reward_of,
)
from dpbandits.configuration import ArmCount, Count, checked_arguments
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards import instances
from dpbandits.rewards.run import Ended, Playable, Run
from dpbandits.rewards.sources import Source

__all__ = ["LiveRun", "play"]

_FORMAT = "dpbandits live run, 1"
Entropy = int | list[int] | None


class LiveRun:
    """A run of an algorithm that asks for pulls, and is told their rewards.

    It is made by `play`, or by `from_json` from a saved state. The algorithm's own `play` runs
    beside the caller, and waits for the rewards of each batch that it asks for. The pulls of a
    batch can be asked for before any of its rewards is known: rewards may come late, as long as
    they are there before the algorithm decides on them. Where a program pulls several arms in turn,
    all pulls of the first are asked for, and must be told, before those of the second: outcomes
    that drift in time then favour an arm.

    Attributes
    ----------
    algorithm : RegretAlgorithm
        The algorithm that runs.
    n_arms : int
        Number of arms K.
    horizon : int
        Number T of pulls, which the algorithm is told.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> live = dpb.play(dpb.DPSE(epsilon=1.0), n_arms=2, horizon=20_000)
    >>> while not live.ended:
    ...     arm = live.ask()
    ...     live.tell(0.9 if arm == 0 else 0.1)
    >>> live.pulls[0] > live.pulls[1], live.time
    (True, 20000)
    """

    __signature__ = inspect.Signature()  # nothing to pass: `play` makes it

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError(
            "a LiveRun is made by dpb.play(algorithm, n_arms, horizon), or by LiveRun.from_json"
        )

    def _begin(
        self,
        algorithm: RegretAlgorithm,
        n_arms: int,
        horizon: int,
        moment: tuple[float, float] | None,
        noise: _Noise,
    ) -> LiveRun:
        self.algorithm, self.n_arms, self.horizon = algorithm, n_arms, horizon
        self._moment, self._noise, self._desk = moment, noise, _Desk()
        source = _LiveRewards(n_arms, self._desk)
        self._check, self._lock = _fraction, threading.RLock()
        if moment is None:
            algorithm.check_instance(instances.callback(_never, n_arms))
        else:
            heavy = instances.heavy_callback(_never, n_arms, *moment)
            algorithm.check_instance(heavy)
            source.order, source.moment_bound = heavy.order, heavy.moment_bound
            self._check = _number
        self._asked: deque[int] = deque()
        self._told: list[float] = []
        self._pulls = [0] * n_arms
        weakref.finalize(self, self._desk.close)
        rng = np.random.Generator(noise)  # type: ignore[arg-type]
        program = threading.Thread(
            target=_run, args=(algorithm, source, horizon, rng), daemon=True, name="dpbandits play"
        )
        program.start()
        self._batch = self._desk.next_batch()
        return self

    @property
    def time(self) -> int:
        """Number of pulls that have been asked for."""
        return sum(self._pulls)

    @property
    def pulls(self) -> list[int]:
        """Numbers of pulls of each arm that have been asked for, length K."""
        return [*self._pulls]

    @property
    def pending(self) -> list[int]:
        """Arms whose pulls have been asked for and not told, in the order of `ask`."""
        return [*self._asked]

    @property
    def ended(self) -> bool:
        """Whether the horizon is reached and all rewards are told."""
        return self.time == self.horizon and not self._asked

    @property
    def ready(self) -> int:
        """Number of pulls that can be asked for before another reward is told."""
        return self._batch.size - len(self._asked) - len(self._batch.rewards)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Promised privacy of the pulls of this run, if it goes on from its last state alone.

        See `to_json`. There is none if a seed was given. A local algorithm is told raw rewards
        here, and its state holds them: the guarantee is then central, with the same ε.
        """
        if not self._noise.secret:
            return NO_PRIVACY
        promised = self.algorithm.guarantee_at(self.horizon)
        return PrivacyGuarantee("central", promised.epsilon, promised.delta)

    def ask(self) -> int:
        """Return the arm of the next pull.

        Returns
        -------
        int
            The arm, from 0 to K − 1.

        Raises
        ------
        ValueError
            If the run is over, or the algorithm needs the rewards of pulls that are pending first.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> live = dpb.play(dpb.UCB(), n_arms=2, horizon=100)
        >>> live.ask()
        0
        >>> live.ask()
        Traceback (most recent call last):
        ...
        ValueError: the next arm depends on rewards that are pending: 1; allowed: to tell them first
        """
        with self._lock:
            if self.time == self.horizon:
                raise ValueError(f"the run is over after {self.horizon} pulls; allowed: no more")
            if self.ready == 0:
                raise ValueError(
                    f"the next arm depends on rewards that are pending: {len(self._asked)}; "
                    "allowed: to tell them first"
                )
            self._asked.append(self._batch.arm)
            self._pulls[self._batch.arm] += 1
            return self._batch.arm

    def tell(self, reward: float) -> None:
        """Tell the reward of the first pull that is pending.

        Parameters
        ----------
        reward : float
            The reward: a number in [0, 1], or any finite one with heavy tails.

        Raises
        ------
        ValueError
            If no pull is pending, or the reward is out of range: then nothing is told.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> live = dpb.play(dpb.UCB(), n_arms=2, horizon=100)
        >>> live.tell(1.0)
        Traceback (most recent call last):
        ...
        ValueError: reward=1.0 belongs to no pull; allowed: one for each pull that is asked for
        """
        with self._lock:
            if not self._asked:
                raise ValueError(
                    f"reward={reward!r} belongs to no pull; allowed: one for each pull that is "
                    "asked for"
                )
            checked = self._check("reward", reward_of(reward))
            self._asked.popleft()
            self._told.append(checked)
            self._batch.rewards.append(checked)
            if len(self._batch.rewards) == self._batch.size:
                self._batch = self._desk.next_batch(self._batch.rewards)

    def to_json(self) -> str:
        """Return the state of the run as text: rewards, noise, and pending pulls.

        Keep it as secret as the rewards: whoever reads it knows them, and the noise. A run that
        goes on from it has the same noise, and so the same decisions, up to here; later noise is
        drawn anew. So **go on from the last state alone, and let no pull happen that is in no saved
        state**: save after each `ask`, before its arm is used. If a run went on after its state was
        saved, or two runs go on from one state, all of them have released decisions on the same
        rewards. Their budgets add up, and `guarantee`, which knows of one run alone, does not say
        so.

        Returns
        -------
        str
            What `from_json` reads.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> live = dpb.play(dpb.DPUCB(epsilon=1.0), n_arms=2, horizon=1000)
        >>> for _ in range(10):
        ...     live.tell(float(live.ask() == 1))
        >>> again = dpb.LiveRun.from_json(live.to_json(), dpb.DPUCB(epsilon=1.0))
        >>> again.pulls == live.pulls
        True
        """
        with self._lock:
            return self._state()

    def _state(self) -> str:
        state = {
            "format": _FORMAT,
            "algorithm": repr(self.algorithm),
            "n_arms": self.n_arms,
            "horizon": self.horizon,
            "moment": self._moment,
            "seed": self._noise.seed,
            "noise": self._noise.to_text(),
            "pulls": self._pulls,
            "rewards": self._told,
        }
        return json.dumps(state) + "\n"

    @classmethod
    def from_json(cls, text: str, algorithm: RegretAlgorithm) -> LiveRun:
        """Go on with a run where `to_json` left it.

        Parameters
        ----------
        text : str
            What `to_json` returned.
        algorithm : RegretAlgorithm
            The algorithm, with the same arguments, code and version of the package.

        Returns
        -------
        LiveRun
            The run: its past pulls are those of the state, and so are the pulls that are pending.

        Raises
        ------
        ValueError
            If the text is no such state, or the state is that of another algorithm.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> state = dpb.play(dpb.UCB(), n_arms=2, horizon=1000).to_json()
        >>> dpb.LiveRun.from_json(state, dpb.DPSE(epsilon=2.0, beta=0.1))
        Traceback (most recent call last):
        ...
        ValueError: algorithm=DPSE(epsilon=2.0, beta=0.1) is not that of the state; allowed: UCB()
        """
        try:
            state: Any = json.loads(text)
            if state["format"] != _FORMAT:
                raise KeyError
            written, pulls, rewards = state["algorithm"], state["pulls"], state["rewards"]
            sizes, moment = (state["n_arms"], state["horizon"]), state["moment"]
            n_arms, horizon = (check_integer("state", size, 1) for size in sizes)
            moment = None if moment is None else (float(moment[0]), float(moment[1]))
            seed = None if state["seed"] is None else check_seed("seed", state["seed"])
            noise = _Noise(seed, _words_of(state["noise"]))
            pending = sum(pulls) - len(rewards)
        except (IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                "state cannot be read; allowed: the text that to_json returned"
            ) from error
        if repr(algorithm) != written:
            raise ValueError(
                f"algorithm={algorithm!r} is not that of the state; allowed: {written}"
            )
        run = cls.__new__(cls)._begin(algorithm, n_arms, horizon, moment, noise)
        try:
            for reward in rewards:
                run.ask()
                run.tell(reward)
            for _ in range(pending):
                run.ask()
        except ValueError as error:
            raise ValueError(f"state cannot be read: {error}") from error
        if run.pulls != pulls:
            raise ValueError(
                f"state has pulls {pulls}, and the algorithm made {run.pulls}; allowed: the "
                "algorithm with the same code, in the same version of the package"
            )
        return run


@checked_arguments
def play(
    algorithm: RegretAlgorithm,
    n_arms: ArmCount,
    horizon: Count,
    *,
    moment: tuple[float, float] | None = None,
    seed: int | Sequence[int] | None = None,
) -> LiveRun:
    """Begin a run whose rewards are told one by one, such as on a live system.

    Parameters
    ----------
    algorithm : RegretAlgorithm
        The algorithm; its own `play` is the program that runs, without an accelerator.
    n_arms : int
        Number of arms K.
    horizon : int
        Number T of pulls, which the algorithm is told.
    moment : tuple of (float, float), optional
        For heavy tails: order v in (0, 1] and bound u of the moment E∣X∣^(1+v) ≤ u. Without it,
        rewards are in [0, 1].
    seed : int or sequence of int, optional
        Seed of the noise, for rehearsals: whoever knows it can take the noise away, and the run
        promises nothing. Without one the noise comes from the operating system's secure generator.

    Returns
    -------
    LiveRun
        The run, before its first pull.

    Raises
    ------
    ValueError
        If an argument is out of range, or the algorithm is not for such rewards.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> live = dpb.play(dpb.AdaPUCB(epsilon=1.0), n_arms=3, horizon=1000)
    >>> arm = live.ask()
    >>> live.tell(0.75)
    >>> str(live.guarantee), live.time
    ('ε = 1, central, event level', 1)

    A batch can be asked for at once, and told later:

    >>> patients = [live.ask() for _ in range(live.ready)]
    >>> for _ in patients:
    ...     live.tell(1.0)
    """
    check_kind("algorithm", algorithm, RegretAlgorithm, "DPSE(epsilon=1.0)")
    entropy = None if seed is None else check_seed("seed", seed)
    noise = _Noise(entropy, [])
    return LiveRun.__new__(LiveRun)._begin(algorithm, n_arms, horizon, moment, noise)


def _fraction(name: str, value: Any) -> float:
    return check_range(name, value, 0, 1)


def _number(name: str, value: Any) -> float:
    number = check_number(name, value, "a finite number")
    if not math.isfinite(number):
        raise ValueError(f"{name}={value!r} is out of range; allowed: a finite number")
    return number


def _never(arm: int) -> float:
    raise AssertionError(arm)


class _Batch(NamedTuple):
    """Pulls of an arm that are asked for together, and the rewards that are told so far."""

    arm: int
    size: int
    rewards: list[float]


class _ClosedError(BaseException):
    """Nobody asks any more; an algorithm's own ``except Exception`` lets it pass."""


class _Desk:
    """Where a program, in its thread, leaves a request and waits; it knows nothing of the run."""

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._request: _Batch | None = None
        self._answer: list[float] | None = None
        self._rest: deque[_Batch] | None = None
        self._error: BaseException | None = None
        self._closed = False

    def close(self) -> None:
        """End the program at its request."""
        with self._turn:
            self._closed = True
            self._turn.notify_all()

    def serve(self, arm: int, size: int) -> list[float]:
        """Return the rewards of a batch, when they are told: for the program."""
        with self._turn:
            self._request = _Batch(arm, size, [])
            self._turn.notify_all()
            while self._answer is None and not self._closed:
                self._turn.wait()
            if self._answer is None:
                raise _ClosedError
            answer, self._answer = self._answer, None
            return answer

    def end(self, rest: list[_Batch], error: BaseException | None = None) -> None:
        """Leave the pulls that nobody reads, which end the run: for the program."""
        with self._turn:
            self._rest, self._error = deque(rest), error
            self._turn.notify_all()

    def next_batch(self, answer: list[float] | None = None) -> _Batch:
        """Answer the last request, and return the next."""
        with self._turn:
            if self._rest is None:
                self._answer = answer
                self._turn.notify_all()
                while self._request is None and self._rest is None:
                    self._turn.wait()
            if self._error is not None:
                raise self._error
            if self._rest is not None:
                return self._rest.popleft() if self._rest else _Batch(0, 0, [])
            batch, self._request = self._request, None
            assert batch is not None
            return batch


class _LiveRewards(Source):
    """Rewards that somebody tells."""

    order: float
    moment_bound: float

    def __init__(self, n_arms: int, desk: _Desk) -> None:
        self.n_arms, self.desk = n_arms, desk
        self.served = [0] * n_arms

    def total(self, arm: int, size: int) -> float:
        return float(self.ready(arm, size).sum()) if size else 0.0

    def ready(self, arm: int, most: int) -> Floats:
        arm, most = self._check(arm, most)
        self.served[arm] += most
        return np.array(self.desk.serve(arm, most), dtype=np.float64)

    def unread(self, pulls: list[int]) -> Iterator[tuple[int, int]]:
        """Yield arms and their pulls that were counted, and that no request was about."""
        for arm, (counted, served) in enumerate(zip(pulls, self.served, strict=True)):
            if counted > served:
                yield arm, counted - served


class _CountedRun(Run):
    """A run in which pulls whose rewards a part did not ask for are asked for all the same."""

    source: _LiveRewards

    def delegate(self, algorithm: Playable, horizon: int, pulls: int, rng: Rng) -> None:
        super().delegate(algorithm, horizon, pulls, rng)
        for arm, size in self.source.unread(self.pulls):
            self.source.ready(arm, size)


def _run(algorithm: RegretAlgorithm, source: _LiveRewards, horizon: int, rng: Rng) -> None:
    """Play: in its own thread. The rewards of the last pulls decide nothing."""
    try:
        run = _CountedRun(source, np.array([horizon], dtype=np.int64), REFERENCE)
        with contextlib.suppress(Ended):
            algorithm.play(run, horizon, rng)
        if not run.ended:
            raise ValueError(
                f"{type(algorithm).__name__}.play returned after {run.time} of {horizon} pulls; "
                "allowed: it goes on until the run is ended"
            )
        rest = source.unread(run.counts[-1].tolist())
        source.desk.end([_Batch(arm, size, []) for arm, size in rest])
    except _ClosedError:
        pass
    except BaseException as error:
        source.desk.end([], error)


class _Noise(CalledBits):
    """A bit generator that keeps each word of 64 bits that is drawn, and begins with given ones.

    Numbers are made of words as PCG64 makes them.
    """

    def __init__(self, seed: Entropy, words: list[int]) -> None:
        self.seed, self._kept, self._left = seed, [*words], deque(words)
        self.secret = seed is None
        if seed is None:
            secure = secure_generator()
            self._draw: Callable[[], int] = lambda: int(secure.integers(0, 2**64, dtype=np.uint64))
        else:
            bits = np.random.PCG64(seed)
            bits.advance(len(words))
            self._draw = lambda: int(bits.random_raw())
        self._half: int | None = None
        self._memory = c_uint64()
        makers = ((c_uint64, self._word), (c_uint32, self._low), (c_double, self._uniform))
        self._called = [CFUNCTYPE(result)(function) for result, function in makers]
        super().__init__(
            addressof(self._memory), [cast(f, c_void_p).value or 0 for f in self._called]
        )

    def _word(self) -> int:
        if self._left:
            return self._left.popleft()
        word = self._draw()
        self._kept.append(word)
        return word

    def _low(self) -> int:
        if self._half is not None:
            half, self._half = self._half, None
            return half
        word = self._word()
        self._half = word >> 32
        return word & 0xFFFFFFFF

    def _uniform(self) -> float:
        return (self._word() >> 11) * 2.0**-53

    def to_text(self) -> str:
        """Return the words as text."""
        return b64encode(np.array(self._kept, dtype="<u8").tobytes()).decode()


def _words_of(text: str) -> list[int]:
    """Return the words that `_Noise.to_text` wrote."""
    found: list[int] = np.frombuffer(b64decode(text, validate=True), dtype="<u8").tolist()
    return found
