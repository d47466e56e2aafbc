"""No room (folder) imports a room above it, and there are no import cycles.

Imports inside functions count, too. They keep modules out of the start; they must not hide a cycle. Imports for type
checkers also count, because a reader of a module has to know its types.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from tests.unit.later import BEGINNINGS, LATER, within
from tests.unit.sources import modules, tree_of, trees

# From the lowest on; a module belongs to the longest prefix. What stands on one line may import from each other.
ROOMS = (
    ("apiserver_gateway",),
    ("storage.instruments",),
    ("storage",),
    ("gateway.text",),
    ("gateway.children", "gateway.clock", "gateway.files", "gateway.jsontypes"),
    (
        "gateway.certificate_reader",
        "gateway.memo",
        "gateway.courtesy",
        "gateway.task_group",
        "gateway.memory",
        "gateway.pem",
        "gateway.pieces",
        "gateway.time_limits",
        "gateway.work_queue",
    ),
    ("gateway.release",),
    ("gateway.schema",),
    ("gateway.defaults",),
    ("gateway.validation",),
    ("gateway.cel",),
    ("gateway.http.status",),
    ("gateway.patches",),
    ("gateway.apply",),
    ("gateway.selectors",),
    ("gateway.http",),
    ("gateway.outbound",),
    ("gateway.webhooks",),
    ("gateway.forwarding",),
    ("gateway.kinds",),
    ("gateway.settings",),
    ("gateway.tracing",),
    ("gateway.access",),
    ("gateway.credentials",),
    ("gateway.encryption",),
    ("gateway.quotas",),
    ("gateway.admission",),
    ("gateway.allocation",),
    ("gateway.encodings",),
    ("gateway.flowcontrol",),
    ("gateway.audit",),
    ("gateway.endpoints",),
    ("gateway.discovery", "gateway.openapi"),
    ("gateway.reading",),
    ("gateway.writing",),
    ("gateway.subresources",),
    ("gateway.proxies",),
    ("gateway.verbs",),
    ("gateway.customresources",),
    ("gateway.controllers",),
    ("gateway.aggregation",),
    ("gateway.requests",),
    ("gateway.observability",),
    ("gateway.trials",),
    ("gateway.operations",),
    ("gateway.clusters",),
    ("gateway.launch",),
    ("gateway.doctor",),
    ("gateway.transfer",),
    ("gateway.commands",),
    ("gateway.__main__",),
    ("apiserver_gateway.__main__",),
)


@pytest.fixture(scope="module", autouse=True)
def nothing_stays() -> Iterator[None]:
    """Frees the syntax trees at the end: each later garbage collection would visit a million nodes."""
    yield
    trees.cache_clear()
    tree_of.cache_clear()


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements of a tree. Expressions are left out: they contain no imports, and are many more."""
    waiting = [tree]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
                yield node
                waiting.append(node)


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in _nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in modules() else node.module


@cache
def imports() -> dict[str, set[str]]:
    """The project's modules that each module imports."""
    return {name: {found for found in _imported(tree) if found in modules()} - {name} for name, tree in trees().items()}


def room_of(module: str) -> int:
    """The index of the line of ROOMS that has a module."""
    fitting = [
        (len(prefix), index)
        for index, prefixes in enumerate(ROOMS)
        for prefix in prefixes
        if module == prefix or module.startswith(prefix + ".")
    ]
    return max(fitting)[1]


def test_nothing_lower_imports_anything_higher() -> None:
    upwards = {
        f"{module} -> {imported}"
        for module, found in imports().items()
        for imported in found
        if room_of(imported) > room_of(module)
    }
    assert not upwards


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The import cycles: Tarjan's strongly connected components."""
    found: list[list[str]] = []
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            component = [stack.pop()]
            while component[-1] != node:
                component.append(stack.pop())
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def test_no_module_leads_back_to_itself() -> None:
    graph = {module: set(found) for module, found in imports().items()}
    assert circles(graph) == []


@cache
def imports_in_functions() -> dict[str, set[str]]:
    """The imports inside the functions of each module, of the project and of other packages."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    return {
        name: {found for node in _nodes(tree) if isinstance(node, functions) for found in _imported(node)}
        for name, tree in trees().items()
    }


def test_what_functions_import_is_in_the_table_of_lazily_imported_parts() -> None:
    """An import listed in tests/unit/later.py saves time at the start. Any other import belongs at the top of its
    module.
    """
    found = {
        f"{module} -> {imported}"
        for module, names in imports_in_functions().items()
        if not within(module, BEGINNINGS) and "generated" not in modules()[module].parts
        for imported in names
        if not within(imported, LATER)
    }
    assert found == set()


def test_each_lazily_imported_part_is_imported_by_a_function() -> None:
    names = set().union(*imports_in_functions().values())
    assert {part for part in LATER if not any(within(name, (part,)) for name in names)} == set()
    unused = {each for each in BEGINNINGS if not any(within(name, (each,)) for name in imports_in_functions())}
    assert unused == set(), "there are no such modules"


# The parts of a server process, of each of which there is one; of some of them one for each etcd.
WIRING = "gateway.launch.wiring"
OF_ETCD = "storage.database"
FEEDER = "gateway.launch.feeder"
PARTS = frozenset({
    "gateway.access.file_reload.Following",
    "gateway.access.modes.Authorization",
    "gateway.access.rbac.policy.RbacPolicy",
    "gateway.admission.chain.PluginParts",
    "gateway.admission.policies.policies.Policies",
    "gateway.aggregation.delegation.Delegation",
    "gateway.aggregation.extension_openapi.ExtensionOpenApi",
    "gateway.aggregation.extension_discovery.ExtensionDiscovery",
    "gateway.aggregation.aggregation.Aggregation",
    "gateway.aggregation.services.ApiServices",
    "gateway.customresources.definitions.Definitions",
    "gateway.controllers.controllers.Controllers",
    "gateway.discovery.discovery.Discovery",
    "gateway.endpoints.caches.Caches",
    "gateway.endpoints.services.Services",
    "gateway.endpoints.table.EndpointTable",
    "gateway.flowcontrol.watches.OpenWatches",
    "gateway.kinds.objects.Objects",
    "gateway.launch.app.App",
    "gateway.observability.siblings.SiblingProcesses",
    "gateway.operations.application.OperationsApplication",
    "gateway.quotas.charges.Charges",
    "gateway.requests.handler.Handler",
    "gateway.requests.interposed_stages.Interposed",
    "gateway.requests.parts.Gateway",
    "gateway.webhooks.client.Webhooks",
    "storage.catching_up.Pasts",
    "storage.cache_check.Checker",
    "storage.feed.Feed",
    "storage.reads.Reads",
    "storage.watch_cache.WatchCache",
})  # fmt: skip


def _made(tree: ast.AST) -> Iterator[str]:
    """The qualified names that a module calls after importing them by name."""
    known = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in known:
            yield known[node.func.id]


def test_the_parts_of_a_process_are_put_together_in_one_place() -> None:
    made = {name: set(_made(tree)) & PARTS for name, tree in trees().items()}
    assert made.pop(FEEDER), "which is a process of another kind"
    assert made.pop(WIRING) | made.pop(OF_ETCD) == PARTS, "a part of this list is not made any more"
    assert {name: found for name, found in made.items() if found} == {}


@pytest.mark.parametrize("module", [WIRING, "gateway.launch.app"])
def test_parts_have_what_they_need_when_they_are_made(module: str) -> None:
    targets = (
        target
        for node in ast.walk(trees()[module])
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else (node.target,))
    )
    late = [ast.unparse(each) for each in targets if isinstance(each, ast.Attribute)]
    assert [each for each in late if not each.startswith("self.")] == []


def test_objects_are_followed_in_one_way() -> None:
    """Followers get each object through storage/followers.py. No other module splits batches."""
    batches = {"Batch", "Changes", "State", "Told", "listen"}
    taps = {
        name
        for name, tree in trees().items()
        for node in _nodes(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "storage.tap"
        if batches & {alias.name for alias in node.names}
    }
    assert taps == {"storage.followers"}


LINES, LINES_OF_A_FUNCTION = 400, 50


def test_modules_and_functions_are_short() -> None:
    sources = {name: path.read_text() for name, path in modules().items() if "generated" not in path.parts}
    long = [name for name, text in sources.items() if text.count("\n") > LINES]
    long += [
        f"{name}.{node.name}"
        for name in sources
        for node in _nodes(trees()[name])
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= LINES_OF_A_FUNCTION
    ]
    assert long == []


NODES_OF_A_FACT = 30
"""A function body with at least this many syntax tree nodes may not be repeated in another function."""


def _body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """A function's body without its docstring, and with normalised names of variables."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    nodes = [node for statement in body for node in ast.walk(statement)]
    if len(nodes) < NODES_OF_A_FACT:
        return ""
    own = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names: dict[str, str] = {}

    def shown(node: ast.AST) -> str:
        if isinstance(node, ast.Name) and node.id in own:
            return names.setdefault(node.id, f"variable {len(names)}")
        return ast.dump(node) if not any(True for _ in ast.iter_child_nodes(node)) else _parts(node)

    def _parts(node: ast.AST) -> str:
        told = []
        for name, value in ast.iter_fields(node):
            several = value if isinstance(value, list) else [value]
            told.append(f"{name}={[shown(each) if isinstance(each, ast.AST) else each for each in several]}")
        return f"{type(node).__name__}({', '.join(told)})"

    return "\n".join(map(shown, body))


def test_a_body_is_the_same_whatever_its_variables_are_called() -> None:
    one, other, third = (
        node
        for node in ast.parse(
            "def a(x): return [y.z(y, 1, 2, 3) for y in x if y.w and y.v and y.u and y.t]\n"
            "def b(p):\n 'Told.'\n return [q.z(q, 1, 2, 3) for q in p if q.w and q.v and q.u and q.t]\n"
            "def c(x): return [y.z(y, 1, 2, 4) for y in x if y.w and y.v and y.u and y.t]\n"
        ).body
        if isinstance(node, ast.FunctionDef)
    )
    assert _body(one) == _body(other) != _body(third)


def test_a_fact_is_written_once() -> None:
    bodies: dict[str, list[str]] = {}
    for name, path in modules().items():
        if "generated" in path.parts:
            continue
        for node in _nodes(trees()[name]):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (body := _body(node)):
                bodies.setdefault(body, []).append(f"{name}.{node.name}")
    assert [found for found in bodies.values() if len(found) > 1] == []


def test_text_is_escaped_for_html_in_one_place() -> None:
    found = {
        name
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Constant) and node.value in ("&lt;", "&amp;"))
        or (isinstance(node, ast.Attribute) and ast.unparse(node) == "html.escape")
    }
    assert found == {"gateway.http.escapes"}


def test_json_is_escaped_for_html_in_one_place() -> None:
    """By storage/escapes.py: any other code that escapes <, > and & would contain all of them, plain or escaped."""
    found = {
        name
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node.value.startswith("<>&") or node.value.lower() in ("\\u003c", "\\u003e", "\\u0026")
    }
    assert found == {"storage.escapes"}


# Modules with state of the process, and why no object can keep it.
STATE = {
    "gateway.clock": "one clock for all objects that expire; a test sets it forward",
    "gateway.kinds.metadata": "the text of the present second, formatted once",
    "gateway.quotas.marks": "the mark of this process, which a fork changes",
    "gateway.schema.catalog": "the catalog of the minor that the process serves",
}


def test_modules_that_rebind_a_name_of_their_own_are_these() -> None:
    found = {name for name, tree in trees().items() if any(isinstance(node, ast.Global) for node in _nodes(tree))}
    assert found == STATE.keys()
