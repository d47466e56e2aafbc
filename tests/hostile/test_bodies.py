"""Bodies, patches and parameters that are meant to crash, block or fill the server."""

from __future__ import annotations

import base64
import json
import uuid
from typing import Any
from urllib.parse import quote

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import held_at_most
from tests.integration.server.client import connect

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
MAPS = "/api/v1/namespaces/default/configmaps"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"
LONG = "9" * 5000
PATIENCE = 240.0  # seconds for an answer: work that yields to other requests takes long on a busy machine
HELD = 0.1  # seconds that an authenticated client may delay others


def send(server: ApiServer, method: str, path: str, body: Any = b"", media_type: str = JSON) -> tuple[int, str]:
    """The status and the text of the answer. `body` is sent as it is if it is bytes, else as JSON."""
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": media_type}
    connection = connect(server, PATIENCE)
    try:
        connection.request(method, path, data, headers)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "replace")
    finally:
        connection.close()


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
@pytest.mark.parametrize("depth", [9000, 26_000])
def test_no_depth_of_yaml_ends_the_server(server: ApiServer, opening: str, depth: int) -> None:
    with held_at_most(server, HELD):
        status, text = send(server, "POST", MAPS, opening * depth, YAML)
    assert status == 400
    if opening != "? ":
        assert "yaml: exceeded max depth of 1000" in text


@pytest.mark.parametrize(("depth", "expected"), [(300, 201), (450, 201), (1100, 400), (9000, 400), (10_001, 400)])
def test_deep_json_that_is_kept(server: ApiServer, depth: int, expected: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    name = f"deep-{depth}"
    head = f'{{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{{"name":"{name}"}}'
    body = f'{head},"revision":1,"data":{deep}}}'
    status, text = send(server, "POST", REVISIONS, body)
    assert status == expected, text[:300]
    if status == 201:
        for accept in ("application/json", "application/yaml"):
            connection = connect(server)
            connection.request(
                "GET",
                f"{REVISIONS}/{name}?pretty=1",
                headers={"Authorization": f"Bearer {server.token}", "Accept": accept},
            )
            assert connection.getresponse().status == 200
            connection.close()
        merge = "application/merge-patch+json"
        assert send(server, "PATCH", f"{REVISIONS}/{name}", {"revision": 2}, merge)[0] == 200
        assert send(server, "DELETE", f"{REVISIONS}/{name}")[0] == 200


QUOTAS = CLAIMS[:-22] + "resourcequotas?dryRun=All"  # dry run: a stored quota would refuse the following requests


@pytest.mark.parametrize("size", ["1e2147483647", "-1e2147483647", "1e-2147483648", "9" * 20_000, LONG, "0" * 5000])
def test_quantities_are_never_written_out(server: ApiServer, size: str) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"generateName": "q"}, "spec": spec}
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1", "hugepages-2Mi": size, "a.b/c": size}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "q"}, "spec": {"containers": [container]}}
    hard = {"pods": size, "requests.memory": size, "limits.memory": "1"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"generateName": "q"}, "spec": {"hard": hard}}
    with held_at_most(server, HELD):
        for path, body in ((CLAIMS, claim), (CLAIMS[:-22] + "pods", pod), (QUOTAS, quota)):
            assert send(server, "POST", path, body)[0] in (201, 400, 422)


def test_a_pattern_takes_linear_time(server: ApiServer) -> None:
    schema = {"type": "string", "pattern": "(a+)+$", "default": "a" * 60 + "b"}
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}}
    names = {"plural": "evils", "kind": "Evil"}
    spec = {"group": "ex.io", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    definition |= {"metadata": {"name": "evils.ex.io"}, "spec": spec}
    with held_at_most(server, HELD):
        status, text = send(server, "POST", DEFINITIONS, definition)
    assert status == 422 and "should match '(a+)+$'" in text


def test_copies_of_copies_are_bounded(server: ApiServer) -> None:
    send(server, "POST", MAPS, config_map("copied"))
    copies = [{"op": "copy", "from": "/data", "path": f"/data/k{i}"} for i in range(24)]
    patch = [{"op": "add", "path": "/data", "value": {"a": {"x": "y" * 10}}}, *copies]
    with held_at_most(server, HELD):
        status, text = send(server, "PATCH", f"{MAPS}/copied", patch, JSON_PATCH)
    assert status == 422 and "the server rejected our request due to an error in our request" in text


@pytest.mark.parametrize(
    "body",
    [
        "a: &a '" + "x" * 1_000_000 + "'\nb: [" + ",".join(["*a"] * 600) + "]\n",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(8)),
        "a0: &a0 {"
        + ",".join(f"k{i}: v" for i in range(2000))
        + "}\n"
        + "".join(f"a{i}: &a{i}\n  <<: *a{i - 1}\n  z{i}: 1\n" for i in range(1, 400)),
    ],
    ids=["long", "many", "merged"],
)
def test_aliases_are_counted_before_they_are_followed(server: ApiServer, body: str) -> None:
    with held_at_most(server, HELD):
        status, text = send(server, "POST", MAPS, body, YAML)
    assert status == 400 and "document contains excessive aliasing" in text


def test_a_long_key_above_much_that_is_repeated(server: ApiServer) -> None:
    body = f'{{"a":1,"a":2,"{"k" * 200_000}":[{",".join(["{}"] * 40_000)}]}}'
    with held_at_most(server, HELD):
        assert send(server, "POST", MAPS, body)[0] == 422


def test_long_lists_of_metadata(server: ApiServer) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod"}
    owners = [{**owner, "name": f"p{i}", "uid": f"u{i}"} for i in range(10_000)]
    with held_at_most(server, HELD):
        assert send(server, "POST", MAPS, config_map(f"owned-{uuid.uuid4().hex}", ownerReferences=owners))[0] == 201
        controllers = [{**each, "controller": True} for each in owners[:5000]]
        assert send(server, "POST", MAPS, config_map("controlled", ownerReferences=controllers))[0] == 422


def protobuf(number: int, wire: int, value: bytes) -> bytes:
    size = bytes([len(value)]) if wire == 2 else b""
    return bytes([number << 3 | wire]) + size + value


def envelope(message: bytes) -> bytes:
    meta = protobuf(1, 2, b"v1") + protobuf(2, 2, b"ConfigMap")
    return b"k8s\0" + protobuf(1, 2, meta) + protobuf(2, 2, message)


@pytest.mark.parametrize(("wire", "value"), [(0, b"\5"), (1, b"12345678"), (5, b"1234")])
def test_wrong_wire_types(server: ApiServer, wire: int, value: bytes) -> None:
    wrong = f"proto: wrong wireType = {wire} for field"
    for message, field in (
        (protobuf(1, wire, value), "ObjectMeta"),
        (protobuf(2, wire, value), "Data"),
        (protobuf(1, 2, protobuf(1, wire, value)), "Name"),
    ):
        status, text = send(server, "POST", MAPS, envelope(message), PROTOBUF)
        assert status == 400 and f"{wrong} {field}" in text
    status, text = send(server, "POST", MAPS, b"k8s\0" + protobuf(1, wire, value), PROTOBUF)
    assert status == 400 and f"{wrong} TypeMeta" in text


def test_protobuf_times_beyond_the_years(server: ApiServer) -> None:
    for seconds in (b"\xff" * 8 + b"\x3f", b"\x80" * 9 + b"\x01", b"\x80" * 6 + b"\x01"):
        timestamp = protobuf(1, 0, seconds)
        meta = protobuf(1, 2, b"t") + protobuf(8, 2, timestamp)
        assert send(server, "POST", MAPS, envelope(protobuf(1, 2, meta)), PROTOBUF)[0] == 400


@pytest.mark.parametrize(
    "token",
    [
        '{"v":"meta.k8s.io/v1","rv":1,"start":"\\ud800"}',
        '{"v":"\\ud800","rv":1,"start":"a"}',
        '{"v":"meta.k8s.io/v1","rv":9223372036854775808,"start":"a"}',
        '{"v":"meta.k8s.io/v1","rv":' + LONG + ',"start":"a"}',
        "[" * 30_000,
        "[" * 1100 + "]" * 1100,
        "NaN",
        "null",
    ],
)
def test_continue_tokens(server: ApiServer, token: str) -> None:
    encoded = base64.urlsafe_b64encode(token.encode()).rstrip(b"=").decode()
    status, text = send(server, "GET", f"{MAPS}?limit=1&continue={encoded}")
    assert status == 200 or (status in (400, 410) and "ontinue" in text), text[:300]


@pytest.mark.parametrize(
    ("method", "path", "body", "media_type", "expected"),
    [
        ("GET", f"{MAPS}?labelSelector={quote('a>' + LONG)}", b"", JSON, 400),
        ("POST", MAPS, f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"generation":{LONG}}}}}', JSON, 400),
        ("POST", MAPS, f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, generation: {LONG}}}", YAML, 400),
        ("POST", MAPS, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, generation: 1e20}", YAML, 400),
        ("PATCH", f"{MAPS}/kube-root", [{"op": "remove", "path": f"/metadata/{LONG}"}], JSON_PATCH, 404),
        ("DELETE", f"{MAPS}/none?gracePeriodSeconds={LONG}", b"", JSON, 400),
        ("GET", f"{MAPS}?limit={LONG}", b"", JSON, 400),
    ],
)  # fmt: skip
def test_long_integers(server: ApiServer, method: str, path: str, body: Any, media_type: str, expected: int) -> None:
    assert send(server, method, path, body, media_type)[0] == expected
