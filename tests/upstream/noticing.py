"""Finds the tests that can notice a broken rule: those that evaluate it. They are found by running the tests once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.upstream.mutations import Mutation, observed
from tests.upstream.reached import IMPORTED

SERVERS = {  # part of the server -> folders of tests in which a server does that part's work
    "gateway/validation": ("writes", "customresources", "representations"),
    "gateway/admission": ("admission", "writes"),
    "gateway/quotas": ("quotas",),
    "storage": ("etcd", "reads", "writes"),
    "gateway/access": ("access",),
}
UNIT = "tests/unit/"
MOST = 400  # unit tests that are near


class Noticing:
    """Which tests evaluate which rules, as one run of the short tests has shown."""

    def __init__(self, found: Mapping[int, set[str]], seconds: Mapping[str, float]) -> None:
        self._found, self._seconds = found, seconds

    def tests(self, number: int, rule: Mutation) -> tuple[list[str], list[str]]:
        """The near tests of a rule, and the others; the likeliest come first. Both are empty if no test evaluates it.

        Near are unit tests, those of its module first, and tests with servers of its part. What is left is thousands
        of tests for some rules.
        """
        found = set(self._found.get(number, ()))
        if IMPORTED in found:  # each test depends on it
            found = set(self._seconds)
        unit = sorted((each for each in found if each.startswith(UNIT)), key=lambda test: self._place(rule, test))
        servers = sorted(found.difference(unit), key=lambda test: self._place(rule, test))
        of_part = [each for each in servers if each.startswith(_folders(rule))]
        near = unit[:MOST] + of_part
        return near, unit[MOST:] + [each for each in servers if each not in set(of_part)]

    def _place(self, rule: Mutation, test: str) -> tuple[int, float, str]:
        file, room = test.partition("::")[0], _room(rule)
        mirrors = file.startswith(room) and file.endswith(f"/test_{Path(rule.file).stem}.py")
        return 0 if mirrors else 1 if file.startswith(room) else 2, self._seconds.get(test, 0.0), test


def named(tree: Path, rule: Mutation) -> list[list[str]]:
    """The files of unit tests that are about a rule's module, by their names and imports; the likeliest come first.

    First those that mirror the module or import it, then the others of its room. No test runs to find them, so some
    that would notice the rule are missing.
    """
    module = rule.file.removesuffix(".py").replace("/", ".")
    package, _, stem = module.rpartition(".")
    imports = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{stem}\b")
    mirrors, importing, room = list[str](), list[str](), list[str]()
    for path in sorted((tree / UNIT).rglob("test_*.py")):
        file = path.relative_to(tree).as_posix()
        if path.name == f"test_{stem}.py" and file.startswith(_room(rule)):
            mirrors.append(file)
        elif imports.search(path.read_text(encoding="utf-8")):
            importing.append(file)
        elif file.startswith(_room(rule)):
            room.append(file)
    own = f"{UNIT}{rule.file.removeprefix('gateway/').rpartition('/')[0]}/"
    room.sort(key=lambda file: not file.startswith(own))
    return [each for each in ([*mirrors, *importing], room) if each]


def _room(rule: Mutation) -> str:
    return f"{UNIT}{rule.file.removeprefix('gateway/').partition('/')[0]}/"


def watched(tree: Path, rules: Sequence[Mutation], workers: int, *, only_near: bool = False) -> Noticing:
    """Runs the short tests, or only those that may be near, on a copy of the tree, in which each rule says when it is
    evaluated. What fails does not count: some tests look at the source, or at the time.
    """
    record = tree.parent / "reached"
    record.touch()
    sources = {file: (tree / file).read_text(encoding="utf-8") for file in {each.file for each in rules}}
    for file, source in sources.items():
        numbered = {number: each for number, each in enumerate(rules) if each.file == file}
        (tree / file).write_text(observed(source, numbered), encoding="utf-8")
    words = ["-m", "not long", "-p", "no:cacheprovider", "-p", "tests.upstream.reaching", "--timeout=300", "--tb=no"]
    spread = ["-n", f"{workers}", "--dist", "loadfile", "--no-loadscope-reorder"]
    environment = os.environ | {"PYTHONPATH": str(tree), "APISERVER_GATEWAY_REACHED": str(record)}
    command = [sys.executable, "-m", "pytest", *words, *spread]
    if only_near:
        command += [UNIT, *sorted({each for rule in rules for each in _folders(rule)})]
    subprocess.run(command, cwd=tree, env=environment | {"HYPOTHESIS_PROFILE": "once"}, check=False)
    for file, source in sources.items():
        (tree / file).write_text(source, encoding="utf-8")
    found: dict[int, set[str]] = {}
    for line in record.read_text(encoding="utf-8").splitlines():
        number, test = json.loads(line)
        found.setdefault(number, set()).add(test)
    times = Path(f"{record}.times").read_text(encoding="utf-8").splitlines()
    return Noticing(found, dict(map(json.loads, times)))


def _folders(rule: Mutation) -> tuple[str, ...]:
    part = next(part for part in SERVERS if rule.file.startswith(part))
    return tuple(f"tests/integration/{folder}/" for folder in SERVERS[part])
