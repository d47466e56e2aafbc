"""A real server in a child process, with its own etcd, certificates and administrator's token."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from apiserver_gateway.program import command
from apiserver_gateway.testing.connections import Connections
from apiserver_gateway.testing.processes import first_line, spawn
from apiserver_gateway.throwaway import LOG, new_place, remove

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from apiserver_gateway.testing.clusters import Cluster
    from apiserver_gateway.testing.faults import Faults
    from apiserver_gateway.testing.forked_server import ForkedServer
    from apiserver_gateway.testing.recorder import Recorder

# seconds: several times what a very busy machine needs; a server that cannot start ends at once
START_TIMEOUT = 120.0
STOP_TIMEOUT = 60.0
LOCAL = "127.0.0.1"


class ServerDidNotStart(Exception):
    """The server ended, or was not ready in time; the message ends with its log."""


class ApiServer:
    """A server that can be started, stopped, killed and started again on the same port.

    It ends with the process that started it, even if that is killed. `url`, `token`, `ca_file` and `kubeconfig` are for
    clients; the token is an administrator's. `etcd_endpoint` is the endpoint of its etcd, as in
    `etcdctl --endpoints=ENDPOINT get --prefix /registry/`. That of an embedded etcd is a unix socket, which only the
    same user can open.
    """

    def __init__(
        self, directory: Path, flags: Sequence[str] = (), etcd_servers: str = "", *, throw_away: bool = False
    ) -> None:
        """`directory` is for certificates, kubeconfig and log. With `etcd_servers` the server uses that etcd instead of
        an embedded one.

        With `throw_away` the server makes the directory, and removes it if this process is killed.
        """
        self.directory = directory
        self.url = ""
        self.token = ""
        self.etcd_endpoint = etcd_servers
        self.callback_host = LOCAL  # the address by which the server reaches webhooks of tests
        self.ca_file = directory / "certificates" / "ca.crt"
        self.kubeconfig = directory / "kubeconfig"
        self.log_file = directory / LOG
        alone = not any(flag.startswith("--workers") for flag in flags)
        own = (f"--throw-away={directory}", *(("--testing-api",) if alone else ())) if throw_away else ()
        self._flags, self._throw_away = (*own, *flags), throw_away
        self._etcd = (f"--etcd-servers={etcd_servers}",) if etcd_servers else ("--embedded-etcd",)
        self._process: subprocess.Popen[bytes] | ForkedServer | None = None
        self._control: socket.socket | None = None
        self._kept_port: Callable[[], object] | None = None  # closes the socket that reserves the port
        self._is_over = False
        self.connections = Connections()
        self.start_seconds = 0.0  # the duration of the last start

    @property
    def faults(self) -> Faults:
        """The faults of the server: `api.faults.add(verb="update", resource="configmaps", answer=conflict())`."""
        from apiserver_gateway.testing.faults import Faults

        return Faults(self)

    @property
    def recorder(self) -> Recorder:
        """The flight recorder of the server. It records after `api.recorder.start()`, or with the flag --recorder."""
        from apiserver_gateway.testing.recorder import Recorder

        return Recorder(self)

    def cluster(self, name: str = "", *, version: str = "") -> AbstractContextManager[Cluster]:
        """A control plane of this server for a block, `with api.cluster() as cluster:`. It needs --control-planes.
        `version` is the Kubernetes minor of the control plane; "" is the minor of the server.
        """
        from apiserver_gateway.testing.clusters import cluster

        return cluster(self, name, version=version)

    def clusters(self, number: int, *, version: str = "") -> AbstractContextManager[list[Cluster]]:
        """So many control planes for a block: `with api.clusters(10) as ten:`. It needs --control-planes."""
        from apiserver_gateway.testing.clusters import clusters

        return clusters(self, number, version=version)

    def coordinates(self) -> dict[str, str]:
        """What another process needs to use the server, by `attached`."""
        kept = {"directory": str(self.directory), "ca_file": str(self.ca_file), "kubeconfig": str(self.kubeconfig)}
        kept |= {"url": self.url, "token": self.token, "etcd_endpoint": self.etcd_endpoint}
        return {**kept, "callback_host": self.callback_host}

    @classmethod
    def attached(cls, coordinates: Mapping[str, str]) -> ApiServer:
        """A running server that another process starts and stops. `coordinates` are those of its ApiServer."""
        server = cls(Path(coordinates["directory"]))
        server.ca_file, server.kubeconfig = Path(coordinates["ca_file"]), Path(coordinates["kubeconfig"])
        server.url, server.token = coordinates["url"], coordinates["token"]
        server.etcd_endpoint = coordinates["etcd_endpoint"]
        server.callback_host = coordinates.get("callback_host", LOCAL)
        return server

    @property
    def pid(self) -> int:
        """The server's process id."""
        assert self._process is not None, "not running"
        return self._process.pid

    @property
    def port(self) -> int:
        """The port of the server; 0 before the first start."""
        return int(self.url.rpartition(":")[2]) if self.url else 0

    def start(self, timeout: float = START_TIMEOUT) -> None:
        """Starts the server and waits until it is ready, `timeout` seconds at most. Raises ServerDidNotStart."""
        began = time.monotonic()
        with self._output() as output:
            try:
                if self._process is None:
                    self._spawn(output)
                line = self._readiness(timeout)
            except BaseException:  # such as Ctrl-C
                self.kill()
                raise
            if not line:
                self.kill()
                raise ServerDidNotStart(f"no word of readiness:\n{self._said(output)[-4000:]}")
        self._give_port_back()
        self.url, self.token, self.etcd_endpoint = line.split()
        self.start_seconds = time.monotonic() - began

    def _spawn(self, output: IO[bytes]) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = spawn(self._command(theirs.fileno()), theirs, output)

    def _readiness(self, timeout: float) -> str:
        """The line that the server writes when it is ready, "" if it ends before or is not ready in time."""
        assert self._control is not None, "it was started"
        return first_line(self._control, timeout)

    def _output(self) -> IO[bytes]:
        """The file for the server's output: its log, or a temporary file until the server has made its directory."""
        return tempfile.TemporaryFile() if self._throw_away else self.log_file.open("ab+")

    def _said(self, output: IO[bytes]) -> str:
        output.seek(0)
        own = self.log_file.read_bytes() if self._throw_away and self.log_file.exists() else b""
        return (output.read() + own).decode(errors="replace")

    def _command(self, control: int) -> list[str]:
        return [*command("serve"), *self._words(), f"--control-fd={control}"]

    def _words(self) -> list[str]:
        """The flags of `serve`."""
        token = (f"--admin-token={self.token}",) if self.token else ()
        return [
            *self._etcd,
            f"--bind-address={LOCAL}",
            f"--secure-port={self.port}",
            f"--cert-dir={self.ca_file.parent}",
            f"--kubeconfig-out={self.kubeconfig}",
            *self._controllers(),
            *token,
            *self._flags,
        ]

    def _controllers(self) -> tuple[str, ...]:
        """The flag --controllers, unless `flags` have it. Adds the controller that removes deleted pods, as there is no
        kubelet.
        """
        if any(flag.startswith("--controllers") for flag in self._flags):
            return ()
        return ("--controllers=*,pod-garbage-collector-controller",)

    def stop(self) -> int:
        """Stops the server after its current requests have ended; returns its exit status."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int:
        """Kills the server, as in a crash; returns its exit status."""
        return self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> int:
        process, self._process = self._process, None
        control, self._control = self._control, None
        self.connections.close()
        if process is None:
            return 0
        try:
            process.send_signal(how)
            return process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
        except BaseException:  # such as Ctrl-C
            process.kill()
            process.wait()
            raise
        finally:
            self._keep_port()
            if control is not None:
                if not self._is_over:
                    with contextlib.suppress(OSError):
                        control.send(b"\n")  # a byte: this process lives, so keep the directory
                control.close()

    def _keep_port(self) -> None:
        """Reserves the port for this server until the server starts again.

        A socket that is bound and does not listen keeps the kernel from giving the port to others that ask for any
        port. On Linux it does not keep a server from binding the port. Connections are refused, as without the socket.
        """
        if self._kept_port is not None or self._is_over or not self.port or sys.platform != "linux":
            return
        kept = socket.socket()
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            kept.bind((LOCAL, self.port))
        except OSError:  # a process of the server still listens for a moment
            kept.close()
        else:
            self._kept_port = weakref.finalize(self, kept.close)

    def _give_port_back(self) -> None:
        close, self._kept_port = self._kept_port, None
        if close is not None:
            close()

    def _discard(self) -> None:
        """Stops the server for good and removes its directory. If this process is killed meanwhile, the server's guard
        removes the directory.
        """
        self._is_over = True
        try:
            self.stop()
        finally:
            self._give_port_back()
            remove(self.directory)


def of_version(version: str) -> tuple[str, ...]:
    """The flags for a minor of Kubernetes; none for ""."""
    return (f"--kubernetes-version={version}",) if version else ()


@contextlib.contextmanager
def api_server(*flags: str, etcd_servers: str = "", version: str = "") -> Iterator[ApiServer]:
    """Starts a server, which is removed with all its data at the end of the block.

    `flags` are those of `apiserver-gateway serve`. With `etcd_servers` the server uses that etcd instead of its own.
    `version` is the minor of Kubernetes that it serves, such as "1.35". Raises ServerDidNotStart.
    """
    flags = (*flags, *of_version(version))
    server = ApiServer(new_place(), flags, etcd_servers, throw_away=True)
    try:
        server.start()
        yield server
    finally:
        server._discard()
