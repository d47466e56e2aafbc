"""A route that is known but for its name is the route that the long way finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.http.exchange import Request
from gateway.http.request_info import MalformedPath, request_info
from gateway.http.status import StatusError
from gateway.kinds.identity import GroupResource
from gateway.kinds.strategies import import_rules
from gateway.requests.context import RequestContext, Route
from gateway.requests.routes import Routes
from tests.unit.requests.test_routes import nothing, routes

PODS = "/api/v1/namespaces/n/pods"
APPLY = b"application/apply-patch+yaml"
MERGE = b"application/merge-patch+json"

SEGMENT = st.sampled_from(
    ["n", "pods", "nodes", "namespaces", "status", "finalize", "watch", "proxy", "a", "b", ".", "..", "%", "", "scale"]
)
PATHS = st.one_of(
    st.sampled_from([PODS, f"{PODS}/a", f"{PODS}/b", f"{PODS}/a/status", f"{PODS}/status/status", "/api/v1/nodes/a"]),
    st.builds(lambda parts: "/".join(["/api/v1", *parts]), st.lists(SEGMENT, min_size=1, max_size=5)),
)
REQUESTS = st.tuples(
    st.sampled_from(["PUT", "PATCH", "DELETE"]),
    PATHS,
    st.sampled_from([b"", b"dryRun=All"]),
    st.sampled_from([APPLY, MERGE]),
)


def asked(method: str, path: str, query: bytes = b"", sort: bytes = MERGE) -> Request:
    return Request(method, path, query, {b"content-type": sort}, nothing)


def recalled(of: Routes, request: Request) -> Route | None:
    scope = {"raw_path": request.path.encode()}
    context = RequestContext(request, scope, None, None)  # type: ignore[arg-type]
    return context.route if of.recall(context) else None


def found(of: Routes, request: Request) -> Route | None:
    """The route by the long way; None where there is none."""
    try:
        request.info = request_info(request.method, request.path, request.query)
        return of.route(request, None) if request.info.is_resource else None
    except (MalformedPath, StatusError):
        return None


@pytest.fixture(scope="module", autouse=True)
def rules() -> None:
    for name in ("nodes", "namespaces"):
        import_rules(GroupResource("", name))


@settings(deadline=None)
@given(st.lists(REQUESTS, max_size=12))
def test_a_recalled_route_is_that_of_the_long_way(sent: list[tuple[str, str, bytes, bytes]]) -> None:
    of, _ = routes()
    for each in [("PATCH", f"{PODS}/x", b"", MERGE), ("PUT", f"{PODS}/x/status", b"", MERGE), *sent]:
        quick, known = asked(*each), recalled(of, asked(*each))
        if known is None:
            found(of, quick)
            continue
        wanted = found(routes()[0], asked(*each))
        assert wanted is not None and wanted.problem is None
        info, own = known.info, wanted.info
        assert list(info.parts) == list(own.parts)
        assert info._replace(parts=()) == own._replace(parts=())
        assert (known.verb, known.query, known.timeout) == (wanted.verb, wanted.query, wanted.timeout)
        assert known.endpoint.resource == wanted.endpoint.resource
        assert known.measures is wanted.measures


@pytest.mark.parametrize(
    ("method", "end"), [("PUT", ""), ("PATCH", ""), ("DELETE", ""), ("PUT", "/status"), ("PATCH", "/status")]
)
def test_writes_to_objects_of_a_collection_share_a_route(method: str, end: str) -> None:
    of, _ = routes()
    found(of, asked(method, f"{PODS}/a{end}"))
    known: Any = recalled(of, asked(method, f"{PODS}/b{end}"))
    assert (known.info.name, known.info.path) == ("b", f"{PODS}/b{end}")


def test_an_apply_and_another_patch_are_told_apart() -> None:
    of, _ = routes()
    found(of, asked("PATCH", f"{PODS}/a"))
    assert recalled(of, asked("PATCH", f"{PODS}/a", sort=APPLY)) is None


def test_nothing_is_remembered_once_something_else_is_served() -> None:
    of, api = routes()
    found(of, asked("PUT", f"{PODS}/a"))
    for listener in api.endpoints._listeners:
        listener()
    assert recalled(of, asked("PUT", f"{PODS}/a")) is None


def test_what_a_client_says_of_its_patch_is_not_kept() -> None:
    of, _ = routes()
    for number in range(3):
        found(of, asked("PATCH", f"{PODS}/a", sort=MERGE + b"; x=%d" % number))
    assert len(of._named) == 1
