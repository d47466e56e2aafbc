"""StorageVersionMigrations are carried out: objects get today's form in etcd, and conditions tell of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from apiserver_gateway.testing.requests import Refused, ask
from storage.embedded import EmbeddedEtcd
from storage.entry import MARK
from tests.forked import api_server
from tests.integration.encryption.etcd import IDENTITY, by_key, configured, raw
from tests.integration.reads.api import on_etcd
from tests.until import until

MIGRATIONS = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ALONE = "--controllers=storage-version-migrator-controller"
SECRETS = "/api/v1/namespaces/default/secrets"


def migration(name: str, resource: str, group: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"resource": {"group": group, "resource": resource}}}


def conditions(api: ApiServer, name: str) -> dict[str, Any]:
    status = ask(api, "GET", f"{MIGRATIONS}/{name}").get("status") or {}
    return {each["type"]: each for each in status.get("conditions") or ()}


def migrated(api: ApiServer, name: str) -> dict[str, Any]:
    """The conditions of a migration that has ended."""
    until(lambda: conditions(api, name).get("Running", {}).get("status") == "False")
    return conditions(api, name)


@pytest.fixture
def etcd() -> Iterator[EmbeddedEtcd]:
    with EmbeddedEtcd() as running:
        yield running


def test_secrets_are_encrypted_that_were_not(etcd: EmbeddedEtcd, tmp_path: Path) -> None:
    key = "/registry/secrets/default/s{}"
    with api_server("--controllers=-*", etcd_servers=etcd.endpoint) as api:
        for number in range(3):
            ask(api, "POST", SECRETS, {"metadata": {"name": f"s{number}"}, "stringData": {"a": "plain"}})
    path = configured(tmp_path / "encryption", by_key("aescbc", "a"), IDENTITY)
    flag = f"--encryption-provider-config={path}"
    with api_server(ALONE, flag, etcd_servers=etcd.endpoint) as api:
        assert not raw(etcd.endpoint, key.format(0)).startswith(b"k8s:enc:")
        before = {each["metadata"]["name"]: each for each in ask(api, "GET", SECRETS)["items"]}
        ask(api, "POST", MIGRATIONS, migration("m", "secrets"))
        told = migrated(api, "m")
        assert [told[kind]["status"] for kind in ("Running", "Succeeded")] == ["False", "True"] and "Failed" not in told
        assert (told["Running"]["reason"], told["Running"]["message"]) == ("MigrationCompleted", "Migration completed")
        assert told["Succeeded"]["reason"] == "StorageVersionMigrationSucceeded"
        for number in range(3):
            assert raw(etcd.endpoint, key.format(number)).startswith(b"k8s:enc:aescbc:v1:a:")
        until_version = int(ask(api, "GET", f"{MIGRATIONS}/m")["status"]["resourceVersion"])
        for each in ask(api, "GET", SECRETS)["items"]:
            old = before[each["metadata"]["name"]]
            assert int(old["metadata"]["resourceVersion"]) <= until_version < int(each["metadata"]["resourceVersion"])
            assert {**each, "metadata": {**each["metadata"], "resourceVersion": ""}} == {
                **old,
                "metadata": {**old["metadata"], "resourceVersion": ""},
            }


def test_an_object_in_another_writers_form_gets_that_of_this_server(etcd: EmbeddedEtcd) -> None:
    with api_server(ALONE, etcd_servers=etcd.endpoint) as api:
        path, key = "/api/v1/namespaces/default/configmaps", "/registry/configmaps/default/c"
        ask(api, "POST", path, {"metadata": {"name": "c"}, "data": {"a": "b"}})
        ask(api, "POST", path, {"metadata": {"name": "d"}})
        foreign = json.dumps(json.loads(raw(etcd.endpoint, key)), indent=1).encode()
        on_etcd(etcd.endpoint, lambda client: client.put(key.encode(), foreign))
        own = raw(etcd.endpoint, key.replace("/c", "/d"))
        ask(api, "POST", MIGRATIONS, migration("m", "configmaps"))
        migrated(api, "m")
        assert raw(etcd.endpoint, key).endswith(MARK) and json.loads(raw(etcd.endpoint, key)) == json.loads(foreign)
        assert raw(etcd.endpoint, key.replace("/c", "/d")) == own
        assert (
            ask(api, "GET", f"{path}/d")["metadata"]["resourceVersion"]
            < ask(api, "GET", f"{path}/c")["metadata"]["resourceVersion"]
        )


def definition(storage: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": each, "served": True, "storage": each == storage, "schema": schema} for each in ("v1", "v2")]
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    return {
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions},
    }


def served(api: ApiServer, path: str) -> bool:
    try:
        ask(api, "GET", path)
    except Refused:
        return False
    return True


def test_custom_objects_get_the_storage_version_and_the_crd_loses_the_other(etcd: EmbeddedEtcd) -> None:
    things, key = "/apis/example.com/v1/namespaces/default/things", "/registry/example.com/things/default/a"
    named = f"{DEFINITIONS}/things.example.com"
    with api_server(ALONE, etcd_servers=etcd.endpoint) as api:
        ask(api, "POST", DEFINITIONS, definition("v1"))
        until(lambda: served(api, things))
        ask(api, "POST", things, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "x": 1})
        for turn, (storage, both) in enumerate((("v2", ["v1", "v2"]), ("v1", ["v2", "v1"]))):  # and back again
            present = ask(api, "GET", named)
            ask(api, "PUT", named, {**present, "spec": definition(storage)["spec"]})
            until(lambda both=both: ask(api, "GET", named)["status"]["storedVersions"] == both)
            ask(api, "POST", MIGRATIONS, migration(f"m{turn}", "things", "example.com"))
            assert migrated(api, f"m{turn}")["Succeeded"]["message"] == "Migration completed"
            stored = json.loads(raw(etcd.endpoint, key))
            assert (stored["apiVersion"], stored["x"]) == (f"example.com/{storage}", 1)
            status = ask(api, "GET", named)["status"]
            [told] = [each for each in status["conditions"] if each["type"] == "StorageMigrating"]
            assert status["storedVersions"] == [storage]
            assert (told["status"], told["reason"]) == ("False", "MigrationSucceeded")
            assert told["message"] == "The migration has succeeded and the stored versions have been updated"


def test_one_migration_of_a_resource_runs_at_a_time_and_all_end(etcd: EmbeddedEtcd) -> None:
    with api_server("--controllers=-*", etcd_servers=etcd.endpoint) as api:
        for name in ("c", "b", "a"):
            ask(api, "POST", MIGRATIONS, migration(name, "configmaps"))
    with api_server(ALONE, etcd_servers=etcd.endpoint) as api:
        versions = []
        for name in ("a", "b", "c"):
            migrated(api, name)
            versions.append(int(ask(api, "GET", f"{MIGRATIONS}/{name}")["status"]["resourceVersion"]))
        assert len(set(versions)) == 3


def test_a_migration_of_what_cannot_be_migrated_has_failed(etcd: EmbeddedEtcd) -> None:
    with api_server(ALONE, etcd_servers=etcd.endpoint) as api:
        ask(api, "POST", MIGRATIONS, migration("reviews", "tokenreviews", "authentication.k8s.io"))
        told = migrated(api, "reviews")
        assert told["Failed"]["reason"] == "StorageVersionMigrationFailed" and "Succeeded" not in told
        assert told["Failed"]["message"] == (
            'resource "authentication.k8s.io/v1, Resource=tokenreviews" does not support discovery operations: '
            "[update patch list]"
        )
        ask(api, "POST", MIGRATIONS, migration("late", "things", "example.com"))
        until(lambda: conditions(api, "late").get("Running", {}).get("status") == "True")
        ask(api, "POST", DEFINITIONS, definition("v1"))
        assert migrated(api, "late")["Succeeded"]["status"] == "True"


def test_the_servers_ca_is_published_as_a_trust_bundle(etcd: EmbeddedEtcd) -> None:
    path = "/apis/certificates.k8s.io/v1/clustertrustbundles"
    name = "kube-apiserver-serving-clustertrustbundle-publisher-controller"

    def bundles(api: ApiServer) -> list[Any]:
        found: list[Any] = ask(api, "GET", path)["items"]
        return found

    with api_server(f"--controllers={name}", etcd_servers=etcd.endpoint) as api:
        until(lambda: bundles(api))
        [made] = bundles(api)
        assert made["metadata"]["name"].startswith("kubernetes.io:kube-apiserver-serving:")
        assert made["spec"] == {
            "signerName": "kubernetes.io/kube-apiserver-serving",
            "trustBundle": api.ca_file.read_text(),
        }
        ask(api, "DELETE", f"{path}/{made['metadata']['name']}")
        until(lambda: [each["metadata"]["uid"] != made["metadata"]["uid"] for each in bundles(api)] == [True])
    with api_server(f"--controllers={name}", etcd_servers=etcd.endpoint) as api:  # it has another CA
        until(lambda: [each["spec"]["trustBundle"] for each in bundles(api)] == [api.ca_file.read_text()])
