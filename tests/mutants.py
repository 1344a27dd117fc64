"""Faults put in by hand, one at a time, each of which a unit test has to notice: ``make mutants``.

``python tests/mutants.py --minutes 8 --count 320`` goes on where the last slice stopped; what was
found stands in ``_build/mutants/state.json``, and is forgotten for a module whose text changes.
A mutant is a function with one comparison, operation, number or call exchanged; what only makes a
message or a representation is not touched. The tests are collected once; then each mutant has a
fork, in which its code replaces that of the function, and the tests that call the function run, the
quickest first, until one fails. A kernel is run without compiling, as are all those of its module.
Which functions a test calls is noted when it is first timed, and kept until its file changes. Tests
over ``--patience`` seconds are left out. A mutant that is not reached is in a function that no test
left calls, as it is called only while the modules are read, or only in longer tests.
``mutants.md`` says of each survivor why it lives.

Run the unit tests before, so that what they compile is on the disk. Timing a file takes a minute or
two; delete ``_build/mutants/times.json`` when functions have been renamed.
"""

import argparse
import ast
import copy
import functools
import gc
import hashlib
import importlib
import json
import os
import random
import resource
import signal
import sys
import time
import types
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from numba.core.dispatcher import Dispatcher

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "_build" / "mutants"
MEMORY = 6 << 30
"""What a mutant may ask for, in bytes."""

TESTS = {  # of a group, of a module: files of tests/dpbandits, or another folder, without "test_"
    "rewards": {
        "rewards/binomial": "sums discrete corners",
        "rewards/heavy_laws": "heavy_laws sums laws",
        "rewards/instances": "instances rewards formulas twzw22_lower",
        "rewards/laws": "laws rewards estimates",
        "rewards/pareto_sums": "sums laws discrete",
        "rewards/populations": "rewards private_identification planning",
        "rewards/run": "rewards",
        "rewards/truncated_sums": "sums corners heavy_laws",
    },
    "mechanisms": {
        "mechanisms/counters": "counters td16 accounting",
        "mechanisms/discrete": "discrete group_sequential",
        "mechanisms/first_passage": "first_passage counters",
        "mechanisms/hybrid_signs": "counters td16",
        "mechanisms/noise": "laplace discrete accounting validation",
        "mechanisms/noisy_counts": "group_sequential discrete laplace",
        "mechanisms/randomised_response": "ldp_ucb laplace rewards",
    },
    "stopping": {
        "stopping/bernstein": "bernstein stopping",
        "stopping/ebgstop": "stopping halting_law",
        "stopping/estimates": "estimates stopping",
        "stopping/halting": "halting_law stopping_bounds",
        "stopping/halting_laws": "halting_law stopping_bounds",
        "stopping/hoeffding": "stopping stopping_bounds bernstein",
        "stopping/nas": "stopping halting_law stopping_bounds corners",
    },
    "regret": {
        "regret/bennett_elimination": "exact_elimination",
        "regret/binomial_elimination": "binomial_elimination",
        "regret/dp_ucb": "dp_ucb formulas",
        "regret/dp_ucb_hybrid": "td16",
        "regret/dp_ucb_int": "td16 formulas",
        "regret/dprucb": "heavy_regret",
        "regret/elimination": "audit_parts elimination exact_elimination",
        "regret/explore_then_commit": "explore_then_commit",
        "regret/guess_and_double": "guess_and_double",
        "regret/heavy": "audit_parts heavy_regret",
        "regret/lazy_dp_ts": "lazy_batches",
        "regret/lazy_ucb": "lazy_batches",
        "regret/ldp_ucb": "ldp_ucb",
        "regret/planning": "regret_planning",
        "regret/tuned_elimination": "audit_parts exact_elimination",
    },
    "identification": {
        "divergences": "divergences formulas characteristic_time",
        "identification/adap_tt": "private_identification planning",
        "identification/characteristic": "characteristic_time formulas",
        "identification/dp_tt": "private_identification",
        "identification/dplre": "lre_page private_identification",
        "identification/evidence": "evidence lre_page",
        "identification/fixed_design": "planning private_identification formulas",
        "identification/group_estimates": "group_sequential",
        "identification/group_plan": "group_sequential",
        "identification/group_sequential": "group_sequential",
        "identification/planning": "planning",
        "identification/thresholds": "private_identification identification formulas",
        "identification/transport": "characteristic_time divergences evidence",
    },
    "bounds": {
        "bounds/bernstein": "bernstein formulas",
        "bounds/binomial_elimination": "binomial_elimination formulas",
        "bounds/elimination": "elimination exact_elimination bounds formulas",
        "bounds/lazy": "lazy_batches bounds formulas corners",
        "bounds/one_look": "explore_then_commit formulas",
        "bounds/regret": "bounds ldp_ucb dp_ucb formulas corners",
        "bounds/stopping": "stopping_bounds formulas",
        "bounds/td16": "td16 formulas corners",
        "bounds/twzw22": "heavy_regret twzw22_lower formulas",
        "schedules/epochs": "elimination exact_elimination formulas",
        "schedules/noise_widths": "corners td16 formulas",
    },
    "privacy": {
        "guarantees": "privacy validation",
        "privacy": "accounting corners",
    },
    "auditing": {
        "auditing/betting": "audit_parts audit_tape audit",
        "auditing/coverage": "audit_parts audit",
        "auditing/event_tree": "audit audit_twins",
        "auditing/elimination_laws": "audit_parts audit audit_twins exact_elimination",
        "auditing/exact": "audit_parts audit audit_twins",
        "auditing/verdicts": "audit_parts audit audit_state",
    },
}
FILES = {module: files for group in TESTS.values() for module, files in group.items()}
COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
COMPARED |= {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
COMBINED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
COMBINED |= {ast.Pow: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult}
CALLED = {"log": "log2", "log2": "log", "min": "max", "max": "min", "ceil": "floor"}
CALLED |= {"floor": "ceil", "minimum": "maximum", "maximum": "minimum", "log1p": "log"}
CALLED |= {"sqrt": "log1p", "any": "all", "all": "any", "expm1": "exp", "sf": "cdf", "cdf": "sf"}
UNTOUCHED = (ast.Raise, ast.JoinedStr, ast.Assert, ast.AnnAssign, ast.Import, ast.ImportFrom)
UNTOUCHED += (ast.arguments,)  # defaults are no part of the code


def exchanged(node):
    """Yield what a node may become: itself, with one thing in it exchanged."""
    new = copy.copy(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        new.ops = [COMPARED[type(node.ops[0])](), *node.ops[1:]]
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in COMBINED:
        new.op = COMBINED[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        new = node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        new.value = not node.value
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        new.value = node.value + 1 if isinstance(node.value, int) else node.value * 1.25 or 1.0
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        new.func = copy.copy(node.func)
        field = "id" if isinstance(node.func, ast.Name) else "attr"
        setattr(new.func, field, CALLED.get(getattr(node.func, field), ""))
        if not getattr(new.func, field):
            return
    else:
        return
    yield new


def places(tree):
    """Yield where something may be exchanged: a node, its field there, and its place in a list."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for at, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or isinstance(child, UNTOUCHED):
                continue
            for new in exchanged(child):
                yield tree, name, at, child, new
            yield from places(child)


def put(parent, field, at, node):
    """Put a node in its place."""
    if at is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[at] = node


def mutants(module):
    """Return the mutants of a module: what is exchanged, the function, and the text then."""
    tree = ast.parse((ROOT / "src/dpbandits" / f"{module}.py").read_text("utf-8"))
    owners = [("", tree)]
    owners += [(f"{each.name}.", each) for each in tree.body if isinstance(each, ast.ClassDef)]
    found = {}
    for prefix, owner in owners:
        for body in owner.body:
            if not isinstance(body, ast.FunctionDef) or body.name.startswith(("__", "_repr")):
                continue
            for parent, field, at, old, new in places(body):
                texts = [" ".join(ast.unparse(each).split())[:70] for each in (old, new)]
                name = f"{module}:{old.lineno} {body.name}: {texts[0]} → {texts[1]}"
                put(parent, field, at, new)
                found[name] = prefix + body.name, ast.unparse(tree)
                put(parent, field, at, old)
    return found


def function_of(module, qualname):
    """Return a function of a module as it was written, without what decorates it, or None."""
    found = importlib.import_module(f"dpbandits.{module.replace('/', '.')}")
    for part in qualname.split("."):
        found = vars(found)[part]
    for _ in range(9):
        if isinstance(found, types.FunctionType) and found.__code__.co_qualname == qualname:
            return found
        if isinstance(found, Dispatcher):
            found = found.py_func
            continue
        inner = [getattr(found, each, None) for each in ("__wrapped__", "fget", "func", "__func__")]
        found = next((each for each in inner if each is not None), None)
    return None


def is_kernel(module, qualname):
    found = importlib.import_module(f"dpbandits.{module.replace('/', '.')}")
    return isinstance(vars(found).get(qualname), Dispatcher)


def interpret(module):
    """Let the kernels of a module run without compiling, wherever they are called by name."""
    home = f"dpbandits.{module.replace('/', '.')}"
    for each in list(sys.modules.values()):
        for name, what in list(vars(each).items()):
            if isinstance(what, Dispatcher) and what.py_func.__module__ == home:
                setattr(each, name, what.py_func)


def code_of(text, qualname):
    """Return the code of a function in the text of a module."""
    inside = [compile(text, "mutant", "exec", dont_inherit=True)]
    while inside:
        code = inside.pop()
        if code.co_qualname == qualname:
            return code
        inside += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    raise LookupError(qualname)


def in_fork(work):
    """Return what is written by ``work(write)``, lines of JSON, and whether it came to its end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        work(lambda what: os.write(writing, (json.dumps(what) + "\n").encode()))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        told = [json.loads(line) for line in lines]
    _, status = os.waitpid(child, 0)
    return told, status == 0


def passes(item):
    return all(report.passed for report in runtestprotocol(item, nextitem=None, log=False))


def file_of(stem):
    """Return the file of tests that a name in `TESTS` means."""
    folder, _, name = stem.rpartition("/")
    return ROOT / "tests" / (folder or "dpbandits") / f"test_{name}.py"


def timed(items, patience, interpreted=None):
    """Return the time of each test that passes, and the functions of the package it calls."""
    package = str(ROOT / "src/dpbandits") + "/"

    def work(write):
        if interpreted:
            interpret(interpreted)
        for item in items[begun:]:
            codes = set()

            def note(frame, event, argument, codes=codes):
                if event == "call":
                    codes.add(frame.f_code)

            write([item.nodeid, None, []])
            start = time.process_time()
            signal.setitimer(signal.ITIMER_VIRTUAL, patience)  # the signal ends the fork
            sys.setprofile(note)
            passed = passes(item)
            sys.setprofile(None)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            called = [each for each in codes if each.co_filename.startswith(package)]
            names = [f"{c.co_filename[len(package) : -3]}:{c.co_qualname}" for c in called]
            write([item.nodeid, time.process_time() - start if passed else None, sorted(names)])

    begun, told = 0, {}
    while begun < len(items):
        told |= {test: [took, names] for test, took, names in in_fork(work)[0]}
        begun = len(told)
    return {test: what for test, what in told.items() if what[0] is not None}


def is_noticed(module, qualname, text, tests):
    """Return whether a test fails, takes far too long or dies when a function is exchanged."""

    def work(write):
        function = function_of(module, qualname)
        if is_kernel(module, qualname):
            interpret(module)
        function.__code__ = code_of(text, qualname)
        for item, took in tests:
            signal.alarm(int(60 + 10 * took))
            signal.setitimer(signal.ITIMER_VIRTUAL, 5 + 5 * took)  # the signal ends the fork
            if not passes(item):
                os._exit(1)

    return not in_fork(work)[1]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def load(name):
    path = WORK / name
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def save(name, what):
    (WORK / name).write_text(json.dumps(what, indent=1, ensure_ascii=False), "utf-8")


def chosen(count, only):
    """Return mutants of all groups in turn, the same in every slice: module, name, what it is."""
    groups = []
    for modules in TESTS.values():
        listed = [m for m in modules if not only or m in only]
        found = [(m, name, what) for m in listed for name, what in mutants(m).items()]
        random.Random(41).shuffle(found)
        groups.append(found)
    longest = max(map(len, groups))
    turns = [group[i] for i in range(longest) for group in groups if i < len(group)]
    return turns[:count]


class Hunt:
    """To pytest a plug-in: instead of running the tests it tries the mutants on them."""

    def __init__(self, options):
        self.options, self.end = options, time.monotonic() + 60 * options.minutes
        self.found, self.times = load("state.json"), load("times.json")

    def tests_of(self, module, qualname, items):
        """Yield of each file the tests that call a function, and their times; measure if new."""
        interpreted = module if is_kernel(module, qualname) else None
        for stem in FILES[module].split():
            file, patience = file_of(stem), self.options.patience
            here = [i for i in items if i.path == file and not i.get_closest_marker("slow")]
            key = f"{stem} {digest(file)} {patience:g} s {interpreted or ''}"
            if key not in self.times:
                self.times[key] = timed(here, patience, interpreted)
                save("times.json", self.times)
            measured = [(item, *self.times[key].get(item.nodeid, (0, []))) for item in here]
            found = [(i, took) for i, took, names in measured if f"{module}:{qualname}" in names]
            if found:
                yield sorted(found, key=lambda each: each[1])

    def pytest_runtestloop(self, session):
        wanted = chosen(self.options.count, self.options.module)
        for each in gc.get_objects():
            if isinstance(each, functools._lru_cache_wrapper):
                each.cache_clear()
        keys = {}
        for module, name, (qualname, text) in wanted:
            key = f"{name} [{digest(ROOT / 'src/dpbandits' / (module + '.py'))}]"
            keys[key] = name
            again = self.options.again and self.found.get(key) in ("lives", "not reached")
            if (key in self.found and not again) or time.monotonic() > self.end:
                continue
            begun = time.monotonic()
            self.found[key] = "not reached"
            for tests in self.tests_of(module, qualname, session.items):
                noticed = is_noticed(module, qualname, text, tests)
                self.found[key] = "dies" if noticed else "lives"
                if noticed:
                    break
            print(f"{self.found[key]} {time.monotonic() - begun:5.1f} s  {name}", flush=True)
            save("state.json", self.found)
        report({name: self.found[key] for key, name in keys.items() if key in self.found})
        return True


def report(tried):
    """Print how many mutants were tried in each group, and the survivors."""
    judged = " ".join((ROOT / "tests/mutants.md").read_text("utf-8").split())
    for group, modules in TESTS.items():
        here = [what for name, what in tried.items() if name.split(":")[0] in modules]
        counts = [f"{here.count(what)} {what}" for what in ("dies", "lives", "not reached")]
        print(f"{group}: {len(here)} tried, {', '.join(counts)}")
    for name, what in tried.items():
        if what != "dies":
            print("  judged" if name in judged else "  OPEN  ", what, name)


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--minutes", type=float, default=8.0, help="a slice, at most")
    ask.add_argument("--count", type=int, default=320, help="mutants in all")
    ask.add_argument("--module", action="append", help="these alone, as bounds/lazy")
    ask.add_argument("--again", action="store_true", help="try the survivors again")
    ask.add_argument("--patience", type=float, default=0.7, help="seconds of a test, at most")
    options = ask.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    stems = {stem for group in TESTS.values() for files in group.values() for stem in files.split()}
    files = [str(file_of(stem)) for stem in sorted(stems) if file_of(stem).exists()]
    words = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist"]
    status = pytest.main([*words, *files], plugins=[Hunt(options)])
    sys.exit(0 if status == pytest.ExitCode.NO_TESTS_COLLECTED else status)  # none ran here


if __name__ == "__main__":
    main()
