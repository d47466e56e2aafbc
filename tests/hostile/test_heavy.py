"""Small inputs that cause a lot of work do not delay other requests."""

from __future__ import annotations

import uuid

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import held_at_most
from tests.hostile.test_bodies import MAPS, PROTOBUF, send

LIMIT = 0.1
PODS = "/api/v1/namespaces/default/pods?dryRun=All"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"


def field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message with its length before it."""
    size, length = b"", len(content)
    while length > 127:
        size, length = size + bytes((length & 127 | 128,)), length >> 7
    return bytes((number << 3 | 2,)) + size + bytes((length,)) + content


@pytest.mark.parametrize("alike", [True, False])
def test_many_topology_spread_constraints(server: ApiServer, alike: bool) -> None:
    selector = {"matchLabels": {"a": "b"}}
    constraints = [
        {
            "maxSkew": 1,
            "topologyKey": "a" if alike else f"a{number}",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": selector,
        }
        for number in range(15_000)
    ]
    spec = {"containers": [{"name": "a", "image": "a"}], "topologySpreadConstraints": constraints}
    with held_at_most(server, LIMIT):
        status, text = send(server, "POST", PODS, {"metadata": {"name": "a"}, "spec": spec})
    assert status in (201, 422), text[:300]


def test_many_owners_in_protobuf(server: ApiServer) -> None:
    metadata = field(1, b"many") + field(13, b"") * 1_000_000
    raw = field(1, metadata)
    body = b"k8s\0" + field(1, field(1, b"v1") + field(2, b"ConfigMap")) + field(2, raw)
    with held_at_most(server, LIMIT):
        status, text = send(server, "POST", f"{MAPS}?dryRun=All", body, PROTOBUF)
    assert status in (400, 413, 422), text[:300]


MANY = 40_000
NAMED = field(1, field(1, b"many"))
CONTAINER = field(2, field(2, field(1, b"a") + field(2, b"i")))
MESSAGES = {
    "unknown fields": ("ConfigMap", NAMED + field(9, b"") * MANY, 201),
    "entries without a key": ("ConfigMap", NAMED + field(2, b"") * MANY, 422),
    "conditions": (
        "Pod",
        NAMED + CONTAINER + field(3, field(2, b"") * MANY),
        400,  # more objects than a body of this size may have in lists
    ),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_short_fields_in_protobuf(server: ApiServer, case: str) -> None:
    """A field takes two bytes: the event loop must not decode too many of them at once, though the body is small."""
    kind, message, expected = MESSAGES[case]
    body = b"k8s\0" + field(1, field(1, b"v1") + field(2, kind.encode())) + field(2, message)
    path = PODS if kind == "Pod" else f"{MAPS}?dryRun=All"
    with held_at_most(server, LIMIT):
        status, text = send(server, "POST", path, body, PROTOBUF)
    assert status == expected, text[:300]


@pytest.mark.parametrize(("count", "expected"), [(10_000, 422), (30_000, 400), (300_000, 400)])
def test_many_containers(server: ApiServer, count: int, expected: int) -> None:
    """Each container gets a volume mount for the service account's token before the pod is validated."""
    body = '{"metadata":{"name":"many"},"spec":{"containers":[' + ",".join(["{}"] * count) + "]}}"
    with held_at_most(server, LIMIT):
        status, text = send(server, "POST", PODS, body)
    assert status == expected, text[:300]


def test_many_valid_containers(server: ApiServer) -> None:
    """Defaults and managed fields of 60 000 containers would take 74 times the bytes."""
    containers = ",".join(f'{{"name":"a{number}","image":"b"}}' for number in range(60_000))
    body = f'{{"metadata":{{"name":"many"}},"spec":{{"containers":[{containers}]}}}}'
    with held_at_most(server, LIMIT):
        status, text = send(server, "POST", PODS, body)
    assert (status, "containers; send fewer" in text) == (400, True), text[:300]


def test_many_errors(server: ApiServer) -> None:
    """Validation ends early, and the answer is made, before another request has waited for long: this runs on
    the loop.
    """
    with held_at_most(server, LIMIT):
        status, text = send(
            server, "POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "a", "finalizers": [""] * 30_000}}
        )
    assert status == 422, text[:300]
    assert len(text) < 1 << 19


@pytest.mark.parametrize("media_type", [MERGE, STRATEGIC])
@pytest.mark.parametrize("depth", [450, 9000])
def test_deep_patches(server: ApiServer, media_type: str, depth: int) -> None:
    name = f"deep{depth}{uuid.uuid4().hex}"
    path = "/apis/apps/v1/namespaces/default/controllerrevisions"
    made = {"metadata": {"name": name}, "revision": 1, "data": {}}
    assert send(server, "POST", path, made)[0] == 201
    with held_at_most(server, LIMIT):
        patch = '{"data":' + '{"a":' * depth + "1" + "}" * depth + "}"
        status, text = send(server, "PATCH", f"{path}/{name}", patch, media_type)
    assert status in (200, 400, 422), text[:300]
