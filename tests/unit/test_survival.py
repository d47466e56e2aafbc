"""A failed piece of work does not end a thread or task that serves many callers without notice.

The tests find in the source each place that starts a thread or task. Its function may have a loop only if a failed
piece of work does not end the loop (`gateway.pieces`, or `except Exception` around the piece), or if `except Exception`
around the loop reports the end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.unit.sources import tree_of, with_word

BEGINNING = {"Thread", "create_task", "ensure_future"}
SURVIVING = {"survive", "survive_async", "each", "each_async", "guarded", "work", "keep_beating"}

# what is begun and is not a function of the same module: why nobody is left waiting when it fails
ELSEWHERE = {
    ("gateway.aggregation.aggregation", "work"): "survives each key",
    ("gateway.clusters.reconciler", "work"): "survives each key",
    ("gateway.clusters.reconciler", "UnfinishedWork(self._table, self._leading).run"): "survives each look",
    ("gateway.clusters.unfinished", "each_async"): "survives each control plane",
    ("gateway.clusters.table", "awake.end"): "who puts it to rest waits for it, and is told",
    ("gateway.clusters.table", "self.awake"): "one control plane, which the next change wakes",
    ("gateway.clusters.table", "self.common.feed.run"): "with all of the table: the process begins it anew",
    ("gateway.commands.etcd_flags", "work"): "one piece of work, whose caller waits for it",
    ("gateway.customresources.definitions", "work"): "survives each key",
    ("gateway.customresources.serving", "clean_up"): "one definition",
    ("gateway.controllers.controllers", "observer.run"): "with all controllers: election begins them anew",
    ("gateway.controllers.controllers", "foreign.run"): "with all controllers: election begins them anew",
    ("gateway.controllers.controllers", "work"): "survives each key",
    ("gateway.http.cycle", "self.run_asgi"): "one request",
    ("gateway.http.protocol", "cycle.run_asgi"): "one request",
    ("gateway.launch.background", "work"): "a failure ends the process, which says why",
    ("gateway.launch.feeder", "each"): "a failure ends the process, which is begun anew",
    ("gateway.launch.process", "keep_beating"): "without a beat the process is begun anew",
    ("gateway.reading.older_history", "awaited"): "one watch, whose task waits for it",
    ("storage.consistency", "work"): "fails all who wait for it",
    ("storage.memo", "make"): "one piece of work, whose callers wait for it",
    ("storage.pages", "asked"): "one page, whose caller waits for it",
    ("storage.backups.restore", "make"): "one part of a restore, whose caller waits for it",
}

# loops in which a failure ends the task: why that is right
ENDING = {
    ("gateway.aggregation.availability", "_ask"): "one probe",
    ("gateway.http.tunnel", "carry"): "one tunnel, which ends",
    ("gateway.http.websocket", "heard"): "one watch, which ends",
    ("gateway.http.websocket", "told"): "one watch, which ends",
    ("gateway.launch.launch", "_stop_with"): "it waits for one thing: that its starter is gone",
    ("gateway.launch.process", "_tell_time"): "until the start is over",
    ("gateway.proxies.channels", "_coming"): "one session, which ends",
    ("gateway.proxies.channels", "_going"): "one session, which ends",
    ("storage.history_seed", "_ask_for_progress"): "one start, which goes on without",
}
EVENTS = {"wait", "channel_ready", "anext", "disconnected", "guard", "read", "fill", "after", "watch"}
"""Methods that are waited for by who begins them: a failure is raised there."""


@dataclass(frozen=True)
class Begun:
    """The start of a thread or task: its text, and its function if that is in the same module."""

    module: str
    text: str
    line: int
    function: ast.FunctionDef | ast.AsyncFunctionDef | None


def _functions(tree: ast.AST) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def _name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@cache
def begun() -> tuple[Begun, ...]:
    """All threads and tasks of the server."""
    return tuple(_begun())


def _begun() -> Iterator[Begun]:
    for module in with_word(*BEGINNING):
        tree = tree_of(module)
        functions = _functions(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or _name_of(node.func) not in BEGINNING:
                continue
            given = [each.value for each in node.keywords if each.arg == "target"] or node.args[:1]
            if not given:
                continue
            target = given[0].func if isinstance(given[0], ast.Call) else given[0]
            own = isinstance(target, ast.Name) or ast.unparse(target).startswith("self._")
            name = _name_of(target)
            yield Begun(module, ast.unparse(target), node.lineno, functions.get(name) if own else None)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of nested functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _own(child)


def _is_broad(handler: ast.ExceptHandler) -> bool:
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(each is None or _name_of(each) in ("Exception", "BaseException") for each in types)


def _catches(node: ast.AST) -> bool:
    return isinstance(node, ast.Try) and any(map(_is_broad, node.handlers))


def survives(function: ast.AST) -> bool:
    """Whether a function has no loop, or only loops that a failed piece of work cannot end without notice."""
    loops = [node for node in _own(function) if isinstance(node, ast.While | ast.AsyncFor)]
    if isinstance(function, ast.AsyncFunctionDef):  # what waits for nothing comes to an end
        loops = [loop for loop in loops if any(isinstance(each, ast.Await) for each in _own(loop))]
    caught = [node for node in _own(function) if _catches(node)]
    around = {inner for node in caught for inner in _own(node)}
    for loop in loops:
        inside = list(_own(loop))
        called = {_name_of(each.func) for each in inside if isinstance(each, ast.Call)}
        if loop not in around and not any(map(_catches, inside)) and not called & SURVIVING:
            return False
    return True


def test_each_thread_and_task_survives_its_pieces() -> None:
    wrong = []
    for each in begun():
        if each.function is not None:
            if not survives(each.function) and (each.module, each.function.name) not in ENDING:
                wrong.append(f"{each.module}:{each.line}: {each.text} ends with a piece that fails")
        elif (each.module, each.text) not in ELSEWHERE and each.text.rpartition(".")[2] not in EVENTS:
            wrong.append(f"{each.module}:{each.line}: who is told when {each.text} fails?")
    assert wrong == []


def test_what_is_allowed_is_there() -> None:
    texts = {(each.module, each.text) for each in begun()}
    names = {(each.module, each.function.name) for each in begun() if each.function is not None}
    assert set(ELSEWHERE) <= texts
    assert set(ENDING) <= names


def test_the_test_finds_what_would_end() -> None:
    """Found: a loop without protection, and one whose `except` catches one error only. Not found: a protected loop."""

    def function(body: str) -> ast.AST:
        return ast.parse(f"async def f():\n    {body}").body[0]

    ends = "while True:\n        await piece()"
    one_error = "while True:\n        try:\n            await piece()\n        except OSError:\n            pass"
    each = one_error.replace("OSError", "Exception")
    all_of_it = "try:\n        while True:\n            await piece()\n    except Exception:\n        tell()"
    by_pieces = "while True:\n        await survive_async(piece, 1, told, None)"
    assert [survives(function(body)) for body in (ends, one_error, each, all_of_it, by_pieces)] == [
        False,
        False,
        True,
        True,
        True,
    ]
