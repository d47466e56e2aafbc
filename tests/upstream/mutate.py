"""Breaks rules of the server at random, one at a time, and counts which of them the tests notice.

    python -m tests.upstream mutate --count 40 --seed 1 [--require 36] [--patience 600]

A rule is a comparison, which is turned round (`<` becomes `>=`, `in` becomes `not in`), or a condition of an `and` or
`or`, which is dropped. Rules are drawn in turn from validation, admission, quotas, storage and access. Each is broken
in a copy of the tree, where the tests run that can notice: first the unit tests that import the module, nearest first,
then those of servers that are about its part. They stop at the first failure; a test that fails without the change too
does not count. Exit 1 where --require is not reached.

What is not noticed is printed: a test for it is missing, or the rule decides nothing (an optimization, a message).
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
from pathlib import Path

from tests.upstream.mutations import Mutation, mutated, mutations
from tests.upstream.noticing import noticing

ROOT = Path(__file__).parents[2]
PARTS = ("gateway/validation", "gateway/admission", "gateway/quotas", "storage", "gateway/access")
LEFT_OUT = ("storage/etcd/generated",)
COPIED = ("apiserver_gateway", "gateway", "storage", "tests", "hack", "docs", "deploy", "examples", "proto", ".ci")
AT_ONCE = 25  # files of tests per run of pytest: the nearest ones find most


def main(given: Sequence[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream mutate", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--require", type=int, help="how many must be noticed; nine of ten by default")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds for the tests of one broken rule")
    parser.add_argument("--list", action="store_true", help="only print which rules are broken")
    options = parser.parse_args(given)
    chosen = drawn(options.count, options.seed)
    if options.list:
        print("\n".join(map(str, chosen)))
        return 0
    unnoticed = []
    with tempfile.TemporaryDirectory(prefix="mutate-") as directory:
        tree = copied(Path(directory))
        for number, each in enumerate(chosen, 1):
            began = time.monotonic()
            by, why = noticed(tree, each, options.patience)
            print(f"{number:3} {by or why:<60} {each} ({time.monotonic() - began:.0f} s)", flush=True)
            if not by:
                unnoticed.append(each)
    found, least = len(chosen) - len(unnoticed), options.require or -(-options.count * 9 // 10)
    print(f"seed {options.seed}: {found} of {len(chosen)} broken rules were noticed, {least} are asked for")
    return 0 if found >= least else 1


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


def noticed(tree: Path, mutation: Mutation, patience: float) -> tuple[str, str]:
    """The test that fails with the broken rule, and passes without it; or "" and why there is none."""
    file, until = tree / mutation.file, time.monotonic() + patience
    source = file.read_text(encoding="utf-8")
    files = noticing(tree, mutation.file)
    for start in range(0, len(files), AT_ONCE):
        try:
            file.write_text(mutated(source, mutation), encoding="utf-8")
            by = failing(tree, files[start : start + AT_ONCE], until - time.monotonic())
        except subprocess.TimeoutExpired:
            return "", "NOT NOTICED IN TIME"
        finally:
            file.write_text(source, encoding="utf-8")
        if by:
            anyway = failing(tree, [by.partition(" ")[2]], math.inf).startswith(("FAILED ", "ERROR "))
            return ("", f"NOT NOTICED, and without it too {by}") if anyway else (by, "")
    return "", "NOT NOTICED"


def failing(tree: Path, files: list[str], patience: float) -> str:
    """The first failing test, or the file that cannot be imported; "" if all pass. Raises TimeoutExpired."""
    words = ["-x", "-q", "-m", "not long", "-p", "no:cacheprovider", "--timeout=120", "--tb=no", "-rfE", *files]
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
