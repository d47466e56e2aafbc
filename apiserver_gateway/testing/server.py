"""A real server in a child process, with an etcd, certificates and an admin's token of its own."""

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
    from apiserver_gateway.testing.faults import Faults
    from apiserver_gateway.testing.forked import Forked
    from apiserver_gateway.testing.recorder import Recorder

# What it takes on a machine that many others keep busy, several times over: one that does not start at all says so.
START_TIMEOUT = 120.0
STOP_TIMEOUT = 60.0
LOCAL = "127.0.0.1"


class ServerDidNotStart(Exception):
    """The server ended, or said nothing in time; the message ends with what it logged."""


class ApiServer:
    """A server that can be started, stopped, killed and started again on the same port.

    It ends with the process that started it, even when that is killed. `url`, `token`, `ca_file` and `kubeconfig` are
    what a client needs; the token is an administrator's. `etcd_endpoint` is where its etcd can be read, as in
    `etcdctl --endpoints=ENDPOINT get --prefix /registry/`; one of its own is a unix socket that only its user can open.
    """

    def __init__(
        self, directory: Path, flags: Sequence[str] = (), etcd_servers: str = "", *, throw_away: bool = False
    ) -> None:
        """`directory` takes certificates, kubeconfig and log. With `etcd_servers` it has no etcd of its own.

        With `throw_away` the server makes the directory, and removes it when it ends because its starter was killed.
        """
        self.directory = directory
        self.url = ""
        self.token = ""
        self.etcd_endpoint = etcd_servers
        self.callback_host = LOCAL  # this machine as the server sees it: where webhooks of tests are
        self.ca_file = directory / "certificates" / "ca.crt"
        self.kubeconfig = directory / "kubeconfig"
        self.log_file = directory / LOG
        alone = not any(flag.startswith("--workers") for flag in flags)
        own = (f"--throw-away={directory}", *(("--testing-api",) if alone else ())) if throw_away else ()
        self._flags, self._throw_away = (*own, *flags), throw_away
        self._etcd = (f"--etcd-servers={etcd_servers}",) if etcd_servers else ("--embedded-etcd",)
        self._process: subprocess.Popen[bytes] | Forked | None = None
        self._control: socket.socket | None = None
        self._kept_port: Callable[[], object] | None = None  # closes the socket that keeps it, while none serves
        self._is_over = False
        self.connections = Connections()
        self.start_seconds = 0.0  # how long the last start took

    @property
    def faults(self) -> Faults:
        """What is to go wrong, on order: `api.faults.add(verb="update", resource="configmaps", answer=conflict())`."""
        from apiserver_gateway.testing.faults import Faults

        return Faults(self)

    @property
    def recorder(self) -> Recorder:
        """What happened, where it is recorded: from `api.recorder.start()` on, or with the flag --recorder."""
        from apiserver_gateway.testing.recorder import Recorder

        return Recorder(self)

    def coordinates(self) -> dict[str, str]:
        """What `attached` takes, in another process."""
        kept = {"directory": str(self.directory), "ca_file": str(self.ca_file), "kubeconfig": str(self.kubeconfig)}
        kept |= {"url": self.url, "token": self.token, "etcd_endpoint": self.etcd_endpoint}
        return {**kept, "callback_host": self.callback_host}

    @classmethod
    def attached(cls, coordinates: Mapping[str, str]) -> ApiServer:
        """A running server that somebody else starts and stops."""
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
        """The port it serves on; 0 before the first start."""
        return int(self.url.rpartition(":")[2]) if self.url else 0

    def start(self, timeout: float = START_TIMEOUT) -> None:
        """Starts it and waits until it answers. Raises ServerDidNotStart."""
        began = time.monotonic()
        with self._output() as output:
            try:
                if self._process is None:
                    self._spawn(output)
                line = self._readiness(timeout)
            except BaseException:  # it is interrupted
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
        """What it says once it answers, "" if it ends or says nothing in time."""
        assert self._control is not None, "it was started"
        return first_line(self._control, timeout)

    def _output(self) -> IO[bytes]:
        """What takes its words: the log, or a file without a name until it has made its directory."""
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
        """Those that finish pods too, since there is no kubelet; what the flags say instead where they name some."""
        if any(flag.startswith("--controllers") for flag in self._flags):
            return ()
        return ("--controllers=*,pod-garbage-collector-controller",)

    def stop(self) -> int:
        """Stops the server after the requests under way; returns its exit status."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int:
        """Ends it as a crash would; returns its exit status."""
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
        except BaseException:  # it is interrupted
            process.kill()
            process.wait()
            raise
        finally:
            self._keep_port()
            if control is not None:
                if not self._is_over:
                    with contextlib.suppress(OSError):
                        control.send(b"\n")  # else it looks as if this process had gone, and the directory is removed
                control.close()

    def _keep_port(self) -> None:
        """Reserves the port for this server until the server starts again.

        A socket that is bound and does not listen is in the way of all who ask for any port, and on Linux not in the
        way of a server. Whoever connects is refused as if there were none.
        """
        if self._kept_port is not None or self._is_over or not self.port or sys.platform != "linux":
            return
        kept = socket.socket()
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            kept.bind((LOCAL, self.port))
        except OSError:  # a process that it has started listens for a moment longer
            kept.close()
        else:
            self._kept_port = weakref.finalize(self, kept.close)

    def _give_port_back(self) -> None:
        close, self._kept_port = self._kept_port, None
        if close is not None:
            close()

    def _discard(self) -> None:
        """Stops it for good. Its directory goes, also where this process ends before it has removed it."""
        self._is_over = True
        try:
            self.stop()
        finally:
            self._give_port_back()
            remove(self.directory)


def of_version(version: str) -> tuple[str, ...]:
    """The flags by which a server serves a minor of Kubernetes; none where "" is given."""
    return (f"--kubernetes-version={version}",) if version else ()


@contextlib.contextmanager
def api_server(*flags: str, etcd_servers: str = "", version: str = "") -> Iterator[ApiServer]:
    """A running server that is gone, with all its data, when the block ends.

    `flags` are those of `apiserver-gateway serve`; with `etcd_servers` it uses that etcd instead of its own. `version`
    is the minor of Kubernetes that it serves, such as "1.35". Raises ServerDidNotStart.
    """
    flags = (*flags, *of_version(version))
    server = ApiServer(new_place(), flags, etcd_servers, throw_away=True)
    try:
        server.start()
        yield server
    finally:
        server._discard()
