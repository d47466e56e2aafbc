"""Migration to another storage version: objects are written again, storedVersions is pruned, the old version is
removed.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.integration.customresources.definitions import DEFINITIONS, MERGE, definition, establish, version
from tests.integration.customresources.hook import APART, HOST_PORT, Hook, with_webhook
from tests.integration.server.client import ask, connect
from tests.until import until

ANY = {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
SPEC = {
    "None": {"v1": {"a": "x"}, "v2": {"a": "x"}},
    "Webhook": {"v1": {"hostPort": "h:1"}, "v2": {"host": "h", "port": "1"}},
}
NUMBERS = itertools.count()
LOST = "v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data"


class Migration:
    """A CRD whose objects are first stored as v1. Both replicas serve both versions."""

    def __init__(self, servers: tuple[ApiServer, ApiServer], hook: Hook, strategy: str) -> None:
        self.server, self.other = servers
        self.group, self.spec = f"{strategy.lower()}{next(NUMBERS)}.example.com", SPEC[strategy]
        properties = (HOST_PORT, APART) if strategy == "Webhook" else (ANY, ANY)
        self.versions = [version(name, of) for name, of in zip(("v1", "v2"), properties, strict=True)]
        made = with_webhook(self.group, hook) if strategy == "Webhook" else definition(self.group)
        made["spec"]["versions"] = self._stored("v1")
        self.path = f"{DEFINITIONS}/{establish(self.server, made)}"

    def _stored(self, storage: str) -> list[dict[str, Any]]:
        return [{**each, "storage": each["name"] == storage} for each in self.versions]

    def of(self, version: str) -> str:
        return f"/apis/{self.group}/{version}/namespaces/default/widgets"

    def change(self, **spec: Any) -> Any:
        return ask(self.server, "PATCH", self.path, {"spec": spec}, headers=MERGE)

    def create(self, name: str) -> None:
        body = {"apiVersion": f"{self.group}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": self.spec["v1"]}
        assert ask(self.server, "POST", self.of("v1"), body).status == 201

    def store_as(self, storage: str) -> Any:
        return self.change(versions=self._stored(storage))

    def rewritten(self, name: str, server: ApiServer) -> bool:
        """Whether a PUT of the unchanged object writes it."""
        found = ask(server, "GET", f"{self.of('v2')}/{name}").json
        answer = ask(server, "PUT", f"{self.of('v2')}/{name}", found)
        assert answer.status == 200, answer.body
        return bool(answer.json["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"])

    @contextmanager
    def watching(self, version: str, revision: str) -> Iterator[Any]:
        connection = connect(self.other)
        path = f"{self.of(version)}?watch=1&resourceVersion={revision}&timeoutSeconds=60"
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.other.token}"})
        yield (json.loads(line) for line in connection.getresponse())
        connection.close()


@pytest.fixture(params=list(SPEC))
def migration(request: pytest.FixtureRequest, servers: tuple[ApiServer, ApiServer], hook: Hook) -> Migration:
    return Migration(servers, hook, request.param)


def test_objects_migrate(migration: Migration) -> None:
    for name in ("a", "b", "c"):
        migration.create(name)
    assert not migration.rewritten("a", migration.server)
    assert migration.store_as("v2").status == 200
    assert ask(migration.server, "GET", migration.path).json["status"]["storedVersions"] == ["v1", "v2"]
    until(lambda: migration.rewritten("a", migration.server))  # once the new storage version is in force here
    until(lambda: migration.rewritten("b", migration.other))
    listed = ask(migration.other, "GET", migration.of("v2")).json
    assert [each["spec"] for each in listed["items"]] == [migration.spec["v2"]] * 3
    revision = listed["metadata"]["resourceVersion"]
    with migration.watching("v1", revision) as one, migration.watching("v2", revision) as two:
        assert migration.rewritten("c", migration.server)
        for name, events in (("v1", one), ("v2", two)):
            event = next(events)
            assert (event["type"], event["object"]["apiVersion"]) == ("MODIFIED", f"{migration.group}/{name}")
            assert event["object"]["spec"] == migration.spec[name]
    assert not any(migration.rewritten(name, migration.other) for name in ("a", "b", "c"))  # all are stored as v2
    _end_v1(migration)


def _end_v1(migration: Migration) -> None:
    server, two = migration.server, {**migration.versions[1], "storage": True}
    refused = migration.change(versions=[two])
    assert refused.status == 422 and LOST in refused.json["message"], refused.body
    pruned = ask(server, "PATCH", f"{migration.path}/status", {"status": {"storedVersions": ["v2"]}}, headers=MERGE)
    assert (pruned.status, pruned.json["status"]["storedVersions"]) == (200, ["v2"])
    assert migration.change(versions=[two], conversion={"strategy": "None", "webhook": None}).status == 200
    for each in (server, migration.other):
        until(lambda each=each: ask(each, "GET", migration.of("v1")).status == 404)
        listed = ask(each, "GET", migration.of("v2")).json
        assert [each["spec"] for each in listed["items"]] == [migration.spec["v2"]] * 3
