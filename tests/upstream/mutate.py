"""Breaks rules of the server at random, one at a time, and counts which of them the tests notice.

    python -m tests.upstream mutate --count 40 --seed 1 [--seed 2 ...] [--require 36] [--patience 600] [--near]

A rule is a comparison, which is turned round (`<` becomes `>=`, `in` becomes `not in`), or a condition of an `and` or
`or`, which is dropped. Rules are drawn in turn from validation, admission, quotas, storage and access. First the short
tests run once, in a copy of the tree that tells which test evaluates which of the rules: no other test can notice it.
Then each rule is broken in the copy, and its tests run, the likeliest first, until one fails; a test that fails without
the change too does not count. Exit 1 where --require is not reached.

What is not noticed is printed: a test for it is missing, or the rule decides nothing (an optimization, a message).
--near leaves out the tests that are far (tests/upstream/noticing.py), and the line says so.
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
from tests.upstream.noticing import Noticing, watched

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
    parser.add_argument("--workers", type=int, default=2, help="of the run that looks which test evaluates which rule")
    parser.add_argument("--list", action="store_true", help="only print which rules are broken")
    options = parser.parse_args(given)
    seeds = options.seed or [0]
    chosen = [each for seed in seeds for each in drawn(options.count, seed)]
    if options.list:
        print("\n".join(map(str, chosen)))
        return 0
    least = options.require or -(-options.count * 9 // 10)
    with tempfile.TemporaryDirectory(prefix="mutate-") as directory:
        tree = copied(Path(directory))
        noticing, found = watched(tree, chosen, options.workers), [0] * len(seeds)
        for number, each in enumerate(chosen):
            began = time.monotonic()
            by, why = noticed(tree, each, chosen_tests(noticing, number, each, options.near), options.patience)
            print(f"{number + 1:3} {by or why:<60} {each} ({time.monotonic() - began:.0f} s)", flush=True)
            found[number // options.count] += bool(by)
    for seed, count in zip(seeds, found, strict=True):
        print(f"seed {seed}: {count} of {options.count} broken rules were noticed, {least} are asked for")
    return 0 if min(found) >= least else 1


def chosen_tests(noticing: Noticing, number: int, rule: Mutation, only_near: bool) -> tuple[list[str], str]:
    """The tests that run for a rule, and what is said if all pass."""
    near, far = noticing.tests(number, rule)
    if not near and not far:
        return [], "NOT NOTICED: no test evaluates it"
    if only_near and far:
        return near, f"NOT NOTICED by {len(near)} near tests of {len(near) + len(far)}"
    return near + far, f"NOT NOTICED by all of {len(near) + len(far)} tests that evaluate it"


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


def noticed(tree: Path, mutation: Mutation, asked: tuple[list[str], str], patience: float) -> tuple[str, str]:
    """The test that fails with the broken rule, and passes without it; or "" and why there is none."""
    file, until = tree / mutation.file, time.monotonic() + patience
    source, (tests, why) = file.read_text(encoding="utf-8"), asked
    edges = [0, *range(FIRST, len(tests), THEN), len(tests)]
    for start, end in pairwise(edges if len(tests) > FIRST else [0, len(tests)]):
        try:
            file.write_text(mutated(source, mutation), encoding="utf-8")
            by = failing(tree, tests[start:end], until - time.monotonic()) if end > start else ""
        except subprocess.TimeoutExpired:
            return "", f"NOT NOTICED IN TIME, by {start} of {len(tests)} tests"
        finally:
            file.write_text(source, encoding="utf-8")
        if by:
            anyway = failing(tree, [by.partition(" ")[2]], math.inf).startswith(("FAILED ", "ERROR "))
            return ("", f"NOT NOTICED, and without it too {by}") if anyway else (by, "")
    return "", why


def failing(tree: Path, tests: list[str], patience: float) -> str:
    """The first failing test, or the file that cannot be imported; "" if all pass. Raises TimeoutExpired."""
    asked = list(dict.fromkeys(each.partition("[")[0] for each in tests))  # a test with all its parameters
    words = ["-x", "-q", "-m", "not long", "-p", "no:cacheprovider", "--timeout=120", "--tb=no", "-rfE", *asked]
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
