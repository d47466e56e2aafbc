"""The events of an audit policy, in the log file and at the audit webhook."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.access.strangers import Strangers
from tests.integration.server.client import Answer, ask, connect
from tests.logged import documents
from tests.until import until

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitManagedFields": True,
    "rules": [
        {"level": "None", "nonResourceURLs": ["/livez*"]},
        {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets"]}]},
        {"level": "None", "verbs": ["list"], "resources": [{"resources": ["pods"]}]},
        {"level": "Request", "resources": [{"resources": ["endpoints"]}], "omitStages": ["RequestReceived"]},
        {"level": "RequestResponse", "resources": [{"resources": ["configmaps"]}]},
        {"level": "Metadata"},
    ],
}
ALL = {"level": "RequestResponse"}
MAPS = "/api/v1/namespaces/default/configmaps"
LATENCY = "apiserver.latency.k8s.io/"


@dataclass(slots=True)
class World:
    """The server, its file of events, and the audit webhook."""

    server: ApiServer
    log: Path
    strangers: Strangers | None

    def ask(self, method: str, path: str, identity: str, body: Any = None, **more: Any) -> Answer:
        """Sends a request with an Audit-ID."""
        headers = {"Audit-ID": identity, **more.pop("headers", {})}
        return ask(self.server, method, path, body, headers=headers, **more)

    def events(self, identity: str) -> list[Any]:
        """The recorded events of a request, without latency annotations. All are written before the answer ends."""
        return [timeless(each) for each in self.all_events() if each["auditID"] == identity]

    def all_events(self) -> list[Any]:
        return documents(self.log)


def timeless(event: Any) -> Any:
    """An event without what depends on the machine's speed."""
    if "annotations" in event:
        event["annotations"] = {key: value for key, value in event["annotations"].items() if LATENCY not in key}
    return event


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("audit")
    (directory / "policy.json").write_text(json.dumps(POLICY))
    (directory / "tokens.csv").write_text("ada-token,ada,2,people\n")
    strangers = Strangers(directory)
    strangers.answers["/events"] = lambda events: {}
    flags = (
        f"--audit-policy-file={directory / 'policy.json'}",
        f"--audit-log-path={directory / 'logs' / 'audit.log'}",
        f"--audit-webhook-config-file={strangers.kubeconfig('/events')}",
        "--audit-webhook-batch-max-wait=100ms",
        f"--token-auth-file={directory / 'tokens.csv'}",
    )
    try:
        with api_server(*flags) as server:
            yield World(server, directory / "logs" / "audit.log", strangers)
    finally:
        strangers.close()


def test_a_write_is_recorded_with_both_objects(world: World) -> None:
    sent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "b"}}
    agent = {"User-Agent": "me/1.0", "X-Forwarded-For": "10.1.1.1, nonsense, 10.1.1.2", "X-Real-Ip": "10.1.1.3"}
    answer = world.ask("POST", f"{MAPS}?fieldManager=me", "write-1", sent, headers=agent)
    assert (answer.status, answer.headers["audit-id"]) == (201, "write-1")
    received, complete = world.events("write-1")
    assert (received["stage"], complete["stage"]) == ("RequestReceived", "ResponseComplete")
    assert "responseStatus" not in received and "requestObject" not in received
    assert received["requestReceivedTimestamp"] == received["stageTimestamp"]
    assert complete["requestReceivedTimestamp"] == received["requestReceivedTimestamp"] < complete["stageTimestamp"]
    assert list(complete)[:7] == ["kind", "apiVersion", "level", "auditID", "stage", "requestURI", "verb"]
    assert (complete["kind"], complete["apiVersion"], complete["level"]) == (
        "Event",
        "audit.k8s.io/v1",
        "RequestResponse",
    )
    assert (complete["verb"], complete["requestURI"]) == ("create", f"{MAPS}?fieldManager=me")
    assert complete["sourceIPs"] == ["10.1.1.1", "10.1.1.2", "10.1.1.3", "127.0.0.1"]
    assert (complete["userAgent"], complete["responseStatus"]) == ("me/1.0", {"metadata": {}, "code": 201})
    reference = {"resource": "configmaps", "namespace": "default", "name": "one", "apiVersion": "v1"}
    assert complete["objectRef"] == reference
    assert list(complete["requestObject"]) == ["kind", "apiVersion", "metadata", "data"]
    assert complete["requestObject"]["data"] == {"a": "b"} and "uid" not in complete["requestObject"]["metadata"]
    made = answer.json
    assert made["metadata"].pop("managedFields")
    assert complete["responseObject"] == made
    assert complete["annotations"] == {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""}


@pytest.mark.parametrize("accept", ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"])
@pytest.mark.parametrize("path", ["/kube-root", ""])
def test_an_answer_is_recorded_as_json_in_every_representation(world: World, accept: str, path: str) -> None:
    sent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root"}, "data": {"a": "b"}}
    world.ask("POST", MAPS, "seen", sent)
    identity = f"read-{accept}{path}"
    assert world.ask("GET", MAPS + path, identity, headers={"Accept": accept}).status == 200
    found = world.events(identity)[-1]["responseObject"]
    assert found["kind"] == ("ConfigMap" if path else "ConfigMapList")
    item = found if path else next(each for each in found["items"] if each["metadata"]["name"] == "kube-root")
    assert item["data"] == {"a": "b"} and "managedFields" not in item["metadata"]


@pytest.mark.parametrize("path", ["/zeros", "?labelSelector=none=such", "?labelSelector=zeros"])
@pytest.mark.parametrize("shown", ["", ";as=PartialObjectMetadata{list};g=meta.k8s.io;v=v1"])
def test_an_answer_in_protobuf_is_recorded_without_the_zero_values_that_it_has(
    world: World, shown: str, path: str
) -> None:
    labels = {"zeros": ""}
    sent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "zeros", "labels": labels}, "data": {"a": ""}}
    world.ask("POST", MAPS, "zeros", sent)
    recorded = []
    for media in ("json", "vnd.kubernetes.protobuf"):
        accept = f"application/{media}{shown.format(list='List' if '?' in path else '')}"
        identity = f"zeros-{path}-{accept}"
        assert world.ask("GET", MAPS + path, identity, headers={"Accept": accept}).status == 200
        recorded.append(world.events(identity)[-1]["responseObject"])
        recorded[-1]["metadata"].pop("resourceVersion")  # of a list: it changes with other writes
    in_json, in_protobuf = recorded
    assert in_protobuf == in_json and list(in_protobuf) == list(in_json)


@pytest.mark.parametrize("media", ["json", "yaml", "vnd.kubernetes.protobuf"])
@pytest.mark.parametrize("path", ["/api", "/apis", "/apis/apps", "/apis/apps/v1"])
def test_discovery_documents_are_recorded(discovered: World, path: str, media: str) -> None:
    document = ask(discovered.server, "GET", path).json
    identity = f"discovery-{media}-{path}"
    assert discovered.ask("GET", path, identity, headers={"Accept": f"application/{media}"}).status == 200
    assert discovered.events(identity)[-1]["responseObject"] == document


@pytest.mark.parametrize("media", ["json", "vnd.kubernetes.protobuf"])
@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_aggregated_discovery_documents_are_recorded(discovered: World, path: str, media: str) -> None:
    accept = {"Accept": f"application/{media};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    identity = f"aggregated-{media}-{path}"
    assert discovered.ask("GET", path, identity, headers=accept).status == 200
    found = discovered.events(identity)[-1]["responseObject"]
    assert (found["kind"], found["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    accept = {"Accept": accept["Accept"].replace(media, "json")}
    assert found == ask(discovered.server, "GET", path, headers=accept).json


@pytest.fixture(scope="module")
def discovered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A server that records discovery requests with their answers."""
    directory = tmp_path_factory.mktemp("discovery")
    policy, log = directory / "policy.json", directory / "audit.log"
    policy.write_text(json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [ALL]}))
    with api_server(f"--audit-policy-file={policy}", f"--audit-log-path={log}") as server:
        yield World(server, log, None)


@pytest.mark.parametrize(
    ("sent", "recorded"),
    [
        ({}, {}),
        ({"kind": "DeleteOptions", "apiVersion": "foo/v9"}, {}),
        ({"preconditions": {}, "nosuch": 1, "gracePeriodSeconds": 0}, {"gracePeriodSeconds": 0, "preconditions": {}}),
        ({"dryRun": ["Nope"]}, {"dryRun": ["Nope"]}),
        ({"kind": "Pod", "apiVersion": "v1"}, None),
    ],
)
def test_options_of_a_deletion_are_recorded_as_they_were_read(
    world: World, sent: dict[str, Any], recorded: dict[str, Any] | None
) -> None:
    identity = f"delete-{json.dumps(sent)}"
    world.ask("DELETE", f"{MAPS}/nosuch", identity, sent)
    found = world.events(identity)[-1].get("requestObject")
    head = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/__internal"}
    assert json.dumps(found) == json.dumps(None if recorded is None else head | recorded)


def test_a_patch_is_recorded_as_it_came(world: World) -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}, "data": {"x": "y"}}
    apply = {"Content-Type": "application/apply-patch+yaml"}
    assert world.ask("PATCH", f"{MAPS}/two?fieldManager=me", "patch-1", obj, headers=apply).status == 201
    assert world.events("patch-1")[-1]["requestObject"] == obj
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    assert world.ask("DELETE", f"{MAPS}/two", "delete-1", options).status == 200
    event = world.events("delete-1")[-1]
    assert event["requestObject"] == options | {"apiVersion": "meta.k8s.io/__internal"}
    assert event["responseObject"]["kind"] == "Status"
    assert event["responseStatus"]["status"] == "Success" and event["responseStatus"]["details"]["name"] == "two"


APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


@pytest.mark.parametrize(
    ("media", "body", "status", "data"),
    [
        (APPLY, "{t: '12:30:45', p: 12:30:45}", 200, {"p": "12:30:45", "t": "12:30:45"}),
        (APPLY, "{a: 'on', c: =, <<: {b: c}}", 200, {"a": "on", "b": "c", "c": "="}),
        (APPLY, "{a: !foo x, b: !!binary aGVsbG8=}", 200, {"a": "x", "b": "hello"}),
        (APPLY, "{a: on}", 500, {"a": True}),
        (APPLY, "{a: 0o644, b: 0644}", 500, {"a": 420, "b": 420}),
        (APPLY, "{a: 123456789012345678901234567890}", 500, {"a": 1.2345678901234568e29}),
        (APPLY, "!!set {a, b}", 200, {"a": None, "b": None}),
        (APPLY, "&x {a: *x}", 400, None),
        (APPLY, "{k: " + "[" * 400 + "]" * 400 + "}", 500, {"k": ...}),
        (MERGE, r'{"a": "\ud800", "b": "\ud83d\ude00"}', 200, {"a": "\ufffd", "b": "\U0001f600"}),
        (MERGE, '{"a": ' + "[" * 700 + "]" * 700 + "}", 400, None),
        (MERGE, '{"a": ' + "[" * 20000, 400, None),
    ],
)
def test_a_patch_is_recorded_as_its_own_parser_read_it(
    world: World, media: str, body: str, status: int, data: Any
) -> None:
    head = '{"data": ' if media == MERGE else "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: read}\ndata: "
    world.ask("POST", MAPS, "read-made", {"metadata": {"name": "read"}})
    answer = patched(world, "read", head + body + ("}" if media == MERGE else "\n"), media)
    made = answer.status, json.loads(answer.read()).get("data")
    event = world.events("read")[-1]
    world.ask("DELETE", f"{MAPS}/read", "read-gone")
    assert made[0] == status
    found = event.get("requestObject", {}).get("data")
    if data == {"k": ...}:
        assert found.keys() == data.keys()
    else:
        assert found == data
    if status == 200:
        assert {key: value or "" for key, value in found.items()} == made[1]


def patched(world: World, identity: str, body: str, media: str) -> HTTPResponse:
    """The answer to a patch with these bytes. The Audit-ID is the object's name."""
    connection = connect(world.server)
    headers = {"Authorization": f"Bearer {world.server.token}", "Content-Type": media, "Audit-ID": identity}
    query = "?fieldManager=me&force=true" if media == APPLY else ""
    connection.request("PATCH", f"{MAPS}/{identity}{query}", body.encode(), headers)
    return connection.getresponse()


def test_a_patch_of_what_is_not_there_is_recorded(world: World) -> None:
    answer = patched(world, "missing", '{"data": {"a": "b"}}', MERGE)
    assert (answer.status, json.loads(answer.read())["reason"]) == (404, "NotFound")
    assert world.events("missing")[-1]["requestObject"] == {"data": {"a": "b"}}


def test_of_secrets_nothing_is_told_but_that_they_were_asked_for(world: World) -> None:
    sent = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"word": "hush-hush"}}
    assert world.ask("POST", "/api/v1/namespaces/default/secrets", "secret-1", sent).status == 201
    event = world.events("secret-1")[-1]
    assert (event["level"], event["objectRef"]["name"]) == ("Metadata", "s")
    assert "requestObject" not in event and "responseObject" not in event
    logs = world.log.read_text() + world.server.log_file.read_text()
    assert "hush-hush" not in logs and world.server.token not in logs and "ada-token" not in logs


def test_stages_and_requests_are_left_out(world: World) -> None:
    assert world.ask("GET", "/livez/ping", "live").status == 200
    assert world.ask("GET", "/api/v1/pods", "pods").status == 200
    assert world.events("live") == world.events("pods") == []
    world.ask("GET", "/api/v1/namespaces/default/endpoints/nosuch", "endpoints")
    [event] = world.events("endpoints")
    status = event["responseStatus"]
    assert (status["code"], status["reason"], status["details"]["name"]) == (404, "NotFound", "nosuch")
    world.ask("GET", "/version", "version")
    assert "objectRef" not in world.events("version")[-1] and world.events("version")[-1]["verb"] == "get"


def test_a_watch_has_a_stage_more(world: World) -> None:
    connection = connect(world.server)
    headers = {"Authorization": f"Bearer {world.server.token}", "Audit-ID": "watch-1"}
    connection.request("GET", f"{MAPS}?watch=1&timeoutSeconds=600", headers=headers)
    connection.getresponse()
    stages = [each["stage"] for each in world.events("watch-1")]
    assert stages == ["RequestReceived", "ResponseStarted"]
    connection.close()
    until(lambda: len(world.events("watch-1")) == 3)
    is_of_a_watch_that_has_ended(world.events("watch-1")[-1])
    world.ask("GET", f"{MAPS}?watch=1&timeoutSeconds=1", "watch-2")  # which ends by itself
    is_of_a_watch_that_has_ended(world.events("watch-2")[-1])


def is_of_a_watch_that_has_ended(event: Any) -> None:
    assert (event["stage"], event["verb"], event["responseStatus"]["code"]) == ("ResponseComplete", "watch", 200)
    assert "responseObject" not in event


def test_who_asks_and_as_whom_and_why_not(world: World) -> None:
    answer = world.ask("GET", MAPS, "as-ada", headers={"Impersonate-User": "ada", "Impersonate-Group": "people"})
    assert answer.status == 403
    event = world.events("as-ada")[-1]
    assert event["user"]["groups"][0] == "system:masters"
    assert event["impersonatedUser"] == {"username": "ada", "groups": ["people", "system:authenticated"]}
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert (event["responseStatus"]["code"], event["responseStatus"]["reason"]) == (403, "Forbidden")
    assert event["responseObject"]["message"] == answer.json["message"] == event["responseStatus"]["message"]
    world.ask("GET", "/version", "ada", token="ada-token")
    event = world.events("ada")[-1]
    assert event["user"] == {"username": "ada", "uid": "2", "groups": ["people", "system:authenticated"]}
    assert event["annotations"]["authorization.k8s.io/reason"].startswith("RBAC: allowed by ClusterRoleBinding ")


def test_strangers_make_one_event(world: World) -> None:
    assert world.ask("GET", MAPS, "stranger", token="wrong").status == 401
    [event] = world.events("stranger")
    assert (event["stage"], event["user"], event["responseStatus"]["code"]) == ("ResponseStarted", {}, 401)


def test_events_are_sent_in_lists(world: World) -> None:
    world.ask("GET", "/version", "sent-1")
    lists, found = [], []

    def are_sent() -> bool:
        lists[:] = world.strangers.asked.get("/events", ())
        found[:] = [timeless(each) for one in lists for each in one["items"] if each["auditID"] == "sent-1"]
        found.sort(key=lambda each: str(each["stageTimestamp"]))  # concurrent events may be written in another order
        return len(found) >= 2

    until(are_sent)
    assert (lists[0]["kind"], lists[0]["apiVersion"]) == ("EventList", "audit.k8s.io/v1")
    expected = [{k: v for k, v in each.items() if k not in ("kind", "apiVersion")} for each in world.events("sent-1")]
    assert found == expected


def test_a_watch_is_not_slow_however_long_it_lasts(world: World) -> None:
    assert world.ask("GET", f"{MAPS}?watch=1&timeoutSeconds=1", "lasts").status == 200
    annotations = next(each["annotations"] for each in reversed(world.all_events()) if each["auditID"] == "lasts")
    assert not any(key.startswith(LATENCY) for key in annotations)


def test_events_levels_and_rejections_are_counted(world: World) -> None:
    def count(metric: str) -> int:
        text = ask(world.server, "GET", "/metrics").body.decode()
        return int(text.partition(f"\n{metric} ")[2].partition("\n")[0] or 0)

    before = count("apiserver_audit_event_total"), count('apiserver_audit_level_total{level="RequestResponse"}')
    world.ask("GET", MAPS, "counted")
    assert count('apiserver_audit_level_total{level="RequestResponse"}') == before[1] + 1
    assert count("apiserver_audit_event_total") >= before[0] + 2
    assert "\napiserver_audit_requests_rejected_total 0\n" in ask(world.server, "GET", "/metrics").body.decode()


def test_a_request_with_a_malformed_timeout_is_recorded(world: World) -> None:
    """Nobody has authenticated it yet, so its one event has no user, as in kube-apiserver."""
    assert world.ask("GET", "/api/v1/nodes?timeout=abc", "timeout").status == 400
    (event,) = world.events("timeout")
    assert (event["stage"], event["user"], event["responseStatus"]["code"]) == ("ResponseStarted", {}, 400)
