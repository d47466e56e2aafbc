"""Control planes of one server, for tests: each is an API server of its own, made and removed in milliseconds."""

from __future__ import annotations

import contextlib
import uuid
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from apiserver_gateway.testing.connections import Connections, Server
from apiserver_gateway.testing.requests import REQUEST_TIMEOUT, Refused, ask
from apiserver_gateway.testing.waiting import condition, wait_for

if TYPE_CHECKING:
    from apiserver_gateway.testing.faults import Faults
    from apiserver_gateway.testing.recorder import Recorder

PATH = "/apis/apiserver-gateway.dev/v1alpha1/controlplanes"
_DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/controlplanes.apiserver-gateway.dev"


class Host(Server, Protocol):
    """A server with control planes; it keeps their kubeconfigs in its directory."""

    directory: Path
    callback_host: str


class Cluster:
    """A control plane of a server: `url`, `token`, `ca_file` and `kubeconfig` are for clients; the token is an
    administrator's. All functions that take a server take it too: `ask(cluster, "GET", "/api/v1/namespaces")`. Only the
    clock is that of the server: `advance_clock(cluster.server, 3600)`.
    """

    def __init__(self, server: Host, name: str, token: str, kubeconfig: Path) -> None:
        self.server, self.name, self.token, self.kubeconfig = server, name, token, kubeconfig
        self.url = f"{server.url}/clusters/{name}"
        self.ca_file = server.ca_file
        self.callback_host, self.directory = server.callback_host, server.directory
        self.connections = Connections(f"/clusters/{name}")

    @property
    def faults(self) -> Faults:
        """The faults of the control plane; no other one has them."""
        from apiserver_gateway.testing.faults import Faults

        return Faults(self)

    @property
    def recorder(self) -> Recorder:
        """The flight recorder of the control plane. It records after `cluster.recorder.start()`."""
        from apiserver_gateway.testing.recorder import Recorder

        return Recorder(self)

    def delete(self) -> None:
        """Deletes the control plane; its keys are removed in the background. Raises Refused."""
        self.connections.close()
        self.kubeconfig.unlink(missing_ok=True)
        ask(self.server, "DELETE", f"{PATH}/{self.name}")


def made(server: Host, name: str = "", timeout: float = REQUEST_TIMEOUT, *, version: str = "") -> Cluster:
    """Makes a control plane on a server that runs with --control-planes. An empty `name` stands for a new, random name.
    `version` is the Kubernetes minor of the control plane; "" is the minor of the server.

    Raises Refused, TimeoutError.
    """
    return _ready(server, _begun(server, name, timeout, version), timeout)


def _begun(server: Host, name: str, timeout: float, version: str) -> str:
    """Makes the object, and returns its name."""
    name = name or f"test-{uuid.uuid4().hex[:12]}"
    wait_for(server, _DEFINITION, condition("Established"), timeout)
    body = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": name}}
    ask(server, "POST", PATH, {**body, "spec": {"version": version} if version else {}})
    return name


def _ready(server: Host, name: str, timeout: float) -> Cluster:
    """The control plane, once it answers."""
    found = wait_for(server, f"{PATH}/{name}", lambda obj: (obj.get("status") or {}).get("phase") == "Ready", timeout)
    secret = ask(server, "GET", f"/api/v1/namespaces/kube-system/secrets/{found['status']['secret']}")["data"]
    kubeconfig = server.directory / f"kubeconfig-{name}"
    kubeconfig.touch(0o600)
    kubeconfig.write_bytes(b64decode(secret["kubeconfig"]))
    return Cluster(server, name, b64decode(secret["token"]).decode(), kubeconfig)


@contextlib.contextmanager
def cluster(server: Host, name: str = "", *, version: str = "") -> Iterator[Cluster]:
    """A control plane that is deleted at the end of the block."""
    found = made(server, name, version=version)
    try:
        yield found
    finally:
        with contextlib.suppress(Refused, ConnectionError):
            found.delete()


@contextlib.contextmanager
def clusters(server: Host, number: int, *, version: str = "") -> Iterator[list[Cluster]]:
    """So many control planes, which are made at the same time, and deleted at the end of the block."""
    found = list[Cluster]()
    names = [_begun(server, "", REQUEST_TIMEOUT, version) for _ in range(number)]
    try:
        for name in names:
            found.append(_ready(server, name, REQUEST_TIMEOUT))
        yield found
    finally:
        for each in found:
            with contextlib.suppress(Refused, ConnectionError):
                each.delete()
        for name in names[len(found) :]:  # those that were not ready in time
            with contextlib.suppress(Refused, ConnectionError):
                ask(server, "DELETE", f"{PATH}/{name}")
