"""A server takes over a kube-apiserver's etcd: its answers are the same, it loses nothing, and gives it back.

The recording is made by tests/upstream/storage_recordings.py. If APISERVER_GATEWAY_TEST_KUBE_APISERVER names a
kube-apiserver of that minor or a later one, that one reads the result.
"""

from __future__ import annotations

import base64
import copy
import gzip
import http.client
import json
import os
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient
from tests.forked import api_server
from tests.integration.reads.api import on_etcd
from tests.integration.server.client import ask
from tests.ports import free_ports

Json = dict[str, Any]
RECORDING: Json = json.loads(gzip.decompress(Path(__file__).with_name("recording.json.gz").read_bytes()))
OBJECTS = [path for path in RECORDING["answers"] if "?" not in path]
KUBE_APISERVER = os.environ.get("APISERVER_GATEWAY_TEST_KUBE_APISERVER", "")
START = 60.0  # seconds
MINOR = "1.36"  # of the recording
MARK = {"touched": "yes"}


@pytest.fixture(scope="module")
def etcd() -> Iterator[EmbeddedEtcd]:
    with EmbeddedEtcd() as etcd:

        async def fill(client: EtcdClient) -> None:
            for key, value in RECORDING["keys"]:
                await client.put(key.encode(), base64.b64decode(value))

        on_etcd(etcd.endpoint, fill)
        yield etcd


@pytest.fixture(scope="module")
def server(etcd: EmbeddedEtcd) -> Iterator[ApiServer]:
    # without controllers and aggregation rules, nothing changes stored objects
    flags = ("--controllers=-*", "--authorization-mode=AlwaysAllow", f"--kubernetes-version={MINOR}")
    with api_server(*flags, etcd_servers=etcd.endpoint) as server:
        yield server


def without_versions(answer: Json) -> Json:
    """An object or list without resourceVersions, which depend on etcd."""
    answer = copy.deepcopy(answer)
    for each in (answer, *answer.get("items", ())):
        each["metadata"].pop("resourceVersion", None)
    return answer


def without_managers(obj: Json) -> Json:
    obj = without_versions(obj)
    obj["metadata"].pop("managedFields", None)
    obj["metadata"].pop("generation", None)  # it counts changes of labels for some kinds
    return obj


def marked(obj: Json) -> Json:
    """The object after a patch of its labels."""
    obj = without_managers(obj)
    obj["metadata"].setdefault("labels", {}).update(MARK)
    return obj


def test_every_get_and_list_answers_the_same(server: ApiServer) -> None:
    answers = {path: ask(server, "GET", path).json for path in RECORDING["answers"]}
    differ = [path for path, answer in answers.items() if without_versions(answer) != _recorded(path)]
    assert not differ and len(OBJECTS) > 50


def _recorded(path: str) -> Json:
    return without_versions(RECORDING["answers"][path])


@pytest.fixture(scope="module")
def patched(server: ApiServer) -> dict[str, Json]:
    """The answers to a patch of each object."""
    patch = {"metadata": {"labels": MARK}}
    headers = {"Content-Type": "application/merge-patch+json"}
    return {path: ask(server, "PATCH", path, patch, headers=headers).json for path in OBJECTS}


def test_a_patch_loses_nothing(server: ApiServer, patched: dict[str, Json]) -> None:
    wrong = {
        path: answer
        for path, answer in patched.items()
        if without_managers(answer) != marked(RECORDING["answers"][path]) or ask(server, "GET", path).json != answer
    }
    assert not wrong


@pytest.mark.skipif(not KUBE_APISERVER, reason="APISERVER_GATEWAY_TEST_KUBE_APISERVER names none")
def test_a_kube_apiserver_reads_what_was_written(etcd: EmbeddedEtcd, patched: dict[str, Json], tmp_path: Path) -> None:
    key, port = tmp_path / "service-account.key", free_ports(1)[0]
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('token,admin,admin,"system:masters"\n')
    command = [KUBE_APISERVER, f"--etcd-servers={etcd.endpoint}", f"--secure-port={port}", "--bind-address=127.0.0.1"]
    command += [f"--cert-dir={tmp_path}", f"--token-auth-file={tokens}", "--service-cluster-ip-range=10.0.0.0/24"]
    command += [f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}"]
    command += ["--service-account-issuer=https://issuer", "--authorization-mode=RBAC", f"--emulated-version={MINOR}"]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            deadline = time.monotonic() + START
            while _get(port, "/readyz")[0] != 200:
                assert process.poll() is None and time.monotonic() < deadline, (tmp_path / "log").read_text()[-3000:]
                time.sleep(0.1)
            read = {path: json.loads(_get(port, path)[1]) for path in OBJECTS}
        finally:
            process.kill()
    # 1.37 shows the empty status of a CSINode in every emulated version
    differ = [path for path, obj in read.items() if _without_empty_status(obj) != _without_empty_status(patched[path])]
    assert differ == []


def _without_empty_status(obj: Json) -> Json:
    return {name: value for name, value in obj.items() if (name, value) != ("status", {})}


def _get(port: int, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=ssl._create_unverified_context(), timeout=60)
    try:
        connection.request("GET", path, headers={"Authorization": "Bearer token"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except OSError:
        return 0, b""
    finally:
        connection.close()
