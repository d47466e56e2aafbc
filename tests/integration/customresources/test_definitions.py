"""The life of CRDs: names, conditions, changes on every replica, and deletion."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

from apiserver_gateway.testing import ApiServer
from tests.integration.customresources.definitions import DEFINITIONS, MERGE, conditions, definition, establish, version
from tests.integration.server.client import ask
from tests.limits import within
from tests.until import until

Servers = tuple[ApiServer, ApiServer]
CHANGES = 15
SIZE = {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}


def test_an_established_definition_is_served_at_once_and_soon_by_others(servers: Servers) -> None:
    one, other = servers
    group = f"at-once-{uuid.uuid4().hex}.example.com"  # unique for this run: another run may use the same server
    establish(one, definition(group))
    path = f"/apis/{group}/v1/namespaces/default/widgets"
    made = ask(one, "POST", path, {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}})
    assert made.status == 201, made.body
    with within(1.0):
        until(lambda: ask(other, "GET", f"{path}/w").status == 200)
    for server in servers:
        assert group in ask(server, "GET", "/apis").body.decode()
        assert f"apis/{group}/v1" in ask(server, "GET", "/openapi/v3").json["paths"]
        document = ask(server, "GET", f"/openapi/v3/apis/{group}/v1").json
        assert f"com.example.{group.partition('.')[0]}.v1.Widget" in document["components"]["schemas"]


def test_who_is_told_that_a_definition_is_made_finds_its_conditions(servers: Servers) -> None:
    """`kubectl wait --for=condition=Established` fails if `status.conditions` is null, as it is in the answer to the
    create.
    """
    for server in servers:
        for number in range(5):
            wanted = definition(f"g{number}.{uuid.uuid4().hex}.example.com")
            created = ask(server, "POST", DEFINITIONS, wanted)
            assert created.status == 201 and created.json["status"]["conditions"] is None
            assert conditions(server, wanted["metadata"]["name"])["Established"] == "True"


def test_selectable_fields_are_said_of_a_kind_and_of_its_lists(servers: Servers) -> None:
    server, _ = servers
    group, paths = f"selectable-{uuid.uuid4().hex}.example.com", (".spec.size", ".spec.color")
    fields = {"size": {"type": "integer"}, "color": {"type": "string"}}
    made = version(properties={"spec": {"type": "object", "properties": fields}})
    establish(server, definition(group, made | {"selectableFields": [{"jsonPath": path} for path in paths]}))
    schemas = ask(server, "GET", f"/openapi/v3/apis/{group}/v1").json["components"]["schemas"]
    kinds = {name.rpartition(".")[2]: schema for name, schema in schemas.items()}
    for kind in ("Widget", "WidgetList"):
        said = kinds[kind]["x-kubernetes-selectable-fields"]
        assert said == [{"fieldPath": "spec.size"}, {"fieldPath": "spec.color"}], kind


def test_who_has_the_index_of_documents_of_the_same_second_gets_the_new_one(servers: Servers) -> None:
    """HTTP dates have whole seconds, and kubectl caches the OpenAPI index with its date."""
    server, _ = servers
    for _ in range(5):
        group = f"dated-{uuid.uuid4().hex}.example.com"
        date = ask(server, "GET", "/openapi/v3").headers["last-modified"]
        establish(server, definition(group))
        answer = ask(server, "GET", "/openapi/v3", headers={"If-Modified-Since": date})
        assert answer.status == 200 and f"apis/{group}/v1" in answer.json["paths"]


def test_a_changed_schema_holds_for_what_is_stored_and_ends_watches(servers: Servers) -> None:
    one, other = servers
    group = f"changing-{uuid.uuid4().hex}.example.com"
    name = establish(one, definition(group, version(properties=SIZE)))
    path = f"/apis/{group}/v1/namespaces/default/widgets"
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    assert ask(one, "POST", path, body).status == 201
    grown = {"spec": {"type": "object", "properties": {"color": {"type": "string", "default": "red"}}}}
    change = {"spec": {"versions": [version(properties=grown)]}}
    assert ask(one, "PATCH", f"{DEFINITIONS}/{name}", change, headers=MERGE).status == 200
    with within(1.0):
        for server in (one, other):
            until(lambda server=server: ask(server, "GET", f"{path}/w").json.get("spec") == {"color": "red"})
    change = {"spec": {"versions": [version(properties=SIZE)]}}
    assert ask(other, "PATCH", f"{DEFINITIONS}/{name}", change, headers=MERGE).status == 200
    for server in (one, other):
        until(lambda server=server: ask(server, "GET", f"{path}/w").json.get("spec") == {"size": 1})


def test_an_object_is_there_while_its_definition_changes(server: ApiServer) -> None:
    group, path = "steady.example.com", "/apis/steady.example.com/v1/namespaces/default/widgets"
    name = establish(server, definition(group, version(properties=SIZE)))
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    assert ask(server, "POST", path, body).status == 201

    def change() -> None:
        for turn in range(CHANGES):
            properties = {**SIZE, f"more{turn}": {"type": "string"}}
            patch = {"spec": {"versions": [version(properties=properties)]}}
            assert ask(server, "PATCH", f"{DEFINITIONS}/{name}", patch, headers=MERGE).status == 200

    with ThreadPoolExecutor(1) as pool:
        changing = pool.submit(change)
        while not changing.done():
            assert ask(server, "GET", f"{path}/w").status == 200
            assert len(ask(server, "GET", path).json["items"]) == 1
        changing.result()


def test_a_default_of_the_status_is_shown_and_not_stored(server: ApiServer) -> None:
    group, status = "shown.example.com", {"type": "object", "properties": {"phase": {"type": "string"}}}

    def versions(default: dict[str, str] | None) -> list[dict[str, object]]:
        properties = {**SIZE, "status": status if default is None else {**status, "default": default}}
        return [version(properties=properties, subresources={"status": {}})]

    name = establish(server, definition(group, *versions({"phase": "new"})))
    path = f"/apis/{group}/v1/namespaces/default/widgets"
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "status": {"phase": "x"}}
    for query in ("?dryRun=All", ""):
        assert ask(server, "POST", path + query, body).json["status"] == {"phase": "new"}
    assert ask(server, "GET", f"{path}/w").json["status"] == {"phase": "new"}
    assert ask(server, "PATCH", f"{DEFINITIONS}/{name}", {"spec": {"versions": versions(None)}}, headers=MERGE)
    until(lambda: "status" not in ask(server, "GET", f"{path}/w").json)


def test_a_name_is_given_to_one_definition_and_becomes_free_with_it(server: ApiServer) -> None:
    names = {"plural": "firsts", "kind": "First", "shortNames": ["ft"]}
    first = definition("names.example.com", plural="firsts", names=names)
    second = definition("names.example.com", plural="seconds", names={**names, "plural": "seconds", "kind": "Second"})
    establish(server, first)
    assert ask(server, "POST", DEFINITIONS, second).status == 201
    until(lambda: conditions(server, "seconds.names.example.com").get("NamesAccepted") == "False")
    assert conditions(server, "seconds.names.example.com")["Established"] == "False"
    assert ask(server, "GET", "/apis/names.example.com/v1/seconds").status == 404
    assert ask(server, "DELETE", f"{DEFINITIONS}/firsts.names.example.com").status == 200
    until(lambda: conditions(server, "seconds.names.example.com").get("Established") == "True")
    assert ask(server, "GET", "/apis/names.example.com/v1/seconds").status == 200


def test_a_name_that_becomes_free_is_given_once(server: ApiServer) -> None:
    group = "freed.example.com"
    holder = establish(server, definition(group, plural="ones"))
    waiting = []
    for plural in ("twos", "threes"):
        wanted = definition(group, plural=plural)
        wanted["spec"]["names"]["shortNames"] = ["ones"]
        assert ask(server, "POST", DEFINITIONS, wanted).status == 201
        waiting.append(wanted["metadata"]["name"])
        until(lambda name=wanted["metadata"]["name"]: "NamesAccepted" in conditions(server, name))
    assert ask(server, "DELETE", f"{DEFINITIONS}/{holder}").status == 200
    until(lambda: any(conditions(server, name)["NamesAccepted"] == "True" for name in waiting))
    until(lambda: ask(server, "GET", f"/apis/{group}/v1").status == 200)
    assert sorted(conditions(server, name)["NamesAccepted"] for name in waiting) == ["False", "True"]


def test_a_name_is_given_once_whichever_replicas_are_asked_for_it(servers: Servers) -> None:
    for turn in range(4):
        group = f"race{turn}.example.com"
        wanted = [definition(group, plural=plural) for plural in ("ponds", "pools")]
        for each in wanted:
            each["spec"]["names"]["kind"] = "Pond"
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda pair: ask(pair[0], "POST", DEFINITIONS, pair[1]), zip(servers, wanted, strict=True)))
        names = [each["metadata"]["name"] for each in wanted]
        until(lambda names=names: all("NamesAccepted" in conditions(servers[0], name) for name in names))
        assert sorted(conditions(servers[0], name)["NamesAccepted"] for name in names) == ["False", "True"]


def test_with_a_definition_go_objects_of_versions_that_are_not_served_any_more(server: ApiServer) -> None:
    group, path = "unserved.example.com", "/apis/unserved.example.com/v1/namespaces/default/widgets"
    name = establish(server, definition(group))
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}}
    assert ask(server, "POST", path, body).status == 201
    change = {"spec": {"versions": [version(served=False)]}}
    assert ask(server, "PATCH", f"{DEFINITIONS}/{name}", change, headers=MERGE).status == 200
    until(lambda: ask(server, "GET", path).status == 404)
    assert ask(server, "DELETE", f"{DEFINITIONS}/{name}").status == 200
    until(lambda: ask(server, "GET", f"{DEFINITIONS}/{name}").status == 404)
    establish(server, definition(group))
    assert ask(server, "GET", path).json["items"] == []


def test_the_end_of_a_definition_waits_for_the_finalizers_of_its_objects(servers: Servers) -> None:
    one, other = servers
    name = establish(one, definition("ending.example.com"))
    path = "/apis/ending.example.com/v1/namespaces/default/widgets"
    body = {"apiVersion": "ending.example.com/v1", "kind": "Widget"}
    assert ask(one, "POST", path, {**body, "metadata": {"name": "free"}}).status == 201
    assert ask(one, "POST", path, {**body, "metadata": {"name": "held", "finalizers": ["e.com/x"]}}).status == 201
    assert ask(one, "DELETE", f"{DEFINITIONS}/{name}").status == 200
    until(lambda: ask(one, "GET", f"{path}/free").status == 404)
    until(lambda: "deletionTimestamp" in ask(one, "GET", f"{path}/held").json["metadata"])  # one after the other
    refused = ask(one, "POST", path, {**body, "metadata": {"name": "new"}})
    assert refused.status == 403, refused.body
    assert conditions(one, name)["Terminating"] == "True"
    until(lambda: ask(other, "PATCH", f"{path}/held", {"metadata": {"finalizers": None}}, headers=MERGE).status == 200)
    until(lambda: ask(one, "GET", f"{DEFINITIONS}/{name}").status == 404)
    for server in servers:
        until(lambda server=server: ask(server, "GET", path).body == b"404 page not found\n")
