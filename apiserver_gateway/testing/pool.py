"""Many servers for little: each is forked from a process that has imported all of it, and ready before it is wanted."""

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
from apiserver_gateway.testing.forked import Forked
from apiserver_gateway.testing.processes import first_line, spawn
from apiserver_gateway.testing.server import START_TIMEOUT, STOP_TIMEOUT, ApiServer, ServerDidNotStart
from apiserver_gateway.throwaway import LOG, new_place, remove


class PooledServer(ApiServer):
    """A server of a pool's: it can be stopped, killed and started again like any other."""

    def __init__(self, pool: Pool, name: str, flags: Sequence[str] = (), etcd_servers: str = "") -> None:
        """`name` is that of its directory and of its keys in the etcd that the pool's servers share.

        `flags` are those that it has besides the pool's. With `etcd_servers` it uses these, under the usual prefix.
        """
        self.shares = not (pool.own_etcd or etcd_servers)
        apart = (f"--etcd-prefix=/{name}/registry",) if self.shares else ()
        etcd = pool.etcd if self.shares else etcd_servers
        super().__init__(pool.directory / name, (*pool.flags, *apart, *flags), etcd, throw_away=True)
        self.ca_file = pool.ca_file
        self.token = secrets.token_urlsafe(24)
        self._pool = pool

    def begin(self) -> None:
        """Has it forked, and waits for nothing."""
        self._control, theirs = socket.socketpair()
        with theirs:
            self._pool.ask({"serve": self._words()}, theirs)
        self._process = Forked(self._control)

    def _spawn(self, output: IO[bytes]) -> None:
        self.begin()

    def _readiness(self, timeout: float) -> str:
        assert isinstance(self._process, Forked)
        return self._process.line(timeout)

    def _said(self, output: IO[bytes]) -> str:
        return super()._said(output) or self._pool.said()[-1]  # flags that cannot be read leave it without a log


class Pool:
    """Servers of one's own at the price of a fork. A context manager; none of its servers outlives the block.

    They share an etcd, in which each has its keys under a prefix of its own, and the etcd's revisions: what one writes
    counts up the next resourceVersion of another. They share a CA, and the keys that sign tokens. Each is a process
    with objects, users, an administrator's token, a clock, faults, a recorder and controllers of its own.
    """

    def __init__(self, *flags: str, own_etcd: bool = False, ahead: int = 1) -> None:
        """`flags` are those of `apiserver-gateway serve`. With `own_etcd` each server has an etcd of its own, too.

        `ahead` servers are made before they are asked for.
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
        """A server that nobody else has; it is gone, with all its data, when the block ends.

        It may have `flags` besides the pool's, or an etcd of somebody else's, as `api_server` has; then it is made when
        it is asked for. Raises ServerDidNotStart.
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
        """Has servers made that nobody waits for yet, until there are so many of them. Raises ServerDidNotStart."""
        while len(self._made) < number:
            self._made.append(self._new())

    def _new(self, flags: Sequence[str] = (), etcd_servers: str = "") -> PooledServer:
        server = PooledServer(self, f"{next(self._names)}", flags, etcd_servers)
        server.begin()
        return server

    def ask(self, request: object, *sockets: socket.socket) -> None:
        """Has the template do something. Raises ServerDidNotStart where it is gone."""
        try:
            assert self._requests is not None, "outside of its block"
            socket.send_fds(self._requests, [json.dumps(request).encode()], [each.fileno() for each in sockets])
        except OSError as error:
            raise ServerDidNotStart(f"the pool's process is gone: {error}") from None

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
        """The lines of the log of the process that forks servers, one at least."""
        log = self.directory / LOG
        return (log.read_text(encoding="utf-8", errors="replace") if log.exists() else "").splitlines() or [""]

    def _command(self, control: int) -> list[str]:
        own = "--embedded-etcd", f"--cert-dir={self.ca_file.parent}", f"--throw-away={self.directory}"
        return [*command("template"), *own, "--bind-address=127.0.0.1", *self.flags, f"--control-fd={control}"]

    def close(self) -> None:
        """Ends all of its servers at once, and whatever they share."""
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
