"""Many servers at low cost: each is forked from a process that has imported all modules, and before a test needs it."""

from __future__ import annotations

import contextlib
import itertools
import json
import secrets
import socket
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import IO, Self

from apiserver_gateway.program import command
from apiserver_gateway.testing.forked_server import ForkedServer
from apiserver_gateway.testing.processes import first_line, spawn
from apiserver_gateway.testing.server import START_TIMEOUT, STOP_TIMEOUT, ApiServer, ServerDidNotStart
from apiserver_gateway.throwaway import LOG, new_place, remove


class PooledServer(ApiServer):
    """A server of a pool. It can be stopped, killed and started again like any other server."""

    def __init__(self, pool: Pool, name: str, flags: Sequence[str] = (), etcd_servers: str = "") -> None:
        """`name` is the name of its directory, and the prefix of its keys in the etcd that the pool's servers share.

        `flags` are added to the pool's. With `etcd_servers` it uses that etcd, with the default prefix.
        """
        self.shares = not (pool.own_etcd or etcd_servers)
        apart = (f"--etcd-prefix=/{name}/registry",) if self.shares else ()
        etcd = pool.etcd if self.shares else etcd_servers
        super().__init__(pool.directory / name, (*pool.flags, *apart, *flags), etcd, throw_away=True)
        self.ca_file = pool.ca_file
        self.token = secrets.token_urlsafe(24)
        self._pool = pool

    def begin(self) -> None:
        """Asks the template to fork the server, and does not wait until it is ready."""
        self._control, theirs = socket.socketpair()
        with theirs:
            self._pool.ask({"serve": self._words()}, theirs)
        self._process = ForkedServer(self._control)

    def _spawn(self, output: IO[bytes]) -> None:
        self.begin()

    def _readiness(self, timeout: float) -> str:
        assert isinstance(self._process, ForkedServer)
        return self._process.line(timeout)

    def _said(self, output: IO[bytes]) -> str:
        return super()._said(output) or self._pool.said()[-1]  # with invalid flags the server has no log of its own


class Pool:
    """Gives each test its own server, at the cost of a fork. A context manager: its servers end with the block.

    The servers share an etcd, where each has its own key prefix. So they also share its revisions: a write of one
    server increases the next resourceVersion of another. They share a CA and the keys that sign tokens. Each server is
    a process with its own objects, users, administrator's token, clock, faults, recorder and controllers.
    """

    def __init__(self, *flags: str, own_etcd: bool = False, ahead: int = 1) -> None:
        """`flags` are those of `apiserver-gateway serve`. With `own_etcd` each server has its own etcd.

        `ahead` is the number of servers that are started in advance.
        """
        self.flags, self.own_etcd, self.etcd = flags, own_etcd, ""
        self.directory = new_place()
        self.ca_file = self.directory / "certificates" / "ca.crt"
        self._ahead = ahead
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._made: deque[PooledServer] = deque()
        self._names = itertools.count(1)

    @contextlib.contextmanager
    def server(self, *flags: str, etcd_servers: str = "") -> Iterator[ApiServer]:
        """A server for the block alone. It is removed with all its data at the end of the block.

        `flags` are added to the pool's, and `etcd_servers` names another etcd, as for `api_server`. A server with
        either of them is not started in advance. Raises ServerDidNotStart.
        """
        is_usual = not (flags or etcd_servers)
        server = self._made.popleft() if is_usual and self._made else self._new(flags, etcd_servers)
        try:
            server.start()
            if is_usual:
                self.order(self._ahead)
            yield server
        finally:
            try:
                server.stop()
            finally:
                remove(server.directory)
                if server.shares:
                    self.ask({"forget": f"/{server.directory.name}"})

    def order(self, number: int) -> None:
        """Starts servers in advance until there are `number` of them; does not wait. Raises ServerDidNotStart."""
        while len(self._made) < number:
            self._made.append(self._new())

    def _new(self, flags: Sequence[str] = (), etcd_servers: str = "") -> PooledServer:
        server = PooledServer(self, f"{next(self._names)}", flags, etcd_servers)
        server.begin()
        return server

    def ask(self, request: object, *sockets: socket.socket) -> None:
        """Sends a request to the template. Raises ServerDidNotStart if the template has ended."""
        try:
            assert self._requests is not None, "outside of its block"
            socket.send_fds(self._requests, [json.dumps(request).encode()], [each.fileno() for each in sockets])
        except OSError as error:
            raise ServerDidNotStart(f"the process of the pool has ended: {error}") from None

    def __enter__(self) -> Self:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with tempfile.TemporaryFile() as output:
                with theirs:
                    self._process = spawn(self._command(theirs.fileno()), theirs, output)
                self.etcd = first_line(self._requests, START_TIMEOUT).strip()
                if not self.etcd:
                    output.seek(0)
                    said = output.read().decode(errors="replace") + "\n".join(self.said())
                    raise ServerDidNotStart(f"no word of readiness:\n{said[-4000:]}")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def said(self) -> list[str]:
        """The lines of the template's log; [""] if there are none."""
        log = self.directory / LOG
        return (log.read_text(encoding="utf-8", errors="replace") if log.exists() else "").splitlines() or [""]

    def _command(self, control: int) -> list[str]:
        own = "--embedded-etcd", f"--cert-dir={self.ca_file.parent}", f"--throw-away={self.directory}"
        return [*command("template"), *own, "--bind-address=127.0.0.1", *self.flags, f"--control-fd={control}"]

    def close(self) -> None:
        """Ends all servers at once, and removes everything that they share."""
        if self._requests is not None:
            self._requests.close()
        if self._process is not None:
            try:
                self._process.wait(STOP_TIMEOUT)
            except BaseException:
                self._process.kill()
                self._process.wait()
                raise
            finally:
                remove(self.directory)
