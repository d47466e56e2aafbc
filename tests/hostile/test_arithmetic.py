"""Numbers, strings and repeated members that are chosen to make arithmetic, matching or joining slow delay nothing
else.

During one operation on big integers, or one match of a pattern, no other thread can run.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import cpu_seconds, held_at_most
from tests.hostile.test_bodies import DEFINITIONS, MAPS, send
from tests.integration.customresources.definitions import definition, establish, version
from tests.limits import at_most

HELD = 0.1
LARGE = 3_000_000
GROUP = f"g{uuid.uuid4().hex}.example.com"
SUMS = (
    "quantity(self.a).add(quantity(self.b)).compareTo(quantity('1')) < 9",
    "quantity(self.a).sub(quantity(self.b)).compareTo(quantity('1')) < 9",
    "quantity(self.a).add(1).sub(1).compareTo(quantity('1')) < 9",
    "quantity(self.a).add(quantity(self.b)).asApproximateFloat() > -1.0 || true",
    "!quantity(self.a).add(quantity(self.b)).isInteger() || true",
    "quantity(self.a).add(quantity(self.b)).compareTo(quantity(self.b).sub(quantity(self.a))) < 9",
)
TEXT = {"type": "string"}
ALIKE = {"type": "array", "items": {"type": "string"}, "maxItems": 100}


@pytest.fixture(scope="module", autouse=True)
def defined(module_server: ApiServer) -> Iterator[None]:
    spec = {
        "type": "object",
        "required": ["a", "b"],
        "properties": {"a": TEXT, "b": TEXT},
        "x-kubernetes-validations": [{"rule": rule} for rule in SUMS],
    }
    establish(module_server, definition(GROUP, version("v1", {"spec": spec})))
    lengths = {"spec": {"type": "string", "format": "duration"}}
    establish(module_server, definition(GROUP, version("v1", lengths), plural="lengths"))
    yield


def custom(plural: str, kind: str, spec: Any) -> tuple[str, Any]:
    """The path of a custom object's collection, and its body."""
    made = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"generateName": "a"}, "spec": spec}
    return f"/apis/{GROUP}/v1/namespaces/default/{plural}", made


@pytest.mark.parametrize("large", ["1e300000000", "1e2147483647", "-1e300000000", "9" * 9999, "1e9999", "0e300000000"])
@pytest.mark.parametrize("other", ["1", "1n", "0", "-1e-9", "1e5000"])
def test_sums_of_quantities(server: ApiServer, large: str, other: str) -> None:
    for a, b in ((large, other), (other, large)):
        with held_at_most(server, HELD):
            status, text = send(server, "POST", *custom("widgets", "Widget", {"a": a, "b": b}))
        assert status == 201, text


def test_sums_of_literals(server: ApiServer) -> None:
    rule = {"rule": "quantity('1e300000000').add(quantity('1')).isGreaterThan(quantity('1'))"}
    spec = {"type": "object", "x-kubernetes-validations": [rule]}
    with held_at_most(server, HELD):
        body = definition("literals.example.com", version("v1", {"spec": spec}))
        assert send(server, "POST", DEFINITIONS, body)[0] == 201


@pytest.mark.parametrize("text", ["1" * LARGE + "!", "1 " * (LARGE // 2), "1." + "1" * LARGE, "1h" * (LARGE // 2)])
def test_lengths_of_time(server: ApiServer, text: str) -> None:
    with held_at_most(server, HELD):
        status, told = send(server, "POST", *custom("lengths", "Length", text[: LARGE - 1000]))
    assert status in (201, 413, 422), told[:300]


@pytest.mark.parametrize("text", ["0" * 100_000 + "!", "0" * 50_000 + "9" * 50_000 + "x", "E" * 100_000])
def test_texts_that_are_no_quantities(server: ApiServer, text: str) -> None:
    container = {"name": "a", "image": "a", "resources": {"limits": {"cpu": text}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}}
    with held_at_most(server, HELD):
        status, told = send(server, "POST", "/api/v1/namespaces/default/pods?dryRun=All", pod)
    assert status == 400, told[:300]


@pytest.mark.parametrize("pump", ["-----BEGIN A-----\n", "-----BEGIN A-----\n-----END B-----\n", "a: b\n"])
def test_certificates(server: ApiServer, pump: str) -> None:
    text = base64.b64encode(("-----BEGIN CERTIFICATE-----\n" + pump * (700_000 // len(pump))).encode()).decode()
    data = {"tls.crt": text, "tls.key": ""}
    secret = {"metadata": {"generateName": "a"}, "type": "kubernetes.io/tls", "data": data}
    with held_at_most(server, HELD):
        assert send(server, "POST", "/api/v1/namespaces/default/secrets", secret)[0] in (201, 422)
    request = {"metadata": {"name": "a"}, "spec": {"request": text, "signerName": "a.example.com/b", "usages": ["any"]}}
    with held_at_most(server, HELD):
        path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
        assert send(server, "POST", path, request)[0] == 422


REPEATED = {
    "a struct": ('{"metadata":{"name":"a"}', ',"metadata":{}', "}"),
    "a struct with members": ('{"metadata":{"name":"a"}', ',"metadata":{"generateName":"b"}', "}"),
    "a map in it": ('{"metadata":{"name":"a"}', ',"metadata":{"labels":{"a":"b"}}', "}"),
    "a map": ('{"metadata":{"name":"a"}', ',"data":{"a":"b"}', "}"),
    "members of a map": ('{"metadata":{"name":"a"},"data":{"a":"b"', ',"a":"b"', "}}"),
    "a list": ('{"metadata":{"name":"a"}', ',"metadata":{"ownerReferences":[{}]}', "}"),
    "null and a struct": ('{"metadata":{"name":"a"}', ',"metadata":null,"metadata":{}', "}"),
}


@pytest.mark.parametrize("repeated", REPEATED)
def test_repeated_members(server: ApiServer, repeated: str) -> None:
    """The time grows in proportion to the number of repeated members."""
    start, one, end = REPEATED[repeated]
    took = []
    for size in (LARGE // 32, LARGE // 8):
        began = cpu_seconds(server.pid)
        with held_at_most(server, HELD):
            body = start + one * (size // len(one)) + end
            status, told = send(server, "POST", f"{MAPS}?dryRun=All&fieldValidation=Ignore", body)
        took.append(cpu_seconds(server.pid) - began)
        assert status in (201, 409, 422), told[:300]
    at_most(took[1], 8 * took[0] + 2, "the server computed for {found:.2f} s, {limit:.2f} s are allowed")
