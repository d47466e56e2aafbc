"""Encryption at rest: the values in etcd, who can read them, and how keys are rotated."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.access.file_reload import digest_of
from storage.backups.file import BackupKey, read
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server
from tests.hasty import hasty
from tests.integration.encryption.etcd import IDENTITY, by_key, configured, kms, raw
from tests.integration.encryption.kms_process import Kms
from tests.integration.server.client import Answer, ask
from tests.until import until

CONTROLLER = "apiserver_encryption_config_controller"
SECRET = "/api/v1/namespaces/default/secrets"
KEY = "/registry/secrets/default/"
PROVIDER = "gateway.encryption.kms.provider"
LOOKS = {f"{PROVIDER}.FRESH_WELL": 0.5, f"{PROVIDER}.FRESH_ILL": 0.1}  # seconds
MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture(scope="module")
def etcd() -> Iterator[EmbeddedEtcd]:
    with EmbeddedEtcd() as running:
        yield running


@contextmanager
def serving(etcd: EmbeddedEtcd, config: Path | None, *flags: str) -> Iterator[ApiServer]:
    more = () if config is None else (f"--encryption-provider-config={config}",)
    with api_server("--controllers=-*", *more, *flags, etcd_servers=etcd.endpoint) as server:
        yield server


def create(server: ApiServer, name: str, path: str = SECRET, **more: Any) -> Answer:
    body = {"metadata": {"name": name}, "data": {"password": base64.b64encode(b"plaintext").decode()}, **more}
    answer = ask(server, "POST", path, body)
    assert answer.status == 201, answer.body
    return answer


def data(server: ApiServer, name: str) -> bytes:
    answer = ask(server, "GET", f"{SECRET}/{name}")
    assert answer.status == 200, answer.body
    return base64.b64decode(answer.json["data"]["password"])


@pytest.mark.parametrize("kind", ["aescbc", "aesgcm", "secretbox"])
def test_values_are_encrypted_and_read_again(etcd: EmbeddedEtcd, tmp_path: Path, kind: str) -> None:
    config = configured(tmp_path / "e.json", by_key(kind, "a"), IDENTITY)
    name = f"first-{kind}"
    with serving(etcd, config) as server:
        create(server, name)
        assert data(server, name) == b"plaintext"
        held = raw(etcd.endpoint, KEY + name)
        assert held.startswith(f"k8s:enc:{kind}:v1:a:".encode()) and b"password" not in held
    with serving(etcd, config) as server:  # a new server reads from etcd, not from its cache
        assert data(server, name) == b"plaintext"
        items = ask(server, "GET", SECRET).json["items"]
        assert name in {item["metadata"]["name"] for item in items}
        changed = ask(server, "PATCH", f"{SECRET}/{name}", {"metadata": {"labels": {"a": "b"}}}, headers=MERGE)
        assert changed.status == 200 and raw(etcd.endpoint, KEY + name).startswith(b"k8s:enc:")
        assert ask(server, "DELETE", f"{SECRET}/{name}").status == 200


def test_a_value_of_another_key_is_written_anew_by_an_update_that_changes_nothing(
    etcd: EmbeddedEtcd, tmp_path: Path
) -> None:
    config = configured(tmp_path / "e.json", IDENTITY)
    with serving(etcd, config, "--encryption-provider-config-automatic-reload") as server:
        create(server, "old")
        assert raw(etcd.endpoint, KEY + "old").startswith(b"{")
        steps = (
            ((by_key("aesgcm", "a"), IDENTITY), b"k8s:enc:aesgcm:v1:a:"),
            ((by_key("aesgcm", "b", "a"), IDENTITY), b"k8s:enc:aesgcm:v1:b:"),
            ((IDENTITY, by_key("aesgcm", "b")), b"{"),
        )
        for count, (providers, start) in enumerate(steps, 1):
            configured(config, *providers)
            until(lambda count=count: reloads(server) == count)
            [shown] = re.findall(rf'{CONTROLLER}_last_config_info{{.*hash="(.*)"}} 1', metrics(server))
            assert shown == digest_of(config.read_bytes())
            before = ask(server, "GET", f"{SECRET}/old").json
            answer = ask(server, "PUT", f"{SECRET}/old", before)
            assert answer.status == 200 and raw(etcd.endpoint, KEY + "old").startswith(start)
            assert int(answer.json["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
            again = ask(server, "PUT", f"{SECRET}/old", answer.json)
            assert again.json["metadata"]["resourceVersion"] == answer.json["metadata"]["resourceVersion"]
            patched = ask(server, "PATCH", f"{SECRET}/old", {}, headers=MERGE)
            assert patched.json["metadata"]["resourceVersion"] == answer.json["metadata"]["resourceVersion"]
        assert ask(server, "DELETE", f"{SECRET}/old").status == 200


def metrics(server: ApiServer) -> str:
    return ask(server, "GET", "/metrics").body.decode()


def reloads(server: ApiServer) -> int:
    name = f"{CONTROLLER}_automatic_reloads_total"
    lines = [line for line in metrics(server).splitlines() if line.startswith(name) and 'status="success"' in line]
    return int(float(lines[0].rpartition(" ")[2])) if lines else 0


def test_what_cannot_be_decrypted_is_refused_and_not_lost(etcd: EmbeddedEtcd, tmp_path: Path) -> None:
    with serving(etcd, configured(tmp_path / "e.json", by_key("aesgcm", "a"))) as server:
        create(server, "closed")
    held = raw(etcd.endpoint, KEY + "closed")
    for config in (None, configured(tmp_path / "f.json", by_key("aesgcm", "b")), configured(tmp_path / "g", IDENTITY)):
        with serving(etcd, config) as server:
            answer = ask(server, "GET", f"{SECRET}/closed")
            assert answer.status == 500, answer.body
            if config is not None:
                assert answer.json["message"].startswith("Internal error occurred: ")
            assert ask(server, "GET", SECRET).status == 500
            assert ask(server, "PATCH", f"{SECRET}/closed", {"data": {}}, headers=MERGE).status == 500
            assert ask(server, "GET", "/api/v1/namespaces/default/configmaps").status == 200
        assert raw(etcd.endpoint, KEY + "closed") == held
    with serving(etcd, configured(tmp_path / "e.json", by_key("aesgcm", "a"), IDENTITY)) as server:
        assert data(server, "closed") == b"plaintext"
        assert ask(server, "DELETE", f"{SECRET}/closed").status == 200


def test_what_could_not_be_decrypted_is_readable_once_its_key_is_there(etcd: EmbeddedEtcd, tmp_path: Path) -> None:
    with serving(etcd, configured(tmp_path / "e.json", by_key("aesgcm", "a"))) as server:
        create(server, "late")
    config = configured(tmp_path / "f.json", by_key("aesgcm", "b"))
    with serving(etcd, config, "--encryption-provider-config-automatic-reload") as server:
        assert ask(server, "GET", f"{SECRET}/late").status == 500
        configured(config, kms("nobody", tmp_path / "no.sock"))
        said = "--encryption-provider-config changed and cannot be used: failed to perform status"
        until(lambda: said in server.log_file.read_text())
        configured(config, by_key("aesgcm", "b", "a"))
        until(lambda: ask(server, "GET", f"{SECRET}/late").status == 200)
        assert data(server, "late") == b"plaintext"
        assert ask(server, "GET", SECRET).status == 200
        assert ask(server, "DELETE", f"{SECRET}/late").status == 200


def test_a_backup_stays_encrypted_and_an_export_is_what_the_api_shows(tmp_path: Path) -> None:
    """A backup alone shows no secret. Restored values need the same keys."""
    file, config = tmp_path / "backup", configured(tmp_path / "e.json", by_key("aesgcm", "a"))
    with EmbeddedEtcd() as etcd, EmbeddedEtcd() as new:
        with serving(etcd, config) as server:
            create(server, "kept")
            run("backup", str(file), f"--etcd-servers={etcd.endpoint}")
            exported = run("export", "secrets", "-n", "default", f"--kubeconfig={server.kubeconfig}")
        assert base64.b64encode(b"plaintext").decode() in exported
        kept = {key.key.lstrip(b"/"): key.value for key in read(file) if isinstance(key, BackupKey)}
        assert kept[b"secrets/default/kept"].startswith(b"k8s:enc:aesgcm:v1:a:")
        run("restore", str(file), f"--etcd-servers={new.endpoint}")
        with serving(new, config) as server:
            assert data(server, "kept") == b"plaintext"
        with serving(new, configured(tmp_path / "f.json", by_key("aesgcm", "b"))) as server:
            assert ask(server, "GET", f"{SECRET}/kept").status == 500


def run(*words: str) -> str:
    """The standard output of a command of the program."""
    command = [sys.executable, "-m", "gateway", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_custom_resources_and_wildcards(etcd: EmbeddedEtcd, tmp_path: Path) -> None:
    config = configured(tmp_path / "e.json", by_key("secretbox", "a"), IDENTITY, resources=("*.example.com", "*."))
    group = "widgets.example.com"
    definition = {
        "metadata": {"name": group},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    widgets = "/apis/example.com/v1/namespaces/default/widgets"
    with serving(etcd, config) as server:
        assert ask(server, "POST", definitions, definition).status == 201
        until(lambda: ask(server, "GET", widgets).status == 200)
        create(server, "w", widgets, apiVersion="example.com/v1", kind="Widget")
        create(server, "m", "/api/v1/namespaces/default/configmaps")
    encrypted = b"k8s:enc:secretbox:v1:a:"
    assert raw(etcd.endpoint, "/registry/example.com/widgets/default/w").startswith(encrypted)
    assert raw(etcd.endpoint, "/registry/configmaps/default/m").startswith(encrypted)
    assert raw(etcd.endpoint, f"/registry/apiextensions.k8s.io/customresourcedefinitions/{group}").startswith(b"{")
    with serving(etcd, config) as server:
        until(lambda: ask(server, "GET", f"{widgets}/w").status == 200)
        assert ask(server, "DELETE", f"{definitions}/{group}").status == 200


def test_a_key_management_service(etcd: EmbeddedEtcd, tmp_path: Path, plugin: Kms) -> None:
    config = configured(tmp_path / "e.json", kms("mock", plugin.socket), IDENTITY)
    flags = "--controllers=-*", f"--encryption-provider-config={config}"
    with hasty(LOOKS, *flags, etcd_servers=etcd.endpoint) as server:
        create(server, "by-kms")
        assert raw(etcd.endpoint, KEY + "by-kms").startswith(b"k8s:enc:kms:v2:mock:")
        assert ask(server, "GET", "/healthz/kms-provider-0").status == 200
        plugin.tell(key="one", health="bad")
        until(lambda: ask(server, "GET", "/readyz/kms-provider-0").status == 500)
        assert b"got unexpected healthz status: bad" in ask(server, "GET", "/readyz/kms-provider-0").body
        assert ask(server, "GET", "/readyz").status == 500
        until(lambda: "kms plugin failed health check probe provider=mock" in server.log_file.read_text())
        plugin.tell(key="two")
        until(lambda: ask(server, "GET", "/readyz/kms-provider-0").status == 200)

        def is_of_the_other_key() -> bool:
            answer = ask(server, "PUT", f"{SECRET}/by-kms", ask(server, "GET", f"{SECRET}/by-kms").json)
            assert answer.status == 200
            return b"two" in raw(etcd.endpoint, KEY + "by-kms")

        until(is_of_the_other_key)
        plugin.stop()
        assert data(server, "by-kms") == b"plaintext"
        create(server, "while-away")  # the cached seed is valid for some minutes
        until(lambda: ask(server, "GET", "/healthz/kms-provider-0").status == 500)
        assert ask(server, "GET", "/livez").status == 200
    plugin.start()
    with serving(etcd, config) as server:
        assert data(server, "by-kms") == data(server, "while-away") == b"plaintext"
        assert ask(server, "DELETE", f"{SECRET}/by-kms").status == 200
        assert ask(server, "DELETE", f"{SECRET}/while-away").status == 200
        text = metrics(server)
        hashes = "apiserver_envelope_encryption_key_id_hash_total"
        assert re.search(rf'^{hashes}{{.*,transformation_type="from_storage"}} ', text, re.MULTILINE)
        assert 'grpc_status_code="OK",method_name="/v2.KeyManagementService/Decrypt"' in text
