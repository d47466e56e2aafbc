"""The route of a path is cached for the next request of the same path."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from inspect import isawaitable
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.http.exchange import Request
from gateway.http.negotiation import JSON, PARTIAL, STANDARD, TABLE, Transform
from gateway.http.request_info import request_info
from gateway.kinds import strategies
from gateway.kinds.identity import GroupResource
from gateway.kinds.strategies import import_rules
from gateway.requests import late_imports
from gateway.requests.context import RequestContext
from gateway.requests.late_imports import import_encoder_first, import_rules_first
from gateway.requests.routes import Routes
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
