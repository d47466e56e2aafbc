"""JSON has Go's escapes wherever kube-apiserver has them, and in etcd; YAML and OpenAPI v2 have none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.jsontypes import dumps, dumps_plain
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient
from tests.forked import api_server
from tests.integration.reads.api import on_etcd
from tests.integration.representations.test_cbor import DEFINITION
from tests.integration.server.client import Answer, ask
from tests.until import until

TEXT = 'a<b>&c\u2028d\u2029é\\"/\x7f\x01😀'
ESCAPED = b'a\\u003cb\\u003e\\u0026c\\u2028d\\u2029\xc3\xa9\\\\\\"/\x7f\\u0001' + "😀".encode()
PLAIN = re.compile(rb"[<>&]|\xe2\x80[\xa8\xa9]")
MAPS = "/api/v1/namespaces/default/configmaps"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
THINGS = "/apis/forms.example/v1/things"
TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
MERGE = {"Content-Type": "application/merge-patch+json"}
WATCH = "?watch=1&timeoutSeconds=1&resourceVersion=0"
OLDER = {
    "kind": "ClusterRole",
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "metadata": {"name": "<older>", "uid": "5bd4a5b9-0000-4000-8000-000000000001"},
    "rules": None,
}


@pytest.fixture(scope="module")
def etcd() -> Iterator[EmbeddedEtcd]:
    with EmbeddedEtcd() as running:

        async def fill(client: EtcdClient) -> None:
            await client.put(b"/registry/clusterroles/<older>", dumps_plain(OLDER) + b" \n")

        on_etcd(running.endpoint, fill)
        yield running


@pytest.fixture(scope="module")
def server(etcd: EmbeddedEtcd) -> Iterator[ApiServer]:
    with api_server("--controllers=-*", etcd_servers=etcd.endpoint) as running:
        version = DEFINITION["spec"]["versions"][0]  # type: ignore[index]
        columns = [{"name": "Text", "type": "string", "jsonPath": ".text", "description": "<&>"}]
        spec = {**DEFINITION["spec"], "versions": [{**version, "additionalPrinterColumns": columns}]}  # type: ignore[dict-item]
        place = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        assert ask(running, "POST", place, {**DEFINITION, "spec": spec}).status == 201
        until(lambda: ask(running, "GET", THINGS).status == 200)
        named = {"name": "a", "annotations": {"n": TEXT}}
        assert ask(running, "POST", f"{MAPS}?fieldManager=m%3C", {"metadata": named, "data": {"t": TEXT}}).status == 201
        thing = {"apiVersion": "forms.example/v1", "kind": "Thing", "metadata": {"name": "a"}, "text": TEXT}
        assert ask(running, "POST", THINGS, thing).status == 201
        assert ask(running, "POST", ROLES, {"metadata": {"name": "<new>"}}).status == 201
        yield running


def said(answer: Answer) -> bytes:
    assert not PLAIN.search(answer.body), PLAIN.findall(answer.body)
    return answer.body


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (f"{MAPS}/a", None),
        (MAPS, None),
        (f"{MAPS}?pretty=1", None),
        (MAPS, PARTIAL),
        (f"{MAPS}{WATCH}", None),
        (THINGS, None),
        (f"{THINGS}/a", None),
        (THINGS, TABLE),
        (f"{THINGS}{WATCH}", None),
        (f"{THINGS}{WATCH}", TABLE),
    ],
)
def test_objects_are_escaped_in_all_forms_of_json(server: ApiServer, path: str, headers: dict[str, str] | None) -> None:
    assert ESCAPED in said(ask(server, "GET", path, headers=headers))


def test_answers_of_writes_are_escaped(server: ApiServer) -> None:
    patch = {"data": {"more": TEXT}}
    assert said(ask(server, "PATCH", f"{MAPS}/a", patch, headers=MERGE)).count(ESCAPED) == 3
    body = said(ask(server, "POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "b"}, "data": {"t": TEXT}}))
    assert ESCAPED in body and json.loads(body)["data"] == {"t": TEXT}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", f"{MAPS}/{quote('<&>')}", None, 404),
        ("GET", f"{MAPS}?fieldSelector={quote('<&>')}", None, 400),
        ("POST", MAPS, {"metadata": {"name": "<&>"}}, 422),
        ("POST", f"{MAPS}?fieldValidation=Strict", {"metadata": {"name": "c"}, "<&>": 1}, 400),
    ],
)
def test_a_status_is_escaped(server: ApiServer, method: str, path: str, body: object, status: int) -> None:
    answer = ask(server, method, path, body)
    assert answer.status == status and b"\\u003c\\u0026\\u003e" in said(answer)


def test_openapi_3_is_escaped_and_openapi_2_is_not(server: ApiServer) -> None:
    """As there. Warnings are headers, and YAML has no escapes: both are plain, too."""
    assert not PLAIN.search(ask(server, "GET", "/openapi/v3/apis/forms.example/v1").body)
    assert b"\\u003c" not in ask(server, "GET", "/openapi/v2").body
    answer = ask(server, "GET", f"{MAPS}/a", headers={"Accept": "application/yaml"})
    assert b"\\u003c" not in answer.body and b"a<b>&c" in answer.body


def test_values_in_etcd_are_escaped(server: ApiServer, etcd: EmbeddedEtcd) -> None:
    async def stored(client: EtcdClient) -> list[bytes]:
        keys = (b"/registry/configmaps/default/a", b"/registry/forms.example/things/a")
        return [found.value for key in keys if (found := await client.get(key)) is not None]

    values = on_etcd(etcd.endpoint, stored)
    assert len(values) == 2
    assert all(ESCAPED in value and not PLAIN.search(value) for value in values)


@pytest.mark.parametrize("name", ["<new>", "<older>"])
def test_names_with_escapes_are_read_also_as_stored_without(etcd: EmbeddedEtcd, server: ApiServer, name: str) -> None:
    """A new server reads both from etcd; a write leaves a value as this server writes it."""
    with api_server("--controllers=-*", etcd_servers=etcd.endpoint) as another:
        place = f"{ROLES}/{quote(name)}"
        found = ask(another, "GET", place)
        assert (found.status, found.json["metadata"]["name"]) == (200, name)
        changed = ask(another, "PATCH", place, {"metadata": {"labels": {"a": "b"}}}, headers=MERGE)
        assert changed.status == 200 and dumps(name) in said(changed)
