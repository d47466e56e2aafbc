"""Admission webhooks as functions of a test: when they are called, and what their answers do."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Refused, ask, webhook
from apiserver_gateway.testing.requests import answer
from tests.integration.admission.webhook_servers import POD, config_map, here, maps, place, server, servers
from tests.limits import within

__all__ = ["place", "server", "servers"]

Request = dict[str, Any]


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


def test_a_webhook_configuration_is_in_force_as_long_as_it_exists(
    servers: tuple[ApiServer, ApiServer], place: str
) -> None:
    one, other = servers
    with _busy(other, place):
        _come_and_go(one, other, place)


@contextmanager
def _busy(server: ApiServer, place: str) -> Iterator[None]:
    """Writes all the time, so that the other server's writes are not the only events."""
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
            with within(1.0), pytest.raises(Refused):  # on another replica within a second
                for attempt in range(10_000):
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
        go.wait(30)

    hangs = webhook(server, review, "configmaps", timeoutSeconds=30, **here(place))
    with hangs, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(ask, server, "POST", maps(place), config_map("slow"))
        assert asked.wait(60)
        for i in range(20):
            ask(server, "POST", f"/api/v1/namespaces/{place}/secrets", {"metadata": {"name": f"s-{i}"}})
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
    """No object is stored that a webhook has not seen in exactly that form."""
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
    with urllib.request.urlopen(asked, context=ssl.create_default_context(cafile=server.ca_file), timeout=60) as answer:
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

    with webhook(server, many, "configmaps", mutating=True, timeoutSeconds=30, **here(place)):
        ask(server, "POST", maps(place), config_map("a"))
    with (
        webhook(server, long, "configmaps", mutating=True, timeoutSeconds=30, **here(place)),
        pytest.raises(Refused, match=r"failed to call webhook: .*the answer is larger than 3145728 bytes"),
    ):
        ask(server, "POST", maps(place), config_map("b"))


@pytest.mark.parametrize("size", [1, 20_000])
def test_broken_text_in_a_patch_is_taken_like_a_clients(server: ApiServer, place: str, size: int) -> None:
    def review(request: Request) -> dict[str, Any]:
        return {**request["object"], "data": {"k": "\ud800" + "x" * size}}

    with webhook(server, review, "configmaps", mutating=True, **here(place)):
        made = ask(server, "POST", maps(place), config_map("a"))
    assert made["data"] == {"k": "\ufffd" + "x" * size}


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


# changes of metadata.managedFields by a webhook, and the resulting warning
MANAGERS = [
    ([{}], "operation must be `Apply` or `Update`"),
    ([{"operation": "Update"}], "apiVersion must not be empty"),
    ([{"manager": "m", "operation": "Update", "apiVersion": "v1"}], "missing fieldsType in managed fields entry 0"),
]


@pytest.mark.parametrize(("managers", "said"), MANAGERS)
def test_managed_fields_that_a_webhook_spoils_stay_as_they_were(
    server: ApiServer, place: str, managers: list[Any], said: str
) -> None:
    def spoil(request: Request) -> dict[str, Any]:
        obj = request["object"]
        return {**obj, "metadata": {**obj["metadata"], "managedFields": managers}}

    with (
        webhook(server, spoil, "configmaps", mutating=True, **here(place)),
        answer(server, "POST", maps(place), config_map("a", b="c")) as answered,
    ):
        made, warnings = json.loads(answered.read()), answered.headers.get_all("Warning")
    assert [each["operation"] for each in made["metadata"]["managedFields"]] == ["Update"]
    assert "in an invalid state after admission" in warnings[0] and said in warnings[0]
