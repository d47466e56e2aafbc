"""Admission webhooks, as functions of a test: when they are asked, with what, and what their answers do."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Refused, ask, namespace, webhook
from tests.integration.admission.webhook_servers import server, servers

__all__ = ["server", "servers"]

Request = dict[str, Any]


@pytest.fixture
def place(server: ApiServer) -> Iterator[str]:
    with namespace(server) as name:
        yield name


def here(place: str) -> dict[str, Any]:
    """What keeps a webhook to one namespace, for other tests run beside."""
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place}}}


def maps(place: str) -> str:
    return f"/api/v1/namespaces/{place}/configmaps"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


POD = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}
SCALE = {"metadata": {"name": "d"}, "spec": {"replicas": 3}}
DEPLOYMENT = {
    "metadata": {"name": "d"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]},
    },
}

# what is done, and what a webhook is told of it: operation, kind, resource, subresource, name, options' kind.
# As a kube-apiserver 1.36.3 does; ../shared/conformance, topic webhooks, has its recordings.
ADMITTED = [
    ("POST", "/api/v1/namespaces/{}/pods", POD, ("CREATE", "Pod", "pods", "", "p", "CreateOptions")),
    (
        "POST",
        "/api/v1/namespaces/{}/pods/p/eviction?dryRun=All",
        {"metadata": {"name": "p"}},
        ("CREATE", "Eviction", "pods", "eviction", "p", "CreateOptions"),
    ),
    (
        "PUT",
        "/api/v1/namespaces/{}/pods/p/ephemeralcontainers",
        {**POD, "spec": {**POD["spec"], "ephemeralContainers": [{"name": "e", "image": "i"}]}},
        ("UPDATE", "Pod", "pods", "ephemeralcontainers", "p", "UpdateOptions"),
    ),
    ("PUT", "/api/v1/namespaces/{}/pods/p/status", POD, ("UPDATE", "Pod", "pods", "status", "p", "UpdateOptions")),
    (
        "POST",
        "/api/v1/namespaces/{}/pods/p/exec?command=ls",
        None,
        ("CONNECT", "PodExecOptions", "pods", "exec", "p", ""),
    ),
    ("GET", "/api/v1/namespaces/{}/pods/p/attach", None, ("CONNECT", "PodAttachOptions", "pods", "attach", "p", "")),
    (
        "POST",
        "/api/v1/namespaces/{}/pods/p/portforward?ports=80",
        None,
        ("CONNECT", "PodPortForwardOptions", "pods", "portforward", "p", ""),
    ),
    (
        "GET",
        "/api/v1/namespaces/{}/services/s:80/proxy/x",
        None,
        ("CONNECT", "ServiceProxyOptions", "services", "proxy", "s:80", ""),
    ),
    ("DELETE", "/api/v1/namespaces/{}/pods/p", None, ("DELETE", "Pod", "pods", "", "p", "DeleteOptions")),
    (
        "POST",
        "/apis/apps/v1/namespaces/{}/deployments",
        DEPLOYMENT,
        ("CREATE", "Deployment", "deployments", "", "d", "CreateOptions"),
    ),
    (
        "PUT",
        "/apis/apps/v1/namespaces/{}/deployments/d/scale",
        SCALE,
        ("UPDATE", "Scale", "deployments", "scale", "d", "UpdateOptions"),
    ),
    (
        "POST",
        "/api/v1/namespaces/{}/serviceaccounts/robot/token",
        {},
        ("CREATE", "TokenRequest", "serviceaccounts", "token", "robot", "CreateOptions"),
    ),
    (
        "POST",
        "/apis/authorization.k8s.io/v1/namespaces/{0}/localsubjectaccessreviews",
        {"spec": {"user": "u", "resourceAttributes": {"namespace": "{0}", "verb": "get", "resource": "pods"}}},
        ("CREATE", "LocalSubjectAccessReview", "localsubjectaccessreviews", "", "", "CreateOptions"),
    ),
    (
        "DELETE",
        "/apis/apps/v1/namespaces/{}/deployments",
        None,
        ("DELETE", "Deployment", "deployments", "", "", "DeleteOptions"),
    ),
]


def told(request: Request) -> tuple[str, ...]:
    return (
        request["operation"],
        request["kind"]["kind"],
        request["resource"]["resource"],
        request.get("subResource", ""),
        request.get("name", ""),
        (request["options"] or {}).get("kind", ""),
    )


def test_what_is_admitted_as_what(server: ApiServer, place: str) -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
    ask(server, "POST", f"/api/v1/namespaces/{place}/serviceaccounts", {"metadata": {"name": "robot"}})
    with webhook(server, lambda request: None, rules=[rule], **here(place)) as hook:
        for method, path, body, expected in ADMITTED:
            hook.requests.clear()
            given = None if body is None else _filled(body, place)
            try:
                ask(server, method, path.format(place), given)
            except Refused:
                assert expected[0] == "CONNECT", "nobody is there to be connected to, which is looked at later"
            assert expected in [told(request) for request in hook.requests], (method, path)
            own = [request for request in hook.requests if request["kind"]["kind"] == expected[1]]
            assert own[0]["namespace"] == place
            assert (own[0]["object"] is None) == (expected[0] == "DELETE")
            assert (own[0]["oldObject"] is None) == (expected[0] in ("CREATE", "CONNECT"))


def _filled(value: Any, place: str) -> Any:
    if isinstance(value, dict):
        return {key: _filled(each, place) for key, each in value.items()}
    return value.replace("{0}", place) if isinstance(value, str) else value


def test_what_a_webhook_makes_of_an_object_is_stored_and_seen_by_those_after(server: ApiServer, place: str) -> None:
    def adds(key: str, seen: list[Any]) -> Any:
        def review(request: Request) -> dict[str, Any]:
            seen.append(request["object"]["data"])
            return {**request["object"], "data": {**request["object"]["data"], key: key}}

        return review

    first, second = list[Any](), list[Any]()
    with (
        webhook(server, adds("x", first), "configmaps", mutating=True, **here(place)),
        webhook(server, adds("y", second), "configmaps", mutating=True, **here(place)),
    ):
        made = ask(server, "POST", maps(place), config_map("a", a="a"))
    assert made["data"] == {"a": "a", "x": "x", "y": "y"}
    assert sorted(map(len, first + second)) == [1, 2], "one after the other, by the names of their configurations"


def test_a_configuration_is_in_force_once_it_is_written_and_no_longer_once_it_is_gone(
    servers: tuple[ApiServer, ApiServer], place: str
) -> None:
    one, other = servers
    with _busy(other, place):
        _come_and_go(one, other, place)


@contextmanager
def _busy(server: ApiServer, place: str) -> Iterator[None]:
    """Writes all the time, so that what another server writes is not all that happens."""
    over = threading.Event()

    def write() -> None:
        for i in count():
            ask(server, "POST", f"/api/v1/namespaces/{place}/secrets", {"metadata": {"name": f"busy-{i}"}})
            if over.is_set():
                return

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(write)
        try:
            yield
        finally:
            over.set()
            done.result()


def _come_and_go(one: ApiServer, other: ApiServer, place: str) -> None:
    for turn in range(10):
        with webhook(one, lambda request: "no", "configmaps", **here(place)):
            with pytest.raises(Refused, match="denied the request: no"):
                ask(one, "POST", maps(place), config_map(f"refused-{turn}"))
            until = time.monotonic() + 1
            with pytest.raises(Refused):  # on another replica within a second
                for attempt in range(1000):
                    assert time.monotonic() < until
                    ask(other, "POST", maps(place), config_map(f"elsewhere-{turn}-{attempt}"))
        ask(one, "POST", maps(place), config_map(f"allowed-{turn}"))


def test_nothing_is_stored_that_a_webhook_refuses(server: ApiServer, place: str) -> None:
    def review(request: Request) -> str | None:
        return None if request["object"]["data"].get("a") != "bad" else "bad"

    with webhook(server, review, "configmaps", **here(place)):
        ask(server, "POST", maps(place), config_map("a", a="good"))
        for method, path, body in (
            ("PUT", f"{maps(place)}/a", config_map("a", a="bad")),
            ("POST", maps(place), config_map("b", a="bad")),
        ):
            with pytest.raises(Refused, match="denied the request: bad"):
                ask(server, method, path, body)
    assert [
        each["data"]["a"] for each in ask(server, "GET", maps(place))["items"] if "a" in (each.get("data") or {})
    ] == ["good"]


def test_a_webhook_that_hangs_holds_its_request_and_nobody_elses(server: ApiServer, place: str) -> None:
    asked, go = threading.Event(), threading.Event()

    def review(request: Request) -> None:
        asked.set()
        go.wait(20)

    with webhook(server, review, "configmaps", **here(place)), ThreadPoolExecutor(1) as pool:
        slow = pool.submit(ask, server, "POST", maps(place), config_map("slow"))
        assert asked.wait(10)
        began = time.monotonic()
        for i in range(20):
            ask(server, "POST", f"/api/v1/namespaces/{place}/secrets", {"metadata": {"name": f"s-{i}"}})
        assert time.monotonic() - began < 5
        assert not slow.done()
        go.set()
        assert slow.result()["metadata"]["name"] == "slow"


def test_a_webhook_may_ask_the_server_back(server: ApiServer, place: str) -> None:
    def review(request: Request) -> str | None:
        count = len(ask(server, "GET", f"/api/v1/namespaces/{place}/secrets")["items"])
        return None if count == 0 else "there are secrets"

    with webhook(server, review, "configmaps", **here(place)):
        ask(server, "POST", maps(place), config_map("a"))
        ask(server, "POST", f"/api/v1/namespaces/{place}/secrets", {"metadata": {"name": "s"}})
        with pytest.raises(Refused, match="there are secrets"):
            ask(server, "POST", maps(place), config_map("b"))


def test_who_loses_a_race_is_asked_about_the_object_that_won(server: ApiServer, place: str) -> None:
    """Nothing is stored of which a webhook has not seen exactly that."""
    seen = list[dict[str, str]]()

    def review(request: Request) -> None:
        seen.append(request["object"]["data"])

    ask(server, "POST", maps(place), config_map("a"))
    with webhook(server, review, "configmaps", operations=["UPDATE"], **here(place)), ThreadPoolExecutor(8) as pool:

        def add(i: int) -> None:
            path = f"{maps(place)}/a?fieldManager=m{i}&force=true"
            _apply(
                server,
                path,
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {f"k{i}": ""}},
            )

        list(pool.map(add, range(16)))
        final = ask(server, "GET", f"{maps(place)}/a")["data"]
    assert final == {f"k{i}": "" for i in range(16)}
    assert final in seen


def _apply(server: ApiServer, path: str, body: dict[str, Any]) -> None:
    import json
    import ssl
    import urllib.request

    asked = urllib.request.Request(
        server.url + path,
        json.dumps(body).encode(),
        {"Content-Type": "application/apply-patch+yaml", "Authorization": f"Bearer {server.token}"},
        method="PATCH",
    )
    with urllib.request.urlopen(asked, context=ssl.create_default_context(cafile=server.ca_file), timeout=30) as answer:
        assert answer.status == 200


def test_a_failure_that_is_ignored_lets_the_write_through(server: ApiServer, place: str) -> None:
    nobody = {"url": "https://127.0.0.1:1/"}
    with webhook(
        server, lambda request: None, "configmaps", clientConfig=nobody, failurePolicy="Ignore", **here(place)
    ):
        ask(server, "POST", maps(place), config_map("a"))
    with (
        webhook(server, lambda request: None, "configmaps", clientConfig=nobody, **here(place)),
        pytest.raises(Refused, match=r"500: .*failed calling webhook .*connection refused"),
    ):
        ask(server, "POST", maps(place), config_map("b"))


def test_what_a_webhook_makes_of_an_object_may_be_large_and_holds_up_nobody(server: ApiServer, place: str) -> None:
    def many(request: Request) -> dict[str, Any]:
        return {**request["object"], "data": {f"k{i}": "" for i in range(50_000)}}

    def long(request: Request) -> dict[str, Any]:
        return {**request["object"], "data": {"k": "x" * (3 << 20)}}

    with webhook(server, many, "configmaps", mutating=True, **here(place)):
        ask(server, "POST", maps(place), config_map("a"))
    with (
        webhook(server, long, "configmaps", mutating=True, **here(place)),
        pytest.raises(Refused, match=r"failed to call webhook: .*the answer is larger than 3145728 bytes"),
    ):
        ask(server, "POST", maps(place), config_map("b"))


def test_what_a_webhook_makes_of_an_eviction_or_a_connection_is_what_is_done(server: ApiServer, place: str) -> None:
    pods = f"/api/v1/namespaces/{place}/pods"

    def at_once(request: Request) -> dict[str, Any]:
        return {**request["object"], "deleteOptions": {"gracePeriodSeconds": 0}}

    def elsewhere(request: Request) -> dict[str, Any]:
        return {**request["object"], "container": "other"}

    ask(server, "POST", pods, POD)
    with (
        webhook(server, elsewhere, "pods/exec", operations=["CONNECT"], mutating=True, **here(place)),
        pytest.raises(Refused, match=r"container other is not valid for pod p"),
    ):
        ask(server, "POST", f"{pods}/p/exec?command=ls&container=c")
    with webhook(server, at_once, "pods/eviction", mutating=True, **here(place)):
        ask(server, "POST", f"{pods}/p/eviction", {"metadata": {"name": "p"}})
    with pytest.raises(Refused, match="404"):
        ask(server, "GET", f"{pods}/p")
