"""No event is lost while bodies are sent that are hard to parse, to record or to write: neither theirs nor those of
others.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import held_at_most
from tests.hostile.test_bodies import JSON, JSON_PATCH, MAPS, PATIENCE, YAML
from tests.hostile.wire import Wire
from tests.integration.server.client import connect
from tests.logged import documents
from tests.until import until

HELD = 0.1  # seconds
OTHERS = 60
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: audited}\n"
ONE = f"{MAPS}/audited"
BODIES = {
    "tags": ("PATCH", f"{ONE}?fieldManager=a", HEAD + "data: {a: !!binary aGVsbG8=, b: !!set {a, b}}", APPLY),
    "itself": ("PATCH", f"{ONE}?fieldManager=a", HEAD + "data: &x {a: *x}", APPLY),
    "many keys": (
        "PATCH",
        f"{ONE}?fieldManager=a",
        HEAD + "data:\n" + "".join(f" k{number}:\n" for number in range(30_000)),
        APPLY,
    ),
    "aliases": ("POST", MAPS, "a: &a [x]\nb: [" + "*a," * 60_000 + "]", YAML),
    "deep": ("PATCH", ONE, '{"data":{"a":' + "[" * 700 + "]" * 700 + "}}", MERGE),
    "half a pair": ("PATCH", ONE, '{"metadata":{"annotations":{"a":"\\ud800"}}}', MERGE),
    "no JSON": ("POST", MAPS, "[" * 100_000, JSON),
    "many operations": ("PATCH", ONE, "[" + ",".join(['{"op":"test","path":"/a","value":1}'] * 5000) + "]", JSON_PATCH),
    "repeated members": ("POST", MAPS, '{"a":1,"a":2,"x":[' + ",".join(["{}"] * 100_000) + "]}", JSON),
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audited") / "events"


@pytest.fixture(scope="module")
def server_flags(log: Path) -> tuple[str, ...]:
    policy = log.with_name("policy.yaml")
    rules = [{"level": "Metadata", "nonResourceURLs": ["*"]}, {"level": "RequestResponse"}]
    kept = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": rules}
    policy.write_text(json.dumps(kept), encoding="utf-8")
    return f"--audit-policy-file={policy}", f"--audit-log-path={log}"


def send(server: ApiServer, identity: str, method: str, path: str, body: str, media_type: str) -> int:
    connection = connect(server, PATIENCE)
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": media_type, "Audit-ID": identity}
    try:
        connection.request(method, path, body.encode(), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


@pytest.mark.parametrize("name", BODIES)
def test_no_event_is_lost(server: ApiServer, log: Path, name: str) -> None:
    method, path, body, media_type = BODIES[name]
    send(server, f"made for {name}", "POST", MAPS, '{"metadata":{"name":"audited"}}', JSON)
    statuses: list[int] = []

    def attack() -> None:
        statuses.extend(send(server, f"{name} {turn}", method, path, body, media_type) for turn in range(3))

    with held_at_most(server, HELD):
        attacker = threading.Thread(target=attack)
        attacker.start()
        for number in range(OTHERS):
            made = json.dumps({"metadata": {"generateName": "other-"}})
            assert send(server, f"other {name} {number}", "POST", f"{MAPS}?dryRun=All", made, JSON) == 201
        attacker.join(PATIENCE)
    assert len(statuses) == 3
    wanted = {f"{name} {turn}" for turn in range(3)} | {f"other {name} {number}" for number in range(OTHERS)}

    def recorded() -> set[str]:
        return {event["auditID"] for event in documents(log)}

    until(lambda: wanted <= recorded())


CUT = {
    "cut": ("Content-Length: 100", "{"),
    "cut in a chunk": ("Transfer-Encoding: chunked", "5\r\n{}"),
    "no chunk": ("Transfer-Encoding: chunked", "ZZ\r\n"),
}


@pytest.mark.parametrize("framing", CUT)
@pytest.mark.parametrize(("method", "path"), [("POST", MAPS), ("PUT", ONE), ("PATCH", ONE), ("DELETE", MAPS)])
def test_a_body_that_is_cut_is_recorded_as_a_failure(
    server: ApiServer, log: Path, method: str, path: str, framing: str
) -> None:
    identity, (header, body) = f"{method} {framing}", CUT[framing]
    media_type = MERGE if method == "PATCH" else JSON
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\nAudit-ID: {identity}\r\n"
    with Wire(server) as wire:
        wire.send(f"{head}Content-Type: {media_type}\r\n{header}\r\n\r\n{body}".encode())

    def recorded() -> list[object]:
        return [each["responseStatus"] for each in documents(log) if each["auditID"] == identity]

    failed = {"metadata": {}, "status": "Failure", "message": "unexpected EOF", "code": 500}
    until(recorded)
    assert recorded() == [failed]
