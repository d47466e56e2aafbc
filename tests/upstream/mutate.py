"""Breaks rules of the server at random, one at a time, and counts which of them the tests notice.

    python -m tests.upstream mutate --count 40 --seed 1 [--seed 2 ...] [--from 20] [--require 36] [--patience 600]
        [--near | --named]

A rule is a comparison, which is turned round (`<` becomes `>=`, `in` becomes `not in`), or a condition of an `and` or
`or`, which is dropped. Rules are drawn in turn from validation, admission, quotas, storage and access. First the short
tests run once, in a copy of the tree that tells which test evaluates which of the rules: no other test can notice it.
Then each rule is broken in the copy, and its tests run, the likeliest first, until one fails; a test that fails without
the change too does not count. Exit 1 where --require is not reached.

What is not noticed is printed: a test for it is missing, or the rule decides nothing (an optimization, a message).
--near leaves out the tests that are far (tests/upstream/noticing.py), and does not run them to look. --named runs no
test to look: it takes the unit tests that mirror or import the module, and then those of its room. What it counts is a
lower bound, in a tenth of the time. --from 20 begins with the 21st rule, for a run in parts.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from tests.upstream.mutations import Mutation, mutated, mutations
from tests.upstream.noticing import Noticing, named, watched

ROOT = Path(__file__).parents[2]
PARTS = ("gateway/validation", "gateway/admission", "gateway/quotas", "storage", "gateway/access")
LEFT_OUT = ("storage/etcd/generated",)
COPIED = ("apiserver_gateway", "gateway", "storage", "tests", "hack", "docs", "deploy", "examples", "proto", ".ci")
FIRST, THEN = 40, 400  # tests in the first run of pytest, and in each that follows: the likeliest ones find most


def main(given: Sequence[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream mutate", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, action="append", help="of the draw; several share the run that looks")
    parser.add_argument("--require", type=int, help="how many must be noticed; nine of ten by default")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds for the tests of one broken rule")
    parser.add_argument("--near", action="store_true", help="leave out the tests that are far")
    parser.add_argument(
        "--named", action="store_true", help="run the unit tests of the module, by their names and imports"
    )
    parser.add_argument("--from", type=int, default=0, dest="first", help="how many rules of each seed to leave out")
    parser.add_argument("--workers", type=int, default=2, help="of the run that looks which test evaluates which rule")
    parser.add_argument("--list", action="store_true", help="only print which rules are broken")
    options = parser.parse_args(given)
    seeds = options.seed or [0]
    chosen = [each for seed in seeds for each in drawn(options.count, seed)[options.first :]]
    count = options.count - options.first
    if options.list:
        print("\n".join(map(str, chosen)))
        return 0
    least = options.require or -(-count * 9 // 10)
    with tempfile.TemporaryDirectory(prefix="mutate-") as directory:
        tree = copied(Path(directory))
        noticing = None if options.named else watched(tree, chosen, options.workers, only_near=options.near)
        found = [0] * len(seeds)
        for number, each in enumerate(chosen):
            began = time.monotonic()
            tests = chosen_tests(noticing, number, each, options.near) if noticing else named_tests(tree, each)
            by, why = noticed(tree, each, *tests, options.patience)
            print(f"{number + 1:3} {by or why:<60} {each} ({time.monotonic() - began:.0f} s)", flush=True)
            found[number // count] += bool(by)
    for seed, these in zip(seeds, found, strict=True):
        print(f"seed {seed}: {these} of {count} broken rules were noticed, {least} are asked for")
    return 0 if min(found) >= least else 1


Batches = list[list[str]]  # of tests, for one run of pytest each


def chosen_tests(noticing: Noticing, number: int, rule: Mutation, only_near: bool) -> tuple[Batches, str]:
    """The tests that run for a rule, and what is said if all pass."""
    near, far = noticing.tests(number, rule)
    if not near and not far:
        return [], f"NOT NOTICED: no {'near ' * only_near}test evaluates it"
    if only_near:
        return in_batches(near), f"NOT NOTICED by all of {len(near)} near tests that evaluate it"
    return in_batches(near + far), f"NOT NOTICED by all of {len(near) + len(far)} tests that evaluate it"


def named_tests(tree: Path, rule: Mutation) -> tuple[Batches, str]:
    """The same, of the files that are about the rule's module."""
    batches = named(tree, rule)
    return batches, f"NOT NOTICED by {sum(map(len, batches))} files of unit tests"


def in_batches(tests: list[str]) -> Batches:
    """A few tests that are likely to notice the rule, then many at a time."""
    edges = [0, *range(FIRST, len(tests), THEN), len(tests)]
    return [tests[start:end] for start, end in pairwise(edges) if end > start]


def drawn(count: int, seed: int) -> list[Mutation]:
    """The rules that a seed selects."""
    chance = random.Random(seed)
    by_part = []
    for part in PARTS:
        files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / part).rglob("*.py"))
        found = [each for file in files if not file.startswith(LEFT_OUT) for each in mutations(ROOT, file)]
        by_part.append(chance.sample(found, min(len(found), count)))
    return [by_part[number % len(PARTS)][number // len(PARTS)] for number in range(count)]


def copied(directory: Path) -> Path:
    """A copy of the parts of the tree that tests need."""
    tree = directory / "tree"
    tree.mkdir()
    for name in COPIED:
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
    for file in ROOT.iterdir():
        if file.is_file():
            shutil.copy2(file, tree / file.name)
    return tree


def noticed(tree: Path, mutation: Mutation, batches: Batches, why: str, patience: float) -> tuple[str, str]:
    """The test that fails with the broken rule, and passes without it; or "" and why there is none.

    A test that fails without it too is left out, and the others of its batch run.
    """
    file, until = tree / mutation.file, time.monotonic() + patience
    source, done, spoilt, left = file.read_text(encoding="utf-8"), 0, list[str](), list(batches)
    while left:
        try:
            file.write_text(mutated(source, mutation), encoding="utf-8")
            by = failing(tree, left[0], until - time.monotonic(), spoilt)
        except subprocess.TimeoutExpired:
            return "", f"NOT NOTICED IN TIME, by {done} of {sum(map(len, batches))}"
        finally:
            file.write_text(source, encoding="utf-8")
        if not by:
            done += len(left.pop(0))
            continue
        test = by.partition(" ")[2]
        if not failing(tree, [test], math.inf).startswith(("FAILED ", "ERROR ")):
            return by, ""
        if test in spoilt:  # it cannot be left out: its file cannot be imported
            return "", f"NOT NOTICED, and without it too {by}"
        spoilt.append(test)
    return "", why + "".join(f"; {test} fails without it too" for test in spoilt)


def failing(tree: Path, tests: list[str], patience: float, spoilt: Sequence[str] = ()) -> str:
    """The first failing test but for `spoilt`; or the file that cannot be imported; "" if all pass. Raises
    TimeoutExpired.
    """
    asked = list(dict.fromkeys(each.partition("[")[0] for each in tests))  # a test with all its parameters
    words = ["-x", "-q", "-m", "not long", "-p", "no:cacheprovider", "--timeout=120", "--tb=no", "-rfE", *asked]
    words += [f"--deselect={test}" for test in spoilt]
    environment = os.environ | {"PYTHONPATH": str(tree), "HYPOTHESIS_PROFILE": "once"}
    command = [sys.executable, "-m", "pytest", *words]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=tree, env=environment, stdout=output, stderr=output)
        try:
            status = process.wait(None if patience == math.inf else max(0.0, patience))
        except subprocess.TimeoutExpired:
            process.terminate()  # its servers end with it
            process.wait()
            raise
        output.seek(0)
        said = output.read()
    if status in (0, 5):  # 5: there are no short tests in these files
        return ""
    lines = (line for line in said.splitlines() if line.startswith(("FAILED ", "ERROR ")))
    return next(lines, f"ENDED with {status}").partition(" - ")[0]
