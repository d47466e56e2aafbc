"""A kube-apiserver without admission plug-ins, with its own etcd."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WAIT = 300  # seconds for it to be ready


@contextmanager
def kube_apiserver(binaries: Path, etcd: Path, token: str) -> Iterator[str]:
    """Starts it. Yields its URL; `token` is an administrator's."""
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        processes = []
        try:
            client, peer, port = (_free_port() for _ in range(3))
            processes.append(_etcd(etcd, place, client, peer))
            processes.append(_server(binaries / "kube-apiserver", place, client, port, token))
            _await(port, token, processes[-1], place / "log")
            yield f"https://127.0.0.1:{port}"
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait()


def _etcd(program: Path, place: Path, client: int, peer: int) -> subprocess.Popen[bytes]:
    at, there = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    command = [
        *(str(program), f"--data-dir={place / 'etcd'}", "--unsafe-no-fsync", "--log-level=error"),
        *(f"--listen-client-urls={at}", f"--advertise-client-urls={at}", f"--listen-peer-urls={there}"),
        *(f"--initial-advertise-peer-urls={there}", f"--initial-cluster=default={there}"),
    ]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _server(program: Path, place: Path, etcd: int, port: int, token: str) -> subprocess.Popen[bytes]:
    key, tokens = place / "sa.key", place / "tokens.csv"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    tokens.write_text(f"{token},admin,admin,system:masters\n")
    help_text = subprocess.run([str(program), "--help"], capture_output=True, text=True, check=True).stdout
    command = [
        *(str(program), f"--etcd-servers=http://127.0.0.1:{etcd}", f"--secure-port={port}", "--bind-address=127.0.0.1"),
        *(f"--cert-dir={place / 'certs'}", f"--token-auth-file={tokens}", "--authorization-mode=RBAC"),
        *("--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged", "--service-account-issuer=https://k"),
        *(f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}"),
        f"--disable-admission-plugins={','.join(_plugins(help_text))}",
    ]
    with (place / "log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def _plugins(help_text: str) -> list[str]:
    """The admission plug-ins that are on by default, read from the help text of --disable-admission-plugins."""
    found = re.search(r"--disable-admission-plugins strings .*?enabled plugins list \(([^)]*)\)", help_text)
    return found[1].split(", ") if found else []


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def _await(port: int, token: str, process: subprocess.Popen[bytes], log: Path) -> None:
    context = ssl._create_unverified_context()
    end = time.monotonic() + WAIT
    while time.monotonic() < end and process.poll() is None:
        try:
            connection = http.client.HTTPSConnection(f"127.0.0.1:{port}", context=context, timeout=5)
            for path in ("/readyz", "/api/v1/namespaces/default"):
                connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    break
            else:
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise RuntimeError(f"the kube-apiserver was not ready:\n{log.read_text()[-2000:]}")
