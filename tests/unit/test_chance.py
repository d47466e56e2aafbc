"""Tests do not depend on the machine's load: none waits for a fixed time or has a limit in wall time alone."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path

import pytest

from tests.until import until
from tests.upstream.chance import FREEZER, frozen, signalled

TESTS = Path(__file__).parents[1]
FREEZES = os.access(FREEZER / "cgroup.procs", os.W_OK)

# Pauses that wait for nothing which could be awaited: file -> how many, and what they are.
PAUSES = {
    "hostile/test_extension_servers.py": (4, "a server that is slow, and a client that does not read for a while"),
    "hostile/test_issuers.py": (1, "an issuer that is slow"),
    "hostile/test_unreadable.py": (2, "for those who look at intervals; what they must not do, nothing tells"),
    "integration/customresources/test_memory.py": (1, "watches end meanwhile; what comes then waits for that"),
    "hostile/test_what_goes.py": (1, "watches of a kind that has gone are told so for a moment"),
    "integration/customresources/test_watches.py": (1, "longer than what would end a watch takes"),
    "integration/encryption/kms_plugin.py": (1, "a plug-in that is slow"),
    "integration/etcd/test_outages.py": (1, "the calls are under way, or not yet: both end"),
    "integration/etcd/test_unary.py": (1, "a server that says nothing"),
    "integration/faults/load.py": (1, "as clients do before they try again"),
    "integration/reads/test_catching_up.py": (2, "readers come one after the other"),
    "integration/reads/test_shared_cache.py": (2, "a process is killed at any moment, and is away for any time"),
    "integration/reads/witness.py": (1, "a watcher that reads slowly"),
    "robustness/mixed.py": (5, "faults last for a while"),
    "robustness/test_etcd_in_trouble.py": (1, "longer than a token lives"),
    "robustness/test_members.py": (3, "load that goes on before a fault and after it"),
    "unit/encodings/test_rendering_budget.py": (1, "a task is cancelled at any moment"),
    "unit/flowcontrol/test_fair_queuing.py": (7, "the clock of its loop is simulated"),
    "unit/http/test_alarms.py": (1, "a timer of the loop, with which alarms are compared"),
    "unit/outbound/test_client.py": (1, "one connection is kept later than the other"),
    "unit/storage/instruments/test_trace.py": (2, "the wait that is measured"),
    "unit/storage/test_waiters.py": (1, "a follower that takes long"),
    "unit/observability/test_watchdog.py": (5, "beats of the watchdog, and waits that hold nothing"),
}

WORDS = re.compile(r"\b(sleep|at_most|monotonic|perf_counter|time\.time)\(")
CLOCKS = {"monotonic", "perf_counter", "time"}
CPU = {"thread_time", "process_time", "cpu_seconds"}


@cache
def trees() -> dict[str, ast.Module]:
    """The modules of the tests that use time, by path.

    Benchmarks are left out, because they measure time. So are the tools that compare with a kube-apiserver, because its
    informers do not report when they have caught up.
    """
    texts = {path.relative_to(TESTS): path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    texts = {path: text for path, text in texts.items() if not _is_tool(path) and WORDS.search(text)}
    return {path.as_posix(): ast.parse(text) for path, text in texts.items()}


def _is_tool(path: Path) -> bool:
    return path.parts[0] == "benchmarks" or (path.parts[0] == "upstream" and path.parts[1] != "node")


def called(node: ast.AST) -> str:
    """The last name in a call's function; "" if the node is not a call."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def pauses(tree: ast.AST, polls: bool = False) -> Iterator[int]:
    """The lines that sleep outside of a loop that checks a condition."""
    for node in ast.iter_child_nodes(tree):
        is_zero = isinstance(node, ast.Call) and ast.unparse(node).endswith("sleep(0)")
        if called(node) == "sleep" and not polls and not is_zero:
            yield node.lineno  # type: ignore[attr-defined]  # a call has one
        yield from pauses(node, polls or isinstance(node, ast.While))


def limits_of_a_clock(tree: ast.AST) -> Iterator[int]:
    """The lines that compare a time span of a clock with a fixed maximum, without an allowance for a busy machine."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            for each in ast.walk(node.test):
                if isinstance(each, ast.Compare) and isinstance(each.ops[0], ast.Lt | ast.LtE) and _is_span(each.left):
                    yield node.lineno
        if called(node) == "at_most":
            assert isinstance(node, ast.Call)
            names = {called(each) for each in ast.walk(node)}
            if names & CPU or (names & CLOCKS and "until_now" not in names):
                yield node.lineno


def counted_turns(tree: ast.AST) -> Iterator[int]:
    """The lines that count turns of an event loop until something is done: a thread may take any number of turns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.While) and any(called(each) == "done" for each in ast.walk(node.test)):
            counts = (each for each in ast.walk(node) if isinstance(each, ast.AugAssign))
            yield from (each.lineno for each in counts if isinstance(each.value, ast.Constant))


def impatient_clients(tree: ast.AST) -> Iterator[int]:
    """The lines that create an etcd client with its default timeout of five seconds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) == "EtcdClient" and node.args:
            settings = node.args[0]
            if called(settings) == "EtcdSettings" and "timeout" not in ast.unparse(settings):
                yield node.lineno


def _is_span(node: ast.AST) -> bool:
    names = {called(each) for each in ast.walk(node)}
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and bool(names & CLOCKS)


def test_each_is_found() -> None:
    bad = ast.parse("time.sleep(1)\nassert time.monotonic() - began < 3\nat_most(time.thread_time() - began, 1)")
    good = ast.parse("while not found():\n    assert time.monotonic() < end\n    time.sleep(0.1)\nsleep(0)")
    assert ([*pauses(bad)], [*limits_of_a_clock(bad)]) == ([1], [2, 3])
    assert ([*pauses(good)], [*limits_of_a_clock(good)]) == ([], [])
    counts = ast.parse("while not task.done():\n    await asyncio.sleep(0)\n    turns += 1")
    assert ([*counted_turns(counts)], [*counted_turns(good)]) == ([3], [])


def test_nothing_waits_for_a_fixed_time() -> None:
    found = Counter(name for name, tree in trees().items() for _ in pauses(tree))
    assert dict(found) == {name: count for name, (count, _) in PAUSES.items()}


def test_no_limit_is_one_of_a_clock_alone() -> None:
    found = [f"{name}:{line}" for name, tree in trees().items() for line in limits_of_a_clock(tree)]
    assert found == [], "tests/limits.py has limits that a busy machine does not break"


def test_nothing_counts_turns_while_a_thread_works() -> None:
    found = [f"{name}:{line}" for name, tree in trees().items() for line in counted_turns(tree)]
    assert found == [], "let the test look at which thread did the work"


def ready_at_once(tree: ast.AST) -> Iterator[int]:
    """The lines that require a ready server now: its check of etcd has a limit of two seconds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            for each in ast.walk(node.test):
                if isinstance(each, ast.Compare) and re.fullmatch(
                    r"\w.*['\"]/readyz['\"].*\.status == 200", ast.unparse(each)
                ):
                    yield node.lineno


def test_no_server_has_to_be_ready_at_once() -> None:
    bad, good = 'assert ask(a, "GET", "/readyz").status == 200', 'until(lambda: ask(a, "GET", "/readyz").status == 200)'
    assert ([*ready_at_once(ast.parse(bad))], [*ready_at_once(ast.parse(good))]) == ([1], [])
    found = [f"{path}:{line}" for path in TESTS.rglob("*.py") for line in _ready_at_once_in(path)]
    assert found == [], "wait until it is"


def _ready_at_once_in(path: Path) -> Iterator[int]:
    text = path.read_text(encoding="utf-8")
    return ready_at_once(ast.parse(text)) if "/readyz" in text else iter(())


HURRIED = 30.0  # seconds: what has to come is awaited for as long at least

# Limits on what is not to come in time: file -> how many.
AWAITED_IN_VAIN = {"unit/cel/test_program_limits.py": 1, "unit/http/test_exchange.py": 1}


def hurried(tree: ast.AST) -> Iterator[int]:
    """The lines that wait only a few seconds for something: a machine may be busy for longer."""
    for node in ast.walk(tree):
        if called(node) in {"wait_for", "timeout"}:
            assert isinstance(node, ast.Call)
            last = node.args[-1] if node.args else None
            if isinstance(last, ast.Constant) and isinstance(last.value, int | float) and last.value < HURRIED:
                yield node.lineno


def impatient(tree: ast.AST) -> Iterator[int]:
    """The lines that suppress health checks of Hypothesis, but not the one about wall time."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.keyword) or node.arg != "suppress_health_check":
            continue
        if isinstance(node.value, ast.List) and "too_slow" not in ast.unparse(node.value):
            yield node.value.lineno


def every(word: str) -> Iterator[tuple[str, ast.Module]]:
    """The modules of the tests that contain a word, by path."""
    for path in sorted(TESTS.rglob("*.py")):
        if "benchmarks" not in path.parts and word in (text := path.read_text(encoding="utf-8")):
            yield path.relative_to(TESTS).as_posix(), ast.parse(text)


def test_what_has_to_come_is_awaited_for_long() -> None:
    found = Counter(name for name, tree in every("import asyncio") for _ in hurried(tree))
    assert dict(found) == AWAITED_IN_VAIN
    assert [*hurried(ast.parse("wait_for(it, 5)\nasyncio.timeout(1)\nwait_for(it, 60)"))] == [1, 2]


def test_hypothesis_does_not_go_by_the_clock() -> None:
    found = [f"{name}:{line}" for name, tree in every("suppress_health_check") for line in impatient(tree)]
    assert found == [], "add HealthCheck.too_slow, which tests/conftest.py leaves out for all others"
    assert [*impatient(ast.parse("settings(suppress_health_check=[HealthCheck.data_too_large])"))] == [1]


def test_clients_of_etcd_wait_for_as_long_as_a_busy_machine_takes() -> None:
    bad, good = (ast.parse(f"EtcdClient(EtcdSettings((endpoint,){more}))") for more in ("", ", timeout=PATIENCE"))
    assert ([*impatient_clients(bad)], [*impatient_clients(good)]) == ([1], [])
    files = ((path, path.read_text(encoding="utf-8")) for path in (TESTS / "integration").rglob("*.py"))
    trees = {path: ast.parse(text) for path, text in files if "EtcdClient(" in text}
    assert [f"{path}:{line}" for path, tree in trees.items() for line in impatient_clients(tree)] == []


TOGETHER = {"ThreadPoolExecutor", "Thread", "gather", "TaskGroup", "at_once"}


def races_with_one_end(tree: ast.AST) -> Iterator[int]:
    """The lines of a test of simultaneous requests that assert that each of several outcomes occurs: an outcome that
    only one order of events brings about may be missing.
    """
    for test in ast.walk(tree):
        if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and TOGETHER & {*map(called, ast.walk(test))}:
            for node in (each for found in ast.walk(test) if isinstance(found, ast.Assert) for each in ast.walk(found)):
                if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq) and _is_set(node.left):
                    other = node.comparators[0]
                    if isinstance(other, ast.Set) and len(other.elts) > 1 and all(map(_is_status, other.elts)):
                        yield node.lineno


def _is_set(node: ast.AST) -> bool:
    return called(node) == "set" or isinstance(node, ast.SetComp)


def _is_status(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in range(200, 600)


def test_no_race_has_to_end_in_one_way() -> None:
    made = "def test():\n    found = at_once(calls)\n    assert set(found) {}\n    assert {{each for each in found}} {}"
    bad, good = (ast.parse(made.format(each, each)) for each in ("== {201, 403, 409}", "<= {201, 403, 409}"))
    assert ([*races_with_one_end(bad)], [*races_with_one_end(good)]) == ([3, 4], [])
    found = [f"{name}:{line}" for name, tree in every("assert ") for line in races_with_one_end(tree)]
    assert found == [], "count what is certain, and let the others be of those that may be: set(answers) <= {...}"


def test_what_another_process_does_is_waited_for_in_one_way() -> None:
    """So that all waits have the same patience and report what they waited for."""
    texts = ((path, path.read_text(encoding="utf-8")) for path in TESTS.rglob("*.py"))
    found = [path for path, text in texts if "def until(" in text for each in ast.parse(text).body if is_until(each)]
    assert found == [TESTS / "until.py"], "import it from tests.until"


def is_until(node: ast.AST) -> bool:
    """Whether it is a function `until` of a module."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "until"


@pytest.mark.parametrize(
    "way", [signalled, pytest.param(frozen, marks=pytest.mark.skipif(not FREEZES, reason="no freezer"))]
)
def test_what_a_test_has_stopped_is_not_continued_by_who_stops_at_random(
    way: Callable[[int], AbstractContextManager[None]],
) -> None:
    with subprocess.Popen(["sleep", "600"]) as program:
        try:
            with way(program.pid):
                until(lambda: state(program.pid) in "TD")
            until(lambda: state(program.pid) == "S")
            os.kill(program.pid, signal.SIGSTOP)
            until(lambda: state(program.pid) == "T")
            with way(program.pid):
                pass
            assert state(program.pid) == "T"
        finally:
            program.kill()


def state(pid: int) -> str:
    """A process' state, a letter as in proc(5)."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
