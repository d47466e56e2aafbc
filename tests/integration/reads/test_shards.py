"""Lists and watches of shards (API Concepts, "The shardSelector field")."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.selectors.shard_selector import fnv1a
from tests.forked import api_server
from tests.integration.customresources.definitions import definition, establish
from tests.integration.server.client import Answer, ask, connect

MANY = 140  # enough for a list that is cached
MIDDLE = 1 << 63
GROUP = "sharded.example"
PATH = "/api/v1/namespaces/default/configmaps"
HALVES = (
    "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')",
)


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server("--controllers=-*", "--feature-gates=ShardedListAndWatch=true") as running:
        for number in range(MANY):
            create(running, f"c{number:03}")
        yield running


def create(server: ApiServer, name: str, path: str = PATH, kind: str = "v1 ConfigMap") -> Any:
    version, _, named = kind.partition(" ")
    made = ask(
        server, "POST", path, {"apiVersion": version, "kind": named, "metadata": {"name": name, "labels": {"n": name}}}
    )
    assert made.status == 201
    return made.json


def listed(server: ApiServer, half: int, query: str = "", path: str = PATH, **headers: str) -> Answer:
    return ask(server, "GET", f"{path}?shardSelector={quote(HALVES[half])}{query}", headers=headers)


def half_of(obj: Any) -> int:
    return int(fnv1a(obj["metadata"]["uid"]) >= MIDDLE)


def test_two_shards_have_each_object_once_and_name_their_selector(server: ApiServer) -> None:
    whole = ask(server, "GET", PATH).json["items"]
    for _ in range(2):  # the second time from the cached list
        for half in (0, 1):
            found = listed(server, half).json
            assert found["items"] == [obj for obj in whole if half_of(obj) == half]
            assert found["metadata"]["shardInfo"] == {"selector": HALVES[half]}
    assert "shardInfo" not in ask(server, "GET", PATH).json["metadata"]


def test_pages_of_a_shard_are_the_shard(server: ApiServer) -> None:
    whole, found, token = listed(server, 0).json["items"], list[Any](), ""
    while True:
        page = listed(server, 0, f"&limit=9&continue={token}").json
        assert "remainingItemCount" not in page["metadata"] and page["metadata"]["shardInfo"]
        found += page["items"]
        token = page["metadata"].get("continue", "")
        if not token:
            break
    assert found == whole


def test_other_selectors_select_within_the_shard(server: ApiServer) -> None:
    name = listed(server, 1).json["items"][0]["metadata"]["name"]
    for query in (f"&labelSelector=n%3D{name}", f"&fieldSelector=metadata.name%3D{name}"):
        assert [len(listed(server, half, query).json["items"]) for half in (0, 1)] == [0, 1]


def test_protobuf_shows_the_shard_and_tables_do_not(server: ApiServer) -> None:
    binary = listed(server, 0, Accept="application/vnd.kubernetes.protobuf").body
    assert HALVES[0].encode() in binary
    for form in ("Table", "PartialObjectMetadataList"):
        found = listed(server, 0, Accept=f"application/json;as={form};g=meta.k8s.io;v=v1").json
        assert len(found.get("rows") or found["items"]) == len(listed(server, 0).json["items"])
        assert "shardInfo" not in found["metadata"]


def test_a_watch_has_the_events_of_its_shard(server: ApiServer) -> None:
    query = f"?watch=1&timeoutSeconds=60&shardSelector={quote(HALVES[0])}"
    watch: HTTPConnection = connect(server)
    watch.request("GET", PATH + query, headers={"Authorization": f"Bearer {server.token}"})
    stream = watch.getresponse()
    wanted = [obj["metadata"]["uid"] for obj in listed(server, 0).json["items"]]
    assert [json.loads(stream.readline())["object"]["metadata"]["uid"] for _ in wanted] == wanted
    made, names = list[Any](), iter(range(1000))
    while not made or {half_of(obj) for obj in made} != {0, 1} or half_of(made[-1]):  # the last one ends the wait
        made.append(create(server, f"w{next(names)}"))
    try:
        wanted = [obj["metadata"]["uid"] for obj in made if not half_of(obj)]
        assert [json.loads(stream.readline())["object"]["metadata"]["uid"] for _ in wanted] == wanted
    finally:
        watch.close()
        for obj in made:
            ask(server, "DELETE", f"{PATH}/{obj['metadata']['name']}")


def test_a_collection_is_deleted_in_its_shard_only(server: ApiServer) -> None:
    secrets = "/api/v1/namespaces/default/secrets"
    made = [create(server, f"s{number}", secrets, "v1 Secret") for number in range(20)]
    answer = ask(server, "DELETE", f"{secrets}?shardSelector={quote(HALVES[0])}")
    left = {obj["metadata"]["uid"] for obj in ask(server, "GET", secrets).json["items"]}
    assert answer.status == 200 and left == {obj["metadata"]["uid"] for obj in made if half_of(obj)}


def test_custom_resources_have_shards_without_shard_info(server: ApiServer) -> None:
    establish(server, definition(GROUP))
    path = f"/apis/{GROUP}/v1/namespaces/default/widgets"
    made = [create(server, f"w{number}", path, f"{GROUP}/v1 Widget") for number in range(8)]
    found = [listed(server, half, path=path).json for half in (0, 1)]
    assert [[obj["metadata"]["uid"] for obj in each["items"]] for each in found] == [
        [obj["metadata"]["uid"] for obj in made if half_of(obj) == half] for half in (0, 1)
    ]
    assert all("shardInfo" not in each["metadata"] for each in found)


@pytest.mark.parametrize("query", ["", "&watch=1", "&resourceVersion=x"])
def test_a_wrong_selector_is_refused_as_kube_apiserver_does(server: ApiServer, query: str) -> None:
    answer = ask(server, "GET", f"{PATH}?shardSelector=x{query}")
    said = "invalid shard selector: unexpected expression kind 3; expected shardRange() call or || operator"
    assert (answer.status, answer.json["message"], answer.json.get("reason")) == (500, said, None)


def test_without_the_gate_the_parameter_is_ignored(kubernetes_api: ApiServer) -> None:
    found = ask(kubernetes_api, "GET", "/api/v1/namespaces?shardSelector=x")
    assert found.status == 200 and found.json["items"] and "shardInfo" not in found.json["metadata"]
