"""What is known of a request from its path is remembered where the path comes again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.http.exchange import Request
from gateway.http.negotiation import STANDARD
from gateway.http.request_info import request_info
from gateway.requests.handler import Handler
from tests.unit.verbs.conftest import Api

PODS = "/api/v1/namespaces/n/pods"


async def nothing() -> Any:
    """No body comes."""


def request(method: str, path: str, query: bytes = b"") -> Request:
    made = Request(method, path, query, {}, nothing)
    made.info = request_info(method, path, made.query)
    return made


def handler() -> tuple[Handler, Api]:
    api = Api()
    services = SimpleNamespace(media=STANDARD, authorizer=None, renderings=None, audit=None)
    gateway: Any = SimpleNamespace(services=services, registry=api.endpoints.registry, endpoints=api.endpoints)
    fallback: Any = None
    discovery: Any = None
    return Handler(gateway, discovery, fallback), api


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
    of, _ = handler()
    first = of._route(request(method, path, query), None)
    found = {**of._routes, **of._creates}
    assert found == ({(path, query): first} if remembered else {})


def test_a_get_and_a_create_of_one_path_are_told_apart() -> None:
    of, _ = handler()
    verbs = [of._route(request(method, PODS), None).info.verb for method in ("GET", "POST")]
    assert verbs == [of._routes[PODS, b""].info.verb, of._creates[PODS, b""].info.verb] == ["list", "create"]


def test_nothing_is_remembered_once_something_else_is_served() -> None:
    of, api = handler()
    of._route(request("GET", PODS), None)
    of._route(request("POST", PODS), None)
    for listener in api.endpoints._listeners:
        listener()
    assert not of._routes and not of._creates
