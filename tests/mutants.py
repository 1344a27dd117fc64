"""Faults put in by hand, one at a time, each of which a unit test has to notice: ``make mutants``.

``python tests/mutants.py --minutes 8 --count 300`` goes on where the last slice stopped; what was
found stands in ``_build/mutants/state.json``, and is forgotten for a module whose text changes.
A mutant is a module with one comparison, operation, number or function exchanged. It lives in a
copy of the tree, in a process forked from one that has the libraries read; the tests of its module
run there, the quickest first, until one fails. `INTERPRETED` modules run without compiling. Tests
that take over `PATIENCE` seconds are left out. ``mutants.md`` says of each survivor why it lives.
"""

import argparse
import ast
import copy
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import hypothesis
import mpmath
import numba
import pytest
import scipy.stats

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "_build" / "mutants"
PATIENCE = 4.0
"""Tests that take longer are left out."""
COMPILING = 40.0
"""Seconds of processor time that a test may take beside its own, to compile."""
LIBRARIES = (hypothesis, mpmath, numba, scipy.stats)

TESTS = {  # of a group, of a module: files of tests/dpbandits without "test_" and ".py"
    "rewards": {
        "rewards/binomial": "discrete sums corners acceleration",
        "rewards/heavy_laws": "heavy_laws sums laws",
        "rewards/instances": "instances rewards formulas twzw22_lower",
        "rewards/laws": "laws rewards estimates",
        "rewards/matched_sums": "sums laws discrete",
        "rewards/populations": "rewards private_identification planning",
        "rewards/run": "rewards registry simulation",
        "rewards/truncated_sums": "sums corners heavy_laws",
    },
    "mechanisms": {
        "mechanisms/counters": "counters td16 accounting",
        "mechanisms/discrete": "discrete group_sequential",
        "mechanisms/first_passage": "first_passage counters skipping",
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
        "regret/bennett_elimination": "exact_elimination registry",
        "regret/binomial_elimination": "binomial_elimination registry",
        "regret/dp_ucb": "dp_ucb registry formulas",
        "regret/dp_ucb_hybrid": "td16 registry",
        "regret/dp_ucb_int": "td16 registry formulas",
        "regret/dprucb": "heavy_regret registry",
        "regret/elimination": "elimination registry exact_elimination",
        "regret/explore_then_commit": "explore_then_commit registry",
        "regret/guess_and_double": "guess_and_double registry",
        "regret/heavy": "heavy_regret registry",
        "regret/lazy_dp_ts": "lazy_batches registry",
        "regret/lazy_ucb": "lazy_batches registry",
        "regret/ldp_ucb": "ldp_ucb registry",
        "regret/planning": "regret_planning",
        "regret/tuned_elimination": "exact_elimination registry",
    },
    "identification": {
        "divergences": "divergences formulas characteristic_time",
        "identification/adap_tt": "private_identification identifier_registry planning",
        "identification/characteristic": "characteristic_time formulas",
        "identification/dp_tt": "private_identification identifier_registry",
        "identification/dplre": "lre_page private_identification identifier_registry",
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
        "auditing/accounts": "audit_tape audit",
        "auditing/betting": "audit audit_state audit_tape",
        "auditing/cells": "audit audit_twins",
        "auditing/counting": "audit_state audit",
        "auditing/elimination_laws": "audit audit_twins exact_elimination",
        "auditing/events": "audit audit_state",
        "auditing/exact": "audit audit_twins",
        "auditing/truths": "audit audit_twins",
        "auditing/verdicts": "audit audit_state",
    },
}
INTERPRETED = {"mechanisms/hybrid_signs", "regret/dp_ucb_int", "regret/lazy_ucb"}
COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
COMPARED |= {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
COMBINED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
COMBINED |= {ast.Pow: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult}
CALLED = {"log": "log2", "log2": "log", "min": "max", "max": "min", "ceil": "floor"}
CALLED |= {"floor": "ceil", "minimum": "maximum", "maximum": "minimum", "log1p": "log"}
CALLED |= {"sqrt": "log1p", "any": "all", "all": "any", "expm1": "exp", "sf": "cdf", "cdf": "sf"}
UNTOUCHED = (ast.Raise, ast.JoinedStr, ast.Assert, ast.AnnAssign, ast.Import, ast.ImportFrom)


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
    """Return the mutants of a module: what is exchanged, and its text then."""
    tree = ast.parse((ROOT / "src/dpbandits" / f"{module}.py").read_text("utf-8"))
    bodies = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("__")
    ]
    inner = {id(each) for body in bodies for each in ast.walk(body) if each is not body}
    found = {}
    for body in (each for each in bodies if id(each) not in inner):
        for parent, field, at, old, new in places(body):
            texts = [" ".join(ast.unparse(each).split())[:70] for each in (old, new)]
            name = f"{module}:{old.lineno} {body.name}: {texts[0]} → {texts[1]}"
            put(parent, field, at, new)
            found[name] = ast.unparse(tree)
            put(parent, field, at, old)
    return found


class Picker:
    """To pytest a plug-in: it runs tests in the order of their time, and measures that."""

    def __init__(self, known):
        self.known, self.times = known, {}

    def pytest_collection_modifyitems(self, items):
        if self.known:
            items[:] = [each for each in items if each.nodeid in self.known]
            items.sort(key=lambda each: self.known[each.nodeid])

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        if self.known:  # a mutant that takes far longer ends here, by the signal
            signal.setitimer(signal.ITIMER_VIRTUAL, COMPILING + 5 * self.known[item.nodeid])
        else:
            signal.signal(signal.SIGVTALRM, self.late)
            signal.setitimer(signal.ITIMER_VIRTUAL, COMPILING + PATIENCE)
        start = time.process_time()
        yield
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        self.times.setdefault(item.nodeid, time.process_time() - start)

    def pytest_runtest_logreport(self, report):
        if report.failed or report.skipped:
            self.times[report.nodeid] = None

    def late(self, number, frame):
        raise TimeoutError


def run_tests(file, compiled, known=None, text=None, module=None):
    """Run tests in a fork, on a copy of the tree, and return its status and their times."""
    base, tree, answer = WORK / "base", WORK / "tree", WORK / "times.json"
    if text is None:
        tree = base  # where what is compiled stays
    else:
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(base, tree, copy_function=os.link)
        path = tree / "src/dpbandits" / f"{module}.py"
        path.unlink()
        path.write_text(text, "utf-8")
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        out = os.open(WORK / "out.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.setpgid(0, 0)
        os.chdir(tree)
        numba.config.DISABLE_JIT = not compiled
        sys.path[:0] = [str(tree / "src"), str(tree / "tests"), str(tree / "tests/dpbandits")]
        picker = Picker(known)
        words = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *(["-x"] if known else [])]
        status = pytest.main([*words, file], plugins=[picker])
        answer.write_text(json.dumps(picker.times))
        os._exit(int(status))
    end, done = time.monotonic() + (600 if known is None else 240), 0
    while not done and time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.02)
    if not done:
        os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return status, json.loads(answer.read_text()) if answer.exists() else {}


def times_of(file, compiled, state):
    """Return the times of tests without any mutant; what fails or takes too long is left out."""
    key = f"{file} {'compiled' if compiled else 'interpreted'} {digest(ROOT / file)}"
    if not state["times"].get(key):
        _, times = run_tests(file, compiled)
        slow = {test: t for test, t in times.items() if t and t > PATIENCE}
        state["times"][key] = times | (run_tests(file, compiled, slow)[1] if slow else {})
        if not state["times"][key]:
            sys.exit(f"{file} does not run as it stands: see {WORK}/out.txt")
        save(state)
    return {k: t for k, t in state["times"][key].items() if t is not None and t < PATIENCE}


def is_noticed(module, text, stems, state):
    """Return whether a test fails on a mutant: of the files one after the other."""
    compiled = module not in INTERPRETED
    for stem in stems.split():
        file = f"tests/dpbandits/test_{stem}.py"
        known = times_of(file, compiled, state)
        if known and run_tests(file, compiled, known, text, module)[0]:
            return True
    return False


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def save(state):
    (WORK / "state.json").write_text(json.dumps(state, indent=1, ensure_ascii=False), "utf-8")


def chosen(count, only):
    """Return mutants of all groups in turn, the same in every slice: module, name, text."""
    groups = []
    for modules in TESTS.values():
        listed = [m for m in modules if not only or m in only]
        found = [(m, name, text) for m in listed for name, text in mutants(m).items()]
        random.Random(41).shuffle(found)
        groups.append(found)
    longest = max(map(len, groups))
    turns = [group[i] for i in range(longest) for group in groups if i < len(group)]
    return turns[:count]


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--minutes", type=float, default=8.0, help="a slice, at most")
    ask.add_argument("--count", type=int, default=300, help="mutants in all")
    ask.add_argument("--module", action="append", help="these alone, as bounds/lazy")
    ask.add_argument("--again", action="store_true", help="try the survivors again")
    options, start = ask.parse_args(), time.monotonic()
    WORK.mkdir(parents=True, exist_ok=True)
    compiled = None if not (WORK / "base").exists() else shutil.ignore_patterns("__pycache__")
    for folder in ("src", "tests"):
        shutil.copytree(ROOT / folder, WORK / "base" / folder, ignore=compiled, dirs_exist_ok=True)
    shutil.copy(ROOT / "pyproject.toml", WORK / "base")
    path = WORK / "state.json"
    state = json.loads(path.read_text("utf-8")) if path.exists() else {"times": {}, "found": {}}
    judged = (ROOT / "tests/mutants.md").read_text("utf-8")
    wanted = chosen(options.count, options.module)
    tests = {module: files for group in TESTS.values() for module, files in group.items()}
    for module, name, text in wanted:
        key = f"{name} [{digest(ROOT / 'src/dpbandits' / (module + '.py'))}]"
        if key in state["found"] and not (options.again and state["found"][key] == "lives"):
            continue
        if time.monotonic() - start > 60 * options.minutes:
            break
        begun = time.monotonic()
        noticed = is_noticed(module, text, tests[module], state)
        state["found"][key] = "dies" if noticed else "lives"
        print(f"{state['found'][key]} {time.monotonic() - begun:5.1f} s  {name}", flush=True)
        save(state)
    keys = {f"{n} [{digest(ROOT / 'src/dpbandits' / (m + '.py'))}]": n for m, n, _ in wanted}
    tried = {name: state["found"][key] for key, name in keys.items() if key in state["found"]}
    lives = [name for name, what in tried.items() if what == "lives"]
    told = [name for name in lives if name in judged]
    print(f"{len(tried)} of {len(wanted)} tried, {len(lives)} live, {len(told)} of them judged")
    for name in lives:
        print("  judged" if name in told else "  OPEN  ", name)


if __name__ == "__main__":
    main()
