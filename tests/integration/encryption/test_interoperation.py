"""Values that kube-apiserver encrypted can be read here, and it reads values that were encrypted here."""

from __future__ import annotations

import base64
import os
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.jsontypes import dumps, loads
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server
from tests.integration.encryption.etcd import IDENTITY, by_key, configured, kms, raw
from tests.integration.encryption.test_encryption import KEY, SECRET, Kms, data
from tests.integration.server.client import ask
from tests.ports import free_ports

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
PROGRAM = CACHE / "apiserver-gateway" / "kubernetes-1.37.2" / "kube-apiserver"
TOKEN = "interoperation"
PATIENCE = 120.0

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="there is no kube-apiserver")


class Peer:
    """A kube-apiserver."""

    def __init__(self, port: int) -> None:
        self._url = f"https://127.0.0.1:{port}"
        self._context = ssl.create_default_context()
        self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        sent = None if body is None else dumps(body)
        request = urllib.request.Request(self._url + path, method=method, data=sent, headers=headers)
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=60) as answer:
                return answer.status, loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, loads(error.read())

    def is_ready(self) -> bool:
        try:
            return self.ask("GET", SECRET)[0] == 200
        except (OSError, ValueError):
            return False


@contextmanager
def peer(etcd: EmbeddedEtcd, config: Path, directory: Path) -> Iterator[Peer]:
    (port,) = free_ports(1)
    tokens, key = directory / "tokens.csv", directory / "key.pem"
    tokens.write_text(f'{TOKEN},admin,1,"system:masters"\n')
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    flags = (
        f"--etcd-servers={etcd.endpoint}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={directory / 'certificates'}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-account-issuer=https://k",
        "--service-cluster-ip-range=10.0.0.0/24",
        f"--encryption-provider-config={config}",
    )
    with (directory / "kube-apiserver.log").open("w") as log:
        process = subprocess.Popen([PROGRAM, *flags], stdout=log, stderr=log)
        try:
            running, deadline = Peer(port), time.monotonic() + PATIENCE
            while not running.is_ready():
                assert process.poll() is None and time.monotonic() < deadline, (directory / log.name).read_text()[
                    -2000:
                ]
                time.sleep(0.2)
            yield running
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def plugin() -> Iterator[Kms]:
    with tempfile.TemporaryDirectory() as directory:
        found = Kms(Path(directory))
        found.start()
        yield found
        found.stop()


def secret(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"password": base64.b64encode(b"plaintext").decode()}}


@pytest.mark.timeout(900)  # a kube-apiserver starts eight times
def test_each_reads_what_the_other_has_encrypted(tmp_path: Path, plugin: Kms) -> None:
    kinds = {
        "aescbc": by_key("aescbc", "a"),
        "aesgcm": by_key("aesgcm", "a"),
        "secretbox": by_key("secretbox", "a"),
        "kms": kms("mock", plugin.socket),
    }
    with EmbeddedEtcd(loopback=True) as etcd:
        for kind, first in kinds.items():
            others = [each for other, each in kinds.items() if other != kind]
            config = configured(tmp_path / f"{kind}.json", first, *others, IDENTITY)
            directory = tmp_path / kind
            directory.mkdir()
            with peer(etcd, config, directory) as theirs, ours(etcd, config) as server:
                made, _ = theirs.ask("POST", SECRET, secret(f"theirs-{kind}"))
                assert made == 201
                assert ask(server, "POST", SECRET, secret(f"ours-{kind}")).status == 201
                for whose in ("theirs", "ours"):
                    assert raw(etcd.endpoint, f"{KEY}{whose}-{kind}").startswith(f"k8s:enc:{kind}:".encode())
                assert data(server, f"theirs-{kind}") == b"plaintext"
                status, found = theirs.ask("GET", f"{SECRET}/ours-{kind}")
                assert status == 200 and base64.b64decode(found["data"]["password"]) == b"plaintext"
            with peer(etcd, config, directory) as theirs:  # from etcd, not from its cache
                found = theirs.ask("GET", SECRET)[1]["items"]
                assert {f"ours-{kind}", f"theirs-{kind}"} <= {each["metadata"]["name"] for each in found}
            with ours(etcd, config) as server:
                assert data(server, f"theirs-{kind}") == data(server, f"ours-{kind}") == b"plaintext"


@contextmanager
def ours(etcd: EmbeddedEtcd, config: Path) -> Iterator[ApiServer]:
    flags = ("--controllers=-*", f"--encryption-provider-config={config}")
    with api_server(*flags, etcd_servers=etcd.endpoint) as server:
        yield server
