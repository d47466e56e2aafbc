"""The route of a path is cached for the next request of the same path."""

from __future__ import annotations

import ast
import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from inspect import getsource, isawaitable
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.http.exchange import Request
from gateway.http.negotiation import JSON, PARTIAL, STANDARD, TABLE, Transform
from gateway.http.request_info import request_info
from gateway.kinds import strategies
from gateway.kinds.identity import GroupResource
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.kinds.strategies import import_rules
from gateway.requests import late_imports, stages
from gateway.requests.context import RequestContext, Run
from gateway.requests.elsewhere import announced
from gateway.requests.late_imports import import_encoder_first, import_rules_first
from gateway.requests.load_stages import wait_until_loaded
from gateway.requests.name_stage import check_patch_type, refuse_misnamed
from gateway.requests.routes import Routes
from gateway.requests.serving_stages import turns, visibility, wait_with_long_query
from tests.unit.verbs.conftest import Api

PODS = "/api/v1/namespaces/n/pods"


async def nothing() -> Any:
    """No body comes."""


def request(method: str, path: str, query: bytes = b"") -> Request:
    made = Request(method, path, query, {}, nothing)
    made.info = request_info(method, path, made.query)
    return made


def routes() -> tuple[Routes, Api]:
    import_rules(GroupResource("", "pods"))
    api = Api()
    endpoints, services = api.endpoints, SimpleNamespace(media=STANDARD)
    settings = SimpleNamespace(request_timeout=60.0)
    gateway: Any = SimpleNamespace(
        services=services, settings=settings, registry=endpoints.registry, endpoints=endpoints
    )
    return Routes(gateway), api


@pytest.mark.parametrize(
    ("method", "path", "query", "remembered"),
    [
        ("GET", f"{PODS}/a", b"", True),
        ("GET", PODS, b"limit=500", True),
        ("GET", PODS, b"labelSelector=" + b"a" * 48, False),
        ("POST", PODS, b"", True),
        ("POST", PODS, b"dryRun=All", True),
        ("POST", f"{PODS}/a/eviction", b"", False),
        ("PUT", f"{PODS}/a", b"", False),
        ("PATCH", f"{PODS}/a", b"", False),
        ("DELETE", PODS, b"", False),
    ],
)
def test_paths_that_come_again_are_remembered(method: str, path: str, query: bytes, remembered: bool) -> None:
    of, _ = routes()
    first = of.route(request(method, path, query), None)
    found = {**of.gets, **of.creates}
    assert found == ({(path, query): first} if remembered else {})


def test_a_get_and_a_create_of_one_path_are_told_apart() -> None:
    of, _ = routes()
    verbs = [of.route(request(method, PODS), None).info.verb for method in ("GET", "POST")]
    assert verbs == [of.gets[PODS, b""].info.verb, of.creates[PODS, b""].info.verb] == ["list", "create"]


def test_nothing_is_remembered_once_something_else_is_served() -> None:
    of, api = routes()
    of.route(request("GET", PODS), None)
    of.route(request("POST", PODS), None)
    for listener in api.endpoints._listeners:
        listener()
    assert not of.gets and not of.creates


def test_what_makes_tables_is_imported_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    monkeypatch.setattr(late_imports, "_OF_TABLES", ("gateway.none",))
    monkeypatch.setattr(late_imports, "import_module", lambda name: threads.append(threading.current_thread()))

    async def imported() -> None:
        context = RequestContext(request("GET", PODS), {}, nothing, nothing)
        assert import_encoder_first(context) is None
        context.request.representation = replace(JSON, transform=Transform(PARTIAL, "v1"))
        assert import_encoder_first(context) is None
        context.request.representation = replace(JSON, transform=Transform(TABLE, "v1"))
        waited = import_encoder_first(context)
        assert isawaitable(waited)
        assert await waited is None
        monkeypatch.setattr(late_imports, "_OF_TABLES", ("sys",))
        assert import_encoder_first(context) is None

    asyncio.run(imported())
    assert threads and threading.current_thread() not in threads


def test_rules_that_are_not_imported_yet_are_imported_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    of, _ = routes()
    threads: list[threading.Thread] = []
    monkeypatch.setattr(strategies, "_imported", set[str]())
    monkeypatch.setattr(strategies, "import_module", lambda name: threads.append(threading.current_thread()))
    of.route(request("GET", PODS), None)
    write = of.route(request("POST", PODS), None)
    assert not of.creates and (PODS, b"") in of.gets

    async def rules() -> None:
        context = RequestContext(request("POST", PODS), {}, nothing, nothing)
        context.route = write
        waited = import_rules_first(context)
        assert isawaitable(waited)
        assert await waited is None
        assert import_rules_first(context) is None

    asyncio.run(rules())
    assert threads and threading.current_thread() not in threads
    of.route(request("POST", PODS), None)
    assert (PODS, b"") in of.creates


def ways(resource: Resource) -> Iterator[tuple[str, str, bytes]]:
    """Method, path and query of the requests that a resource serves, and of watches."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    place = f"{root}/namespaces/n/{resource.resource}" if resource.namespaced else f"{root}/{resource.resource}"
    tail = f"/{resource.subresource}" if resource.subresource else ""
    for method, verb in (("GET", "get"), ("PUT", "update"), ("PATCH", "patch"), ("DELETE", "delete")):
        if verb in resource.verbs:
            yield method, f"{place}/one{tail}", b""
            yield method, f"{place}/one{tail}", b"dryRun=All"
    if "list" in resource.verbs:
        for each in dict.fromkeys((place, f"{root}/{resource.resource}")):
            yield from (("GET", each, query) for query in (b"", b"limit=5", b"watch=true", b"pretty=true&timeout=9s"))
    if "create" in resource.verbs and not tail:
        yield "POST", place, b""
        yield "POST", place, b"dryRun=All"


def skipping(registry: Registry) -> dict[str, Run]:
    """The stages that a remembered route skips and that may answer by themselves. Others find its info and route, or
    answer only what is not a resource, or what another server serves: such a request has no route.
    """
    definitions: Any = SimpleNamespace(announced=True)
    return {
        "definitions": announced(definitions, registry),
        "loading": wait_until_loaded,
        "long-query": wait_with_long_query,
        "name": refuse_misnamed,
        "name-of-custom": check_patch_type,
        "rules": import_rules_first,
    }


OF_ROUTES = {"request-info", "routing", "delegation", "discovery", "operations"}


def skipping_writes() -> dict[str, Run]:
    """The stages that a GET skips."""
    governs: Any = SimpleNamespace()
    return {"rules": import_rules_first, "turn": turns(), "visibility": visibility(lambda group, kind: True, governs)}


def with_flag(flag: str) -> set[str]:
    """The names of the stages with a flag, in the list of stages."""
    calls = [node for node in ast.walk(ast.parse(getsource(stages))) if isinstance(node, ast.Call)]
    named = [each for each in calls if flag in {given.arg for given in each.keywords}]
    return {ast.literal_eval(each.args[0]) for each in named}


async def test_the_short_list_of_stages_answers_as_the_long_one_for_every_route() -> None:
    of, api = routes()
    registry = api.endpoints.registry
    skipped, of_gets, remembered = skipping(registry), skipping_writes(), set[str]()
    assert (with_flag("by_path"), with_flag("of_writes")) == (skipped.keys() | OF_ROUTES, of_gets.keys())
    for resource in registry.resources.values():
        import_rules(resource.gvr.group_resource)
        for method, path, query in ways(resource):
            found, again = (sent(method, path, query) for _ in range(2))
            assert of.read_info(found) is of.find(found) is None, (method, path)
            if of.recall(again):
                remembered.add(found.request.info.verb)
                assert results(again) == results(found), (method, path)
                left_out = skipped | of_gets if method == "GET" else skipped
                assert {name for name, run in left_out.items() if run(again) is not None} == set(), (method, path)
    assert remembered == {"get", "list", "watch", "create", "update", "patch", "delete"}


def results(context: RequestContext) -> tuple[object, ...]:
    """What the stages request-info and routing have found."""
    request, route = context.request, context.route
    assert route is not None and route.info is request.info
    info = request.info._replace(parts=tuple(request.info.parts))
    return info, route[1:], context.timeout, request.query, request.human


def sent(method: str, path: str, query: bytes) -> RequestContext:
    return RequestContext(Request(method, path, query, {}, nothing), {"raw_path": path.encode()}, nothing, nothing)
