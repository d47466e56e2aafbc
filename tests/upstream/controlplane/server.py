"""The servers that the programs run against: the gateway, or a kube-apiserver to compare it with."""

from __future__ import annotations

import json
import random
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apiserver_gateway.testing import api_server, user
from storage.embedded import EmbeddedEtcd
from tests.upstream import PEER

TOKEN = "control-plane"
MANAGER = "kube-controller-manager"
PROGRAMS = (MANAGER, "kube-scheduler")  # each is the user of its name, and may do what that user's default roles say
_PATIENCE = 120.0


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


@dataclass(slots=True)
class Server:
    """A server that answers; `flags` of the programs that are to run against it, by their names."""

    url: str
    token: str
    flags: Mapping[str, list[str]] = field(default_factory=dict)
    pid: int = 0

    def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """The answer's JSON. Raises Refused."""
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", content_type)
        request.data = None if body is None else json.dumps(body).encode()
        try:
            context = ssl._create_unverified_context()
            with urllib.request.urlopen(request, timeout=30, context=context) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode(errors="replace")) from None


@contextmanager
def gateway(logs: Path, version: str = PEER) -> Iterator[Server]:
    """The gateway of a minor as it is, all its controllers included, but for those that it leaves to the programs."""
    keys = _keys(logs)
    flags = (f"--service-account-signing-key-file={keys}", f"--service-account-key-file={keys}")
    with api_server(*flags, version=version) as running:
        tokens = {f"system:{name}": user(running, f"system:{name}").token for name in PROGRAMS}
        yield Server(running.url, running.token, _flags(logs, running.url, tokens), running.pid)


def kube_apiserver(
    program: Path, more: Sequence[str] = ("--authorization-mode=RBAC",), token: str = ""
) -> Callable[[Path], AbstractContextManager[Server]]:
    """What starts a kube-apiserver with `more` flags, and a further line of its file of tokens."""

    @contextmanager
    def started(logs: Path) -> Iterator[Server]:
        logs.mkdir(exist_ok=True)
        keys, port, tokens = _keys(logs), free_port(), logs / "tokens.csv"
        users = {f"system:{name}": f"{TOKEN}-{name}" for name in PROGRAMS}
        lines = [f"{TOKEN},admin,1,system:masters", *(f"{each},{name},1" for name, each in users.items()), token]
        tokens.write_text("\n".join(lines) + "\n")
        url = f"https://127.0.0.1:{port}"
        with EmbeddedEtcd() as etcd, (logs / "apiserver.log").open("wb") as log:
            process = subprocess.Popen(
                [
                    program, f"--etcd-servers={etcd.endpoint}", f"--secure-port={port}", "--bind-address=127.0.0.1",
                    f"--cert-dir={logs / 'certificates'}", f"--token-auth-file={tokens}", *more,
                    "--service-cluster-ip-range=10.0.0.0/24", f"--service-account-key-file={keys}",
                    f"--service-account-signing-key-file={keys}", "--service-account-issuer=https://control.plane",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                server = Server(url, TOKEN, _flags(logs, url, users), process.pid)
                _await_ready(server)
                yield server
            finally:
                process.terminate()
                process.wait()

    return started


def free_port() -> int:
    """A port that nobody listens on now, and that the kernel gives to nobody who asks for any (tests/ports.py)."""
    while True:
        port = random.SystemRandom().randrange(12_000, 29_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def _await_ready(server: Server) -> None:
    ends = time.monotonic() + _PATIENCE
    while True:
        try:
            server.ask("GET", "/api/v1/namespaces/kube-system")
            return
        except (OSError, Refused):
            if time.monotonic() > ends:
                raise
            time.sleep(0.2)


def _keys(logs: Path) -> Path:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    path = logs / "sa.key"
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    plain = serialization.NoEncryption()
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return path


def _flags(logs: Path, url: str, tokens: Mapping[str, str]) -> dict[str, list[str]]:
    """The programs' flags; `tokens` are those of the users that they are."""
    keys = f"--service-account-private-key-file={logs / 'sa.key'}"
    flags = {
        name: [*_kubeconfigs(logs / f"{name}.kubeconfig", url, tokens[f"system:{name}"]), "--secure-port=0", "--v=1"]
        for name in PROGRAMS
    }
    flags[MANAGER] += [keys, "--use-service-account-credentials=true"]
    return flags


def _kubeconfigs(path: Path, url: str, token: str) -> list[str]:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    path.write_text(json.dumps(content))
    return [f"--{kind}kubeconfig={path}" for kind in ("", "authentication-", "authorization-")]
