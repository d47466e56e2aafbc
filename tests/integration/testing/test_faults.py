"""Injected faults: which requests they hit, what a client sees, and that no acknowledged write is lost."""

from __future__ import annotations

import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver_gateway.testing import ApiServer, Refused, ask, namespace, user, wait_for, webhook
from apiserver_gateway.testing import faults as of
from apiserver_gateway.testing.connections import AGENT, SentRequest
from tests.integration.testing.watching import BROKEN, ENDED, Watching, watching

SELECTED = "labelSelector=of"
WAYS_TO_REFUSE = [
    (of.conflict(), 409, "Conflict", 'Operation cannot be fulfilled on configmaps "a": the object has been modified'),
    (of.already_exists(), 409, "AlreadyExists", 'configmaps "a" already exists'),
    (of.not_found(), 404, "NotFound", 'configmaps "a" not found'),
    (of.forbidden(), 403, "Forbidden", 'configmaps "a" is forbidden: User "kubernetes-admin" cannot update resource'),
    (of.unauthorized(), 401, "Unauthorized", "Unauthorized"),
    (of.gone(), 410, "Expired", "The resourceVersion for the provided list is too old."),
    (of.internal_error("disk"), 500, "InternalError", "Internal error occurred: disk"),
    (of.server_timeout(3), 500, "ServerTimeout", "The update operation against configmaps could not be completed"),
    (of.timed_out(), 504, "Timeout", "Timeout: request did not complete within the allotted timeout"),
    (of.unavailable(2), 503, "ServiceUnavailable", "the server is currently unable to handle the request"),
    (of.quota_exceeded("q"), 403, "Forbidden", 'configmaps "a" is forbidden: exceeded quota: q, requested: count/conf'),
    (of.etcd_gone(), 503, "ServiceUnavailable", "storage is not available"),
    (of.status(418, "Teapot", "short and stout"), 418, "Teapot", "short and stout"),
]


@pytest.fixture
def maps(api: ApiServer) -> Iterator[str]:
    """The path of the ConfigMaps of a new namespace, which has `a`."""
    with namespace(api) as name:
        path = f"/api/v1/namespaces/{name}/configmaps"
        ask(api, "POST", path, content(0))
        wait_for(api, f"{path}/kube-root-ca.crt", bool)
        yield path
    api.faults.clear()


def raw(api: ApiServer, method: str, path: str, body: Any = None) -> tuple[int, dict[str, str], bytes]:
    with api.connections.answer(api, SentRequest(method, path, body, api.token), 60) as answered:
        return answered.status, {k.lower(): v for k, v in answered.getheaders()}, answered.read()


def content(n: int, name: str = "a") -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"of": "test"}}, "data": {"n": str(n)}}


@pytest.mark.parametrize(("answer", "code", "reason", "message"), WAYS_TO_REFUSE)
def test_a_client_sees_the_status_of_the_case(
    api: ApiServer, maps: str, answer: of.Answer, code: int, reason: str, message: str
) -> None:
    with api.faults.add(verb="update", resource="configmaps", times=1, answer=answer) as fault:
        status, headers, body = raw(api, "PUT", f"{maps}/a", content(1))
        found = json.loads(body)
        assert (status, found["code"], found["reason"]) == (code, code, reason)
        assert found.get("kind", "Status") == "Status" and found["message"].startswith(message)  # timeouts have no kind
        assert headers.get("retry-after", "0") == str(found.get("details", {}).get("retryAfterSeconds", 0))
        assert fault.hits == 1
        assert ask(api, "PUT", f"{maps}/a", content(2))["data"] == {"n": "2"}


@pytest.mark.parametrize(
    "media_type", ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/plain"]
)
def test_what_is_created_is_named_as_in_its_body(api: ApiServer, maps: str, media_type: str) -> None:
    body = {
        "application/json": b'{"metadata": {"name": "b"}, "data": {"n": "1"}}',
        "application/yaml": b"metadata:\n  name: b\n",
        "application/vnd.kubernetes.protobuf": protobuf(),
    }.get(media_type, b"\xff")
    with api.faults.add(verb="create", resource="configmaps", answer=of.already_exists()):
        status, found = sent(api, maps, body, media_type)
    name = "" if media_type == "text/plain" else "b"
    assert (status, found["message"]) == (409, f'configmaps "{name}" already exists')


def protobuf() -> bytes:
    """A ConfigMap named b: type meta and raw value in the protobuf envelope of Kubernetes."""
    metadata = b"\x0a\x03\x0a\x01b"
    return b"k8s\x00" + b"\x0a\x0f" + b"\x0a\x02v1" + b"\x12\x09ConfigMap" + b"\x12" + bytes([len(metadata)]) + metadata


def sent(api: ApiServer, path: str, body: bytes, media_type: str) -> tuple[int, Any]:
    headers = {"authorization": f"Bearer {api.token}", "content-type": media_type}
    request = urllib.request.Request(f"{api.url}{path}", body, headers, method="POST")
    context = ssl.create_default_context(cafile=str(api.ca_file))
    try:
        with urllib.request.urlopen(request, context=context) as answered:
            return answered.status, json.loads(answered.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def test_too_many_requests_are_answered_as_by_priority_and_fairness(api: ApiServer, maps: str) -> None:
    with api.faults.add(verb="get", answer=of.too_many_requests(retry_after=7)):
        status, headers, body = raw(api, "GET", f"{maps}/a")
    assert (status, headers["retry-after"], body) == (429, "7", b"Too many requests, please try again later.\n")


@pytest.mark.parametrize(
    ("concern", "met"),
    [
        ({"verb": "update"}, True),
        ({"verb": ["create", "update"], "resource": "config*"}, True),
        ({"verb": "patch"}, False),
        ({"verb": "!get"}, True),
        ({"verb": "!update"}, False),
        ({"resource": "configmaps", "name": "a"}, True),
        ({"resource": "configmaps", "name": "b*"}, False),
        ({"resource": "configmaps/status"}, False),
        ({"resource": "configmaps/*"}, True),
        ({"group": "apps"}, False),
        ({"namespace": "test-*"}, True),
        ({"namespace": "kube-system"}, False),
        ({"user": "kubernetes-admin"}, True),
        ({"verb": "upd*", "resource": "config*"}, True),
        ({"user": "system:serviceaccount:*"}, False),
        ({"user_agent": AGENT}, True),
        ({"user_agent": f"!{AGENT}"}, False),
        ({"probability": 0.0}, False),
    ],
)
def test_whom_a_fault_concerns(api: ApiServer, maps: str, concern: dict[str, Any], met: bool) -> None:
    with api.faults.add(answer="conflict", **concern) as fault:
        if met:
            with pytest.raises(Refused, match="409"):
                ask(api, "PUT", f"{maps}/a", content(1))
        else:
            ask(api, "PUT", f"{maps}/a", content(1))
        assert fault.hits == int(met)


def test_a_subresource_is_named_as_in_a_role(api: ApiServer, maps: str) -> None:
    space = maps.rpartition("/")[0]
    deployment = {
        "metadata": {"name": "d", "labels": {"a": "b"}},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    }
    path = f"/apis/apps/v1{space.removeprefix('/api/v1')}/deployments"
    ask(api, "POST", path, deployment)
    with api.faults.add(resource="deployments/scale", group="apps", answer="not_found"):
        assert ask(api, "GET", f"{path}/d")["metadata"]["name"] == "d"
        with pytest.raises(Refused, match="404"):
            ask(api, "GET", f"{path}/d/scale")


def test_a_draw_depends_on_the_seed_alone(api: ApiServer, maps: str) -> None:
    def drawn(seed: int) -> list[bool]:
        with api.faults.add(verb="get", probability=0.5, seed=seed, answer="timed_out"):
            return [raw(api, "GET", f"{maps}/a")[0] == 504 for _ in range(20)]

    first = drawn(3)
    assert first == drawn(3) and first != drawn(4) and 0 < sum(first) < 20


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"answer": "confict"},
        {"answer": {"latency": {}}},
        {"answer": {"latency": {"seconds": 1e9}}},
        {"answer": {"latency": {"seconds": "1"}}},
        {"answer": {"status": {"code": 200}}},
        {"answer": "conflict", "times": 0},
        {"answer": "conflict", "probability": 2},
        {"answer": "conflict", "verb": {"a": 1}},
        {"answer": "conflict", "verbs": "get"},
        {"answer": "conflict", "name": "\ud800"},
        {"answer": "conflict", "verb": "updat"},
        {"answer": "conflict", "verb": ["get", "!lists"]},
        {"answer": "conflict", "resource": "configmap"},
        {"answer": "conflict", "resource": ["pods", "Deployment/scale"]},
        ["answer"],
    ],
)
def test_what_is_no_fault_is_refused_in_words(api: ApiServer, asked: Any) -> None:
    with pytest.raises(Refused) as refused:
        ask(api, "POST", "/testing/faults", asked)
    assert refused.value.status == 400
    assert list(api.faults) == []


def test_a_fault_of_numbers_that_are_too_large_is_told_as_any(api: ApiServer) -> None:
    with api.faults.add(answer="conflict", name="nobody", seed=10**30):
        assert len(list(api.faults)) == 1


def test_the_clock_goes_forward_by_no_number_that_is_too_large(api: ApiServer) -> None:
    with pytest.raises(Refused) as refused:
        ask(api, "POST", "/testing/clock", {"advance": 10**400})
    assert refused.value.status == 400


def test_nobody_else_may_order_faults(api: ApiServer) -> None:
    other = user(api, "mallory", roles=["view"])
    with pytest.raises(Refused, match="403"):
        ask(api, "POST", "/testing/faults", {"answer": "conflict"}, token=other.token)


def test_a_request_waits(api: ApiServer, maps: str) -> None:
    with api.faults.add(verb="get", times=1, answer=of.latency(0.4)):
        began = time.monotonic()
        ask(api, "GET", f"{maps}/a")
        assert time.monotonic() - began >= 0.4


def test_a_write_is_stored_and_its_answer_lost(api: ApiServer, maps: str) -> None:
    with api.faults.add(verb="create", times=1, answer=of.timed_out_after_write()), pytest.raises(Refused, match="504"):
        ask(api, "POST", maps, content(1, "b"))
    assert ask(api, "GET", f"{maps}/b")["data"] == {"n": "1"}
    with api.faults.add(verb="create", times=1, answer=of.reset_after()), pytest.raises((ConnectionError, OSError)):
        ask(api, "POST", maps, content(1, "c"))
    assert ask(api, "GET", f"{maps}/c")["data"] == {"n": "1"}
    with api.faults.add(verb="create", times=1, answer=of.reset_before()), pytest.raises((ConnectionError, OSError)):
        ask(api, "POST", maps, content(1, "d"))
    with pytest.raises(Refused, match="404"):
        ask(api, "GET", f"{maps}/d")


def test_reads_of_the_cache_lag_and_others_do_not(api: ApiServer, maps: str) -> None:
    secrets = maps.replace("configmaps", "secrets")  # no other test changes secrets here: the whole resource is stale

    def secret(n: int) -> dict[str, Any]:
        return {"metadata": {"name": "s", "labels": {"n": str(n)}}}

    def seen(query: str = "") -> str:
        labels: dict[str, str] = ask(api, "GET", f"{secrets}/s{query}")["metadata"]["labels"]
        return labels["n"]

    ask(api, "POST", secrets, secret(0))
    for n in (1, 2, 3):
        last = ask(api, "PUT", f"{secrets}/s", secret(n))
    assert seen() == "3"  # as new as etcd, and so is the cache from then on
    with api.faults.add(resource="secrets", answer=of.stale_reads(changes=2)) as fault:
        listed = ask(api, "GET", f"{secrets}?resourceVersion=0")
        assert [each["metadata"]["labels"]["n"] for each in listed["items"]] == [seen("?resourceVersion=0")] == ["1"]
        assert int(listed["metadata"]["resourceVersion"]) < int(last["metadata"]["resourceVersion"])
        assert seen() == "3" and fault.hits == 2
    with api.faults.add(resource="secrets", answer=of.stale_reads(seconds=60)), pytest.raises(Refused, match="404"):
        seen("?resourceVersion=0")
    assert seen("?resourceVersion=0") == "3"


def test_while_etcd_is_gone_the_cache_still_answers(api: ApiServer, maps: str) -> None:
    with api.faults.add(answer=of.etcd_gone()):
        assert ask(api, "GET", f"{maps}/a?resourceVersion=0")["data"] == {"n": "0"}
        for method, body in (("GET", None), ("PUT", content(1)), ("DELETE", None)):
            status, headers, _ = raw(api, method, f"{maps}/a", body)
            assert (status, headers["retry-after"]) == (503, "1")


def test_a_webhook_fails(api: ApiServer, maps: str) -> None:
    with webhook(api, lambda request: None, "configmaps", operations=("CREATE",)) as hook:
        with api.faults.add(answer=of.webhook_fails(), webhook="no-such-hook"):
            ask(api, "POST", maps, content(0, "b"))
        with api.faults.add(answer=of.webhook_fails("connect: connection refused"), times=1) as fault:
            with pytest.raises(Refused, match=r"failed calling webhook .*: connect: connection refused") as refused:
                ask(api, "POST", maps, content(0, "c"))
            assert refused.value.status == 500 and fault.hits == 1
        ask(api, "POST", maps, content(0, "d"))
        assert [each["name"] for each in hook.requests] == ["b", "d"]


def test_a_watch_ends_and_loses_its_place_and_breaks(api: ApiServer, maps: str) -> None:
    space = maps.split("/")[4]  # watches of other tests may still be open: the one fault is not for them
    for answer, last in ((of.watch_ends(), ENDED), (of.watch_reset(), BROKEN)):
        with watching(api, maps, SELECTED) as events:
            assert events.name() == ("ADDED", "a")
            with api.faults.add(verb="watch", namespace=space, times=1, answer=answer) as fault:
                assert events.next() == last and fault.hits == 1
    with watching(api, maps, SELECTED) as events:
        assert events.name() == ("ADDED", "a")
        with api.faults.add(verb="watch", resource="configmaps", answer=of.watch_gone()):
            error = events.next()
            assert error["type"] == "ERROR"
            assert (error["object"]["code"], error["object"]["reason"]) == (410, "Expired")
            assert events.next() == ENDED
            with watching(api, maps, SELECTED) as another:
                assert another.next()["type"] == "ERROR"


def test_a_silent_watch_and_a_late_one_skip_nothing(api: ApiServer, maps: str) -> None:
    with watching(api, maps, SELECTED) as events:
        assert events.name() == ("ADDED", "a")
        with api.faults.add(verb="watch", resource="configmaps", answer=of.watch_silent()):
            ask(api, "POST", maps, content(0, "b"))
            ask(api, "POST", maps, content(0, "c"))
            assert events.is_silent()
        assert [events.name(), events.name()] == [("ADDED", "b"), ("ADDED", "c")]
        with api.faults.add(verb="watch", resource="configmaps", answer=of.watch_late(0.4)):
            began = time.monotonic()
            ask(api, "DELETE", f"{maps}/b")
            assert events.name() == ("DELETED", "b")
            assert time.monotonic() - began >= 0.4
        ask(api, "DELETE", f"{maps}/c")
        assert events.name() == ("DELETED", "c")


def test_a_bookmark_comes_twice(api: ApiServer, maps: str) -> None:
    with watching(api, maps, f"{SELECTED}&allowWatchBookmarks=true") as events:
        assert (events.name(), events.next()["type"]) == (("ADDED", "a"), "BOOKMARK")  # that of the state
        with api.faults.add(verb="watch", resource="configmaps", answer=of.bookmark_twice()):
            first, second = events.next(), events.next()
        assert first["type"] == "BOOKMARK" and first == second


def test_what_a_server_does_without_faults_is_as_before(api: ApiServer, maps: str) -> None:
    fault = api.faults.add(answer="conflict")
    fault.remove()
    fault.remove()
    assert list(api.faults) == [] and ask(api, "PUT", f"{maps}/a", content(5))["data"] == {"n": "5"}


ANYTHING = (
    *(of.conflict(), of.too_many_requests(), of.server_timeout(), of.timed_out(), of.timed_out_after_write()),
    *(of.reset_before(), of.reset_after(), of.latency(0.01), of.etcd_gone(), of.watch_ends(), of.watch_gone()),
    *(of.watch_reset(), of.watch_late(0.05), of.bookmark_twice(), of.stale_reads(3)),
)


@settings(max_examples=8)
@given(st.integers(0, 1 << 30), st.lists(st.sampled_from(ANYTHING), max_size=4))
def test_whatever_goes_wrong_what_was_acknowledged_is_stored(api: ApiServer, seed: int, also: list[of.Answer]) -> None:
    """Each object is the last acknowledged version, or a later one without an answer. A relist shows that."""
    with namespace(api) as space:
        maps = f"/api/v1/namespaces/{space}/configmaps"
        acknowledged: dict[str, str] = {}
        since: dict[str, set[str]] = {}  # versions that may have been stored after that
        with watching(api, maps, SELECTED) as events:
            api.faults.chaos(seed, intensity=0.4, user_agent=(), resource="configmaps")
            for answer in also:
                api.faults.add(resource="configmaps", probability=0.3, seed=seed, answer=answer)
            for n in range(40):
                name, value = f"m{n % 5}", content(n, f"m{n % 5}")
                there = name in acknowledged
                try:
                    status, _, _ = raw(api, "PUT" if there else "POST", f"{maps}/{name}" if there else maps, value)
                except (OSError, HTTPException):
                    status = 504
                if status < 300:
                    acknowledged[name], since[name] = str(n), set()
                else:
                    since.setdefault(name, set()).add(str(n))
            api.faults.clear()
            found = {
                each["metadata"]["name"]: each["data"]["n"] for each in ask(api, "GET", f"{maps}?{SELECTED}")["items"]
            }
            for name, value in acknowledged.items():
                assert found[name] == value or found[name] in since[name]
            for name in found.keys() - acknowledged.keys():
                assert found[name] in since[name]
            assert followed(api, maps, events, found) == found


def followed(api: ApiServer, maps: str, events: Watching, wanted: dict[str, str]) -> dict[str, str]:
    """The events of a watch, and of another one that resumes after its end, until they are as expected."""
    seen: dict[str, str] = {}
    while seen != wanted:
        event = events.next()
        if event["type"] in ("ENDED", "BROKEN", "ERROR"):
            with watching(api, maps, SELECTED) as anew:
                return followed(api, maps, anew, wanted)
        if event["type"] != "BOOKMARK":
            seen[event["object"]["metadata"]["name"]] = event["object"]["data"]["n"]
    return seen
