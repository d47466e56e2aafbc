"""A server in a container, with testcontainers: where the tests' machine has Docker and no etcd.

with ApiServerContainer() as api:
    ...  # api is an ApiServer, as api_server() gives one
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from apiserver_gateway.testing.server import ApiServer
from apiserver_gateway.testing.state import kubeconfig

IMAGE = "apiserver-gateway:0.1.0"
ETCD_IMAGE = "gcr.io/etcd-development/etcd:v3.6.16"
PORT = 6443
CERTIFICATES = "/var/lib/apiserver-gateway/certificates"


class ApiServerContainer:
    """An etcd and a gateway on a network of their own; a context manager that gives an ApiServer."""

    def __init__(self, image: str = IMAGE, etcd_image: str = ETCD_IMAGE, flags: Sequence[str] = ()) -> None:
        """`flags` are those of `apiserver-gateway serve`."""
        self._image, self._etcd_image, self._flags = image, etcd_image, tuple(flags)
        self._stack = ExitStack()

    def __enter__(self) -> ApiServer:
        with ExitStack() as stack:
            network = stack.enter_context(Network())
            etcd = DockerContainer(self._etcd_image).with_command(
                "etcd --listen-client-urls=http://0.0.0.0:2379 --advertise-client-urls=http://etcd:2379"
            )
            etcd.with_network(network).with_network_aliases("etcd")
            stack.enter_context(etcd.waiting_for(LogMessageWaitStrategy("ready to serve client requests")))
            token = secrets.token_urlsafe(24)
            gateway = DockerContainer(self._image).with_network(network).with_exposed_ports(PORT)
            gateway.with_env("APISERVER_GATEWAY_ADMIN_TOKEN", token).with_command(self._command(gateway))
            stack.enter_context(gateway.waiting_for(LogMessageWaitStrategy("ready")))
            server = self._server(gateway, token, stack)
            self._stack = stack.pop_all()
            return server

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _command(self, gateway: DockerContainer) -> str:
        flags = (
            "--etcd-servers=http://etcd:2379",
            f"--tls-san=localhost,127.0.0.1,{gateway.get_container_host_ip()}",
            f"--cert-dir={CERTIFICATES}",
            "--testing-api",
            *self._flags,
        )
        return " ".join(("serve", *flags))

    def _server(self, gateway: DockerContainer, token: str, stack: ExitStack) -> ApiServer:
        directory = Path(tempfile.mkdtemp(prefix="api-server-"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        status, authority = gateway.exec(["cat", f"{CERTIFICATES}/ca.crt"])
        if status:
            raise RuntimeError(f"the container has no {CERTIFICATES}/ca.crt: {authority.decode(errors='replace')}")
        (ca_file := directory / "ca.crt").write_bytes(authority)
        url = f"https://{gateway.get_container_host_ip()}:{gateway.get_exposed_port(PORT)}"
        (config := directory / "kubeconfig").touch(0o600)
        server = ApiServer.attached(
            {
                "directory": str(directory),
                "ca_file": str(ca_file),
                "kubeconfig": str(config),
                "url": url,
                "token": token,
                "etcd_endpoint": "",
            }
        )
        config.write_text(kubeconfig(server, "admin", token))
        return server
