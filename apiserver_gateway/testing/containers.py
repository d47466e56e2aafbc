"""A server in a container, with testcontainers: for machines that have Docker and no etcd.

with ApiServerContainer() as api:
    ...  # api is an ApiServer, as api_server() gives one

The tests may run in a container of the same engine too; the server then joins their network. The server can call
webhooks of the tests in both cases.
"""

from __future__ import annotations

import secrets
import shutil
import socket
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network
from testcontainers.core.utils import inside_container
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from apiserver_gateway.testing.server import LOCAL, ApiServer
from apiserver_gateway.testing.state import kubeconfig

IMAGE = "apiserver-gateway:0.1.0"
ETCD_IMAGE = "gcr.io/etcd-development/etcd:v3.7.3"
PORT = 6443
CERTIFICATES = "/var/lib/apiserver-gateway/certificates"
# The shell adds the container's address to the certificate; it is not known before the container runs.
_START = ("/bin/sh", "-ec", 'exec /opt/gateway/bin/apiserver-gateway "$0" "--tls-san=$NAMES,$(hostname -i)" "$@"')
HOST = "host.docker.internal"  # the engine's machine: Docker Desktop's name, which `extra_hosts` adds elsewhere too


class ApiServerContainer:
    """An etcd and a gateway in containers, on a new network or on that of the tests. As a context manager it gives an
    ApiServer.
    """

    def __init__(self, image: str = IMAGE, etcd_image: str = ETCD_IMAGE, flags: Sequence[str] = ()) -> None:
        """`flags` are those of `apiserver-gateway serve`."""
        self._image, self._etcd_image, self._flags = image, etcd_image, tuple(flags)
        self._stack = ExitStack()

    def __enter__(self) -> ApiServer:
        with ExitStack() as stack:
            etcd, gateway = DockerContainer(self._etcd_image), DockerContainer(self._image)
            network = etcd.get_docker_client().find_host_network() if inside_container() else None
            if network is None:
                network = stack.enter_context(Network()).name
            # the default network has no DNS, so the gateway gets etcd's address
            etcd.with_kwargs(network=network).with_command(
                "etcd --listen-client-urls=http://0.0.0.0:2379 --advertise-client-urls=http://127.0.0.1:2379"
            )
            stack.enter_context(etcd.waiting_for(LogMessageWaitStrategy("ready to serve client requests")))
            token = secrets.token_urlsafe(24)
            gateway.with_kwargs(network=network, extra_hosts={HOST: "host-gateway"}, entrypoint=[*_START])
            gateway.with_exposed_ports(PORT).with_env("APISERVER_GATEWAY_ADMIN_TOKEN", token)
            gateway.with_env("NAMES", f"localhost,{LOCAL},{etcd.get_container_host_ip()}")
            gateway.with_command(self._command(etcd))
            stack.enter_context(gateway.waiting_for(LogMessageWaitStrategy("ready")))
            server = self._server(gateway, token, stack)
            self._stack = stack.pop_all()
            return server

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _command(self, etcd: DockerContainer) -> str:
        address = etcd.get_docker_client().bridge_ip(etcd.get_container_id())
        flags = (
            f"--etcd-servers=http://{address}:2379",
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
        host, port = gateway.get_container_host_ip(), gateway.get_exposed_port(PORT)
        url = f"https://{host}:{port}"
        (config := directory / "kubeconfig").touch(0o600)
        server = ApiServer.attached(
            {
                "directory": str(directory),
                "ca_file": str(ca_file),
                "kubeconfig": str(config),
                "url": url,
                "token": token,
                "etcd_endpoint": "",
                "callback_host": _own_address(host, port) if inside_container() else HOST,
            }
        )
        config.write_text(kubeconfig(server, "admin", token))
        return server


def _own_address(host: str, port: int) -> str:
    """The address of this machine or container on the network by which it reaches a host."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.connect((host, port))  # nothing is sent
        return str(asked.getsockname()[0])
