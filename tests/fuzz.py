"""Every public function, every argument, every value that has broken something.

`test_fuzz` does this; ``python tests/fuzz.py [NAME ...]`` prints all that is wrong. They are found
by introspection, so that a new one is covered on the day it is added: what its arguments are called
tells which values are good ones. Each argument in turn gets a bad value. What comes back is an
answer, or a ValueError or TypeError of one line; never another exception, never an answer for what
is no number at all, and no end that never comes.
"""

import contextlib
import dataclasses
import importlib
import inspect
import itertools
import math
import resource
import signal
import sys
import warnings
from types import ModuleType

import numpy as np

import dpbandits as dpb
from dpbandits.heavy.estimates import TruncatedMean
from dpbandits.identification import FinitePopulation
from dpbandits.trials import GroupSequential

MODULES = (
    "dpbandits",
    "dpbandits.auditing",
    "dpbandits.bounds",
    "dpbandits.heavy.estimates",
    "dpbandits.heavy.robust_means",
    "dpbandits.heavy.schedules",
    "dpbandits.identification",
    "dpbandits.privacy",
    "dpbandits.rewards.heavy_laws",
    "dpbandits.rewards.instances",
    "dpbandits.rewards.laws",
    "dpbandits.schedules",
    "dpbandits.stopping",
)
SECONDS = 30.0
"""Processor time of one call, at most: far more than any needs, far less than what never ends."""
MOST_SAID = 1000
"""Letters of a message, at most."""

NOT_NUMBERS = (None, "x", b"1", "", True, 1j, object(), {}, [[1], [1, 2]], np.array([1j]), len)
EXTREME = (math.nan, math.inf, -math.inf, -1, 0, 1.5, 2, 10**400, -(10**400), 1e308, 1e-308, 5e-324)
SHAPES = ([], (), np.zeros((0, 3)), np.array(math.nan), np.zeros((2, 2)), [math.nan, 0.5], [0.5])
BAD = (*NOT_NUMBERS, *EXTREME, *SHAPES)
NEVER = tuple(value for value in NOT_NUMBERS if value is not None)
"""What is no number, and no array of numbers: refused wherever numbers are meant."""

MANY = tuple(value for value in EXTREME if value in (-1, 2, 10**400, 1e308))
"""Numbers of workers, which would be begun."""

TABLE = [[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]]
INSTANCE = dpb.instances.bernoulli([0.9, 0.1])
HEAVY = dpb.instances.twzw22("S3", order=0.9)
LAW = dpb.laws.two_point(0.3)
PAIR = dpb.TablePair(TABLE, arm=0, pull=0, value=1.0)
STREAM = dpb.TablePair([[-1.0, 1.0, 1.0, 1.0]], arm=0, pull=0, value=1.0)
PATIENTS = FinitePopulation((70, 30), (100, 90))
RULE = dpb.DPNAS(1.0, 0.5, 0.05)
GUARANTEE = dpb.PrivacyGuarantee("central", 1.0)


def reward(arm=0):
    return 0.5


def sampler(rng, size):
    return np.full(size, 0.5)


GOOD = {  # by the name of an argument, whatever the function
    **dict.fromkeys(("alpha", "beta", "delta", "confidence", "share", "failure"), 0.1),
    **dict.fromkeys(("epsilon", "half_range", "moment", "moment_bound", "eta", "scale"), 1.0),
    **dict.fromkeys(("noise", "sampling", "slack", "gamma", "block_scale", "constant"), 1.0),
    **dict.fromkeys(("threshold_scale", "query_scale", "second_moment", "regret", "high"), 1.0),
    **dict.fromkeys(("low", "level"), 0.0),
    **dict.fromkeys(("mean", "gap", "width", "tv", "probability", "declared_mean"), 0.25),
    **dict.fromkeys(("x", "y", "u", "mean_a", "weight_a", "weight_b", "best", "variance"), 0.25),
    **dict.fromkeys(("mean_b", "ratio", "ratio_a", "ratio_b", "order"), 0.5),
    **dict.fromkeys(("a", "b", "log_term", "log_time", "exponent", "distance"), 1.5),
    **dict.fromkeys(("n_arms", "n_viable", "epoch", "n", "look", "interval", "arms"), 2),
    **dict.fromkeys(("horizon", "pulls", "length", "max_samples", "max_pulls"), 1000),
    **dict.fromkeys(("threshold", "value", "n_epochs", "test", "n_audits"), 1),
    **dict.fromkeys(("n_pulls", "per_arm", "draws", "count", "tried"), 4),
    **dict.fromkeys(("n_runs", "slow_runs"), 2),
    **dict.fromkeys(("arm", "pull"), 0),
    **dict.fromkeys(("function",), reward),
    **dict.fromkeys(("private", "forgets"), True),
    **dict.fromkeys(("table", "entries"), TABLE),
    **dict.fromkeys(("stream", "neighbour", "margins"), (1.0, 1.0, 0.5)),
    **dict.fromkeys(("target", "algorithm", "base"), dpb.DPSE(1.0)),
    **dict.fromkeys(("upper", "treatment"), 0.75),
    **dict.fromkeys(("lower", "control", "p"), 0.3),
    **dict.fromkeys(("per_look", "look_size"), 50),
    **dict.fromkeys(("critical", "factor", "log_failure", "q"), 2.0),
    **dict.fromkeys(("likely", "rare"), (0.5, 0.25, 0.25)),
    "design": GroupSequential(50, 2.0),
    "null": 0.3,
    "alternative": 0.7,
    "looks": 3,
    "noise_scale": 1.0,
    "patients": 1000,
    "size": 10.0,
    "times": [10.0, 1000.0],
    "shape": 2.0,
    "deviation": 0.1,
    "noise_failure": 0.01,
    "means": [0.9, 0.5],
    "mean_rewards": (0.9, 0.5),
    "variances": [0.09, 0.25],
    "gaps": [0.0, 0.4],
    "numbers": (1, 2),
    "counts": (1, 2),
    "scales": (1.0, 2.0),
    "losses": [0.1, 0.2],
    "values": (0.0, 1.0),
    "probabilities": (0.5, 0.5),
    "successes": (7, 3),
    "sizes": (10, 9),
    "rule": RULE,
    "law": LAW,
    "laws": (LAW, dpb.laws.two_point(0.2)),
    "instance": INSTANCE,
    "source": INSTANCE,
    "population": PATIENTS,
    "subject": dpb.DPUCB(1.0),
    "pair": PAIR,
    "promised": GUARANTEE,
    "sampler": sampler,
    "model": "central",
    "name": "C1",
    "rng": None,  # a fresh one for each call
}
OWN = {  # where the name alone does not tell
    "printed_adap_ucb_regret": {"alpha": 3.1},
    "BoundedInstance": {"laws": (dpb.laws.beta(2.0, 3.0), dpb.laws.beta(3.0, 2.0))},
    "CallbackLaw": {"function": lambda: 0.5},
    "DPTT": {"n_arms": 2},
    "HeavyTailInstance": {"laws": HEAVY.laws, "order": 0.9, "moment_bound": HEAVY.moment_bound},
    "LawCode": None,
    "MeanErrors": None,
    "TruncatedMean": {"model": "central"},
    "TwoPointLaw": {"low": 0.0},
    "DPSPRT.run": {"outcomes": (1.0, 0.0)},
    "calibrated_sprt": {"design": dpb.DPSPRT(0.3, 0.7, epsilon=1.0)},
    "GroupSequential.score": {"look": 1, "treatment": 30, "control": 20},
    "GuessAndDouble.stretches": {"end": 100},
    "estimate_difference": {"look": 1, "treatment": 25, "control": 24},  # it goes on: no p-value
    "fitted_cut": {"linear": 2.0},
    "expected_bound": {"p": 0.5, "q": 0.2},
    "GroupSequential.error_bound": {"low": 0.3, "high": 0.7},
    "ReplayInstance": {"arms": (0, 1, 0), "outcomes": (1.0, 0.5, 0.0)},
    "ReplayedRewards": {"arms": np.array([0, 1, 0]), "rewards": np.array([1.0, 0.5, 0.0])},
    "RunningTrial": {"releases": ((26, 24),)},
    "RunningTrial.look": {"number": 2, "treatment": (30, 50), "control": (20, 50)},
    **{name: {"n_runs": 16} for name in ("audit", "power")},
    "only": {"arms": (0, 1)},
    "lazy_dp_ts_regret": {"alpha": 1.5},
    "loglog_bracket": {"a": 1.5, "b": 0.05},
    "group_privacy_factor": {"distance": 0.5},
    **{name: {"law": HEAVY.laws[0]} for name in ("TruncatedMean.error", "TruncatedMean.rms")},
    "audit_stopping": {"pair": STREAM, "n_runs": 16},
    "compiled": {"function": lambda total, pulls, t: total / pulls},
    "estimate_many": {"cases": {"a": (RULE, LAW)}},
    "identify": {"algorithm": dpb.DPTT(1.0, 0.1)},
    "identify_many": {"cases": {"a": (dpb.DPTT(1.0, 0.1), INSTANCE)}},
    "error_lower_bound": {"order": 0.5},
    "heavy_callback": {"n_arms": 2},
    "hoeffding_stopping_samples": {"rule": dpb.DPHoeffdingStop(1.0, 0.5, 0.05)},
    "ja25": {"name": "mu1"},
    "promised_lower_bound": {"promise": 0.2},
    "promised_samples": {"rule": dpb.DPPromisedStop(1.0, 0.5, 0.05)},
    "mean_errors_many": {
        "cases": {"a": (TruncatedMean("central", 1.0, 0.5), HEAVY.laws[0], 100)},
    },
    "simulate_many": {"horizon": 1000, "cases": {"a": (dpb.DPSE(1.0), INSTANCE)}},
    "simulate_trials": {"algorithm": dpb.DPTT(1.0, 0.1)},
    "simulate_trials_many": {"cases": {"a": (dpb.DPTT(1.0, 0.1), PATIENTS)}},
    "td16": {"name": "two"},
    "robust_mean": {"x": [0.5] * 1000},
    "twzw22": {"name": "S1"},
    "DPUCBInt": {"epsilon": 0.5, "exponent": 1.1},
    "UniformLaw": {"low": 0.0},
    "moment_evidence": {"x": np.array([0.5, 1.0])},
}
RECORDS = {  # what functions return, and protocols: no reader makes one
    *(
        "FunctionSubject",
        "Audit",
        "Auditable",
        "Bracket",
        "Constants",
        "Coverage",
        "CutPlan",
        "Decision",
        "EpochPlan",
        "Estimates",
    ),
    *(
        "GroupEstimate",
        "GroupSequentialPlan",
        "LeastSamples",
        "Operating",
        "Option",
        "Power",
        "RegretPlan",
    ),
    *(
        "TrialLook",
        "HaltingLaw",
        "HeavyEpochPlan",
        "Identifications",
        "LawCode",
        "MeanErrors",
        "Outcome",
    ),
    *("Outputs", "Plan", "PrivacyLoss", "ReleasePlan", "Rewards", "RobustMean", "Runs", "Samples"),
    *("SPRTLaw", "SPRTRun"),
    *("StoppingTimes", "WindowPlan", "TreeIndexPlan", "TrialPlan", "Trials", "HeavyLaw", "Law"),
}
SLOW = {"audit", "plan_group_sequential", "plan_regret", "power"}
"""What takes seconds with good arguments, and is left to a run by hand."""
OPEN: set[str] = set()
"""What some value still breaks, each with a reason."""
WORDS = {"name", "label", "event"}
"""Arguments that are words, for people."""


PLAYING = {
    "indices",
    *(
        "play",
        "stop",
        "decide",
        "draw",
        "draw_table",
        "outputs",
        "rewards",
        "loss",
        "sums",
        "locate",
        "estimate_near_0",
    ),
    *(
        "cost",
        "far",
        "is_beaten",
        "release",
        "demand",
        "is_left_behind",
        "plan",
        "plan_epoch",
        "bonus",
    ),
    *(
        "expectation",
        "noise_share",
        "reordered",
        "loop",
        "once",
        "posteriors",
        "moments",
        "ready",
        "rounded_total",
        "total",
        "take",
        "tell",
        "sample",
    ),
    *("truncated_total", "rounded_truncated_total", "truncated_mean", "truncated_variance"),
    *("least_cost", "time_to_reach", "first_time", "check_instance", "counter", "drawn", "bounds"),
}
"""Methods that loops call, with arguments that are checked before."""


def public():
    """Yield every public function and class, each once, and what a test of it is called."""
    seen = set()
    for name in MODULES:
        module = importlib.import_module(name)
        listed = getattr(module, "__all__", None) or [
            each for each, found in vars(module).items() if getattr(found, "__module__", "") == name
        ]
        for each in sorted(listed):
            found = getattr(module, each)
            known = getattr(found, "__module__", "").startswith("dpbandits")
            kernel = hasattr(found, "py_func") or each.endswith("_kernel")
            if each.startswith("_") or isinstance(found, ModuleType) or not callable(found):
                continue
            if not known or kernel or inspect.isabstract(found) or each in RECORDS:
                continue
            if id(found) not in seen:
                seen.add(id(found))
                yield each, found


def cases():
    """Yield each of them that takes arguments, and the methods of what the classes make."""
    seen = set()
    for name, found in public():
        if inspect.signature(found).parameters:
            yield name, found, None
        if not isinstance(found, type):
            continue
        for method, function in inspect.getmembers(found, inspect.isfunction):
            inner = len(inspect.signature(function).parameters) > 1
            new = inner and not method.startswith("_") and method not in PLAYING
            if new and function not in seen:
                seen.add(function)
                yield f"{name}.{method}", found, method


def good_arguments(function, name):
    """Return arguments with which a function works: those that it needs, no more."""
    own = OWN.get(name, {})
    needed = [
        each
        for each, parameter in inspect.signature(function).parameters.items()
        if parameter.default is inspect.Parameter.empty or each in own or each == "n_runs"
    ]
    missing = [each for each in needed if each not in own and each not in GOOD]
    assert not missing, f"{name}: GOOD or OWN has no value of {missing}"
    return {each: own.get(each, GOOD.get(each)) for each in needed}


class Late(Exception):
    """A call took too long."""


@contextlib.contextmanager
def bounded_time(seconds):
    """Let what runs here have so many seconds of processor time."""

    def late(number, frame):
        raise Late

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    except SystemError as error:  # a compiled loop in which the signal came
        raise (Late if isinstance(error.__cause__ or error.__context__, Late) else error) from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


@contextlib.contextmanager
def bounded_memory():
    """Let no call take more than 4 GB of addresses beyond what the process has."""
    with open("/proc/self/statm", encoding="ascii") as pages:
        used = int(pages.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + 4 * 2**30, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def in_time(function, arguments):
    """Call within `SECONDS`; what is late may have compiled something, and is called again."""
    with contextlib.suppress(Late), bounded_time(SECONDS):
        return call(function, arguments)
    with bounded_time(SECONDS):
        return call(function, arguments)


def call(function, arguments):
    if "rng" in arguments and arguments["rng"] is None:
        arguments = {**arguments, "rng": np.random.default_rng(0)}
    found = function(**arguments)
    return list(itertools.islice(found, 12)) if inspect.isgenerator(found) else found


def numeric(parameter):
    """Whether an annotation speaks of numbers, and of nothing else but None."""
    text = str(parameter.annotation)
    return not any(word in text for word in ("str", "Literal", "Callable", "Any", "check_choice"))


def has_nan(found):
    """Whether an answer is, or holds, what is no number."""
    if found is None or dataclasses.is_dataclass(found) or isinstance(found, dict | str | type):
        return False
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        return bool(np.isnan(np.asarray(found, dtype=float)).any())
    return False


def faults(found, method):
    """Yield what is wrong about a function, an argument and a value at a time."""
    function, name = found, found.__name__
    if method is not None:
        function = getattr(call(found, good_arguments(found, name)), method)
        name = f"{name}.{method}"
    good = good_arguments(function, name if name in OWN else method or name)
    usual = call(function, good)
    for name, parameter in inspect.signature(function).parameters.items():
        for value in BAD:
            if name == "n_jobs" and any(value is each for each in MANY):
                continue
            what = f"{name}={value!r}"
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    found = in_time(function, {**good, name: value})
            except (ValueError, TypeError) as error:
                if not 0 < len(str(error).strip()) < MOST_SAID:
                    yield f"{what}: a {type(error).__name__} of {len(str(error))} letters"
                continue
            except Late:
                yield f"{what} takes over {SECONDS} s of the processor"
                continue
            except Exception as error:
                yield f"{what}: {type(error).__name__}: {str(error)[:80]}"
                continue
            never = any(value is each for each in NEVER) and name not in WORDS
            never = never and not (value is len and name in ("subject", "target"))
            never = never and not (value == {} and "Mapping" in str(parameter.annotation))
            told = isinstance(parameter.default, bool) or "Flag" in str(parameter.annotation)
            default = value is True and told
            if never and numeric(parameter) and not default:
                yield f"{what} is accepted"
            elif has_nan(found) and not has_nan(usual):
                yield f"{what} gives nan"


def main():
    chosen = sys.argv[1:]
    for name, found, method in cases():
        if chosen and name not in chosen and name.partition(".")[0] not in chosen:
            continue
        try:
            with bounded_memory():
                wrong = list(faults(found, method))
        except (AssertionError, AttributeError, TypeError, ValueError) as error:
            wrong = [f"good arguments do not do: {error}"]
        for each in wrong:
            print(f"{name}: {each[:150]}", flush=True)


if __name__ == "__main__":
    main()
