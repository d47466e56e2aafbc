"""No stage is hidden: each is a named function in the one list; nothing replaces a stage, the endpoint or the verb."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path

import pytest

from gateway.http.exchange import Request
from gateway.http.negotiation import Representation
from gateway.http.request_info import RequestInfo
from gateway.kinds.attributes import Attributes
from gateway.requests.context import RequestContext, Route

ROOT = Path(__file__).parents[3]
LIST = "gateway/requests/stages.py"
INSERTED = {"gateway/trials/faults.py", "gateway/trials/recorder.py"}  # stages of tests (requests/interposed_stages.py)
OF_ROUTES = "gateway/requests/routes.py"
ABOVE = ("gateway/requests/", "gateway/trials/", "gateway/operations/", "gateway/launch/")
SETTERS_OF_ROUTES = {"recall", "find"}

# The result of each stage: the members of the context and of its request that this stage alone sets, and its module. A
# request that skips request-info and routing has their results from the cache (`Routes.recall`, in the same module).
RESULTS = {
    ("request-info", OF_ROUTES): {"request.info", "request.human", "request._query", "context.timeout"},
    ("authentication", "gateway/requests/identity.py"): {"context.user"},
    ("authentication", "gateway/access/spent_headers.py"): {"request.headers"},
    ("tracing", "gateway/requests/spans.py"): {"context.trace"},
    ("audit", "gateway/requests/access.py"): {"context.record", "request.audit"},
    ("impersonation", "gateway/requests/identity.py"): {"context.attributes", "request.user"},
    ("priority-and-fairness", "gateway/flowcontrol/limiter.py"): {"context.seats", "request.flow_headers"},
    ("delegation", "gateway/forwarding/upload.py"): {"request.receive"},
    ("routing", OF_ROUTES): {"context.route"},
    ("negotiation", "gateway/requests/serving_stages.py"): {
        "context.measures",
        "request.media",
        "request.representation",
    },
    ("long-running", "gateway/requests/serving_stages.py"): {"context.long", "context.watch"},
    ("verb", "gateway/requests/serving_stages.py"): {"context.response"},
    ("faults", "gateway/trials/faults.py"): {"context.faults", "context.spoil"},
    ("recorder", "gateway/trials/recorder.py"): {"context.recording", "context.asked", "context.hear"},
}
# What is set beside the stages: by the handler; by the deadline of any stage that waits; by discovery, which answers.
BESIDE = {
    ("gateway/requests/handler.py", "request.scope"),
    ("gateway/requests/handler.py", "context.send"),
    ("gateway/requests/handler.py", "request.receive"),
    ("gateway/audit/audit.py", "request.received"),
    ("gateway/requests/in_time.py", "request.body_seconds"),
    ("gateway/discovery/discovery.py", "request.media"),
}
MAKERS = {"gateway/requests/resting_context.py", "gateway/clusters/recording.py"}  # of contexts of their own
ADOPTING = {OF_ROUTES, "gateway/requests/load_stages.py", "gateway/trials/stale.py"}  # another query: see adopt_query


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax trees of gateway/."""
    paths = sorted((ROOT / "gateway").rglob("*.py"))
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8")) for path in paths}


@pytest.fixture(scope="module", autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    trees.cache_clear()


def stages(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The name and the function of each stage that a module makes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Stage":
            name, run = node.args
            yield ast.unparse(name), run


def of_requests(name: str, tree: ast.Module) -> bool:
    """Whether a module has stages of requests; http/stage.py has another Stage."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "gateway.requests.context"
        and any(alias.name == "Stage" for alias in node.names)
        for node in tree.body
    )


def last(function: ast.expr) -> str:
    """The last name of a function: `b` of a.b, of a.b(...), and of b."""
    if isinstance(function, ast.Call):
        return last(function.func)
    assert isinstance(function, ast.Name | ast.Attribute)
    return function.id if isinstance(function, ast.Name) else function.attr


def test_stages_are_made_in_the_list_and_each_is_a_named_function() -> None:
    making = {name: list(stages(tree)) for name, tree in trees().items() if of_requests(name, tree)}
    assert {name for name, made in making.items() if made} == {LIST, *INSERTED}
    for name, made in making.items():
        for stage, run in made:
            assert isinstance(run, ast.Name | ast.Attribute | ast.Call), f"{name}: {stage} has no name"
            assert last(run) not in ("partial", "Stage"), f"{name}: {stage} wraps another function"


def test_long_queries_wait_for_a_turn_after_queues_and_before_parsing() -> None:
    """Requests that leave the queues together parse their selectors in authorization, or in the verb."""
    names = [ast.literal_eval(name) for name, _ in stages(trees()[LIST]) if name.startswith("'")]
    at = names.index("long-query")
    assert names.index("priority-and-fairness") < at < min(names.index("authorization"), names.index("verb"))


def test_no_stage_is_made_from_another() -> None:
    changed = {
        f"{name}:{node.lineno}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
        if name.startswith(ABOVE) and last(node.func) in ("_replace", "replace")
        if {each.arg for each in node.keywords} & {"run", "verb", "endpoint"}
    }
    assert changed == set()


def test_the_route_is_set_once_by_those_who_find_it() -> None:
    """Nothing sets its endpoint or its verb: both are members of a NamedTuple."""
    setting = [
        (name, function.name)
        for name, tree in trees().items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == "route"
        if ast.unparse(node.value) != "self"
    ]
    assert sorted(setting) == [(OF_ROUTES, name) for name in sorted(SETTERS_OF_ROUTES)]


def test_only_the_stage_routing_looks_for_a_route() -> None:
    """Other requests have the route of an earlier one that this stage found."""
    searching = {"served_resource": set[str](), "self.route": set[str]()}
    for name, tree in trees().items():
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and name.startswith(ABOVE):
                calls = [ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)]
                for call in searching.keys() & set(calls):
                    searching[call].add(f"{name}: {function.name}")
    assert searching == {"served_resource": {f"{OF_ROUTES}: route"}, "self.route": {f"{OF_ROUTES}: find"}}


def stored(tree: ast.Module) -> Iterator[str]:
    """The members of requests and their contexts that a module sets, as `context.member`. (TLS has contexts, too.)"""
    members = {*Request.__slots__, *dir(RequestContext), *RequestContext.__annotations__, "receive", "scope", "send"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            owner = ast.unparse(node.value).rpartition(".")[2]
            if owner in ("context", "request") and node.attr in members:
                yield f"{owner}.{node.attr}"


def test_each_member_of_a_request_is_set_by_one_stage() -> None:
    setting = {(name, member) for name, tree in trees().items() if name not in MAKERS for member in stored(tree)}
    results = {(module, member) for (_, module), members in RESULTS.items() for member in members}
    assert setting == (results | BESIDE) - {(OF_ROUTES, "request._query")}
    members = [member for found in RESULTS.values() for member in found - {"request.receive"}]
    assert len(members) == len(set(members)), "two stages set it"
    adopting = {
        name
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "adopt_query"
    }
    assert adopting == ADOPTING


def test_each_stage_with_a_result_is_in_the_list() -> None:
    names = {ast.literal_eval(name) for _, tree in trees().items() for name, _ in stages(tree) if name.startswith("'")}
    names |= {"faults", "recorder"}  # the owners of stages that tests insert
    assert {stage for stage, _ in RESULTS} <= names


def test_a_context_has_no_member_without_a_stage() -> None:
    """Members that are not in the table come with the request, before its stages."""
    known = {member.partition(".")[2] for found in RESULTS.values() for member in found}
    known |= {member.partition(".")[2] for _, member in BESIDE}
    assert set(RequestContext.__annotations__) - known == set()
    own = set(Request.__slots__) - known
    assert own == {"_audit_id", "_body", "method", "path", "query_string", "warnings"}


@pytest.mark.parametrize("kind", [Attributes, Representation, RequestInfo, Route])
def test_what_requests_of_a_path_share_never_changes(kind: type) -> None:
    frozen = is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert issubclass(kind, tuple) or frozen


def test_the_verb_is_called_by_the_stage_verb_alone() -> None:
    calling = [
        (name, function.name)
        for name, tree in trees().items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("route.verb")
    ]
    assert set(calling) == {("gateway/requests/serving_stages.py", "verb")}


def test_no_stage_is_called_but_by_the_handler() -> None:
    """A function that calls a stage would be a second list."""
    ways = {way(run) for _, run in stages(trees()[LIST])}
    assert {"serving_stages.verb", "limiter.enter", "routes.find", "import_encoder_first"} <= ways
    found = {
        f"{name}: {ast.unparse(node.func)}"
        for name, tree in trees().items()
        if name.startswith(ABOVE) and name != LIST
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
        if way(node.func) in ways or last(node.func) in ways
    }
    assert found == set()


def way(function: ast.expr) -> str:
    """A function as it is called: `b.c` of a.b.c and of a._b.c(...), `a` of a."""
    if isinstance(function, ast.Call):
        return way(function.func)
    return ".".join(part.lstrip("_") for part in ast.unparse(function).split(".")[-2:])
