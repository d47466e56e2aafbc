"""A process that has imported the server and forks one for each request: what all of them have in memory is there once.

Who started it sends requests over a socket, each a message of JSON with a socket for that server:

    {"serve": ["--secure-port=0", …]}   forks a server with these flags; its socket is the server's --control-fd, and is
                                        told `pid N` before and `exit STATUS` after what the server says
    {"forget": "/prefix"}               removes the keys of a server that is gone from the etcd that they share

Neither threads nor gRPC survive a fork, so this process has none of them: no client of etcd may be made here, and the
thread that starts etcd has ended before the first request. When the socket is closed, the servers are killed, and what
was made for them is removed.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import json
import logging
import os
import pkgutil
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path

from apiserver_gateway.throwaway import move_in
from gateway.credentials.certificates import context_of
from gateway.launch.descriptors import raise_descriptor_limit, write_no_core_files
from gateway.launch.errors import LaunchError
from gateway.launch.identity import identity_of
from gateway.launch.launch import end_early, guard_of, launch
from gateway.launch.stopping import StopGuard
from gateway.observability import logs
from gateway.settings.command_line import read_flags, settings_of
from gateway.settings.config import InvalidSettings, Settings
from storage.embedded import EmbeddedEtcd, EmbeddedEtcdError
from storage.embedded.member import LocalConnection

logger = logging.getLogger(__name__)

LONGEST = 1 << 17  # bytes of a request
MODULES = (  # what servers import until they are ready
    "gateway.launch.process",
    "gateway.launch.workers",
    "gateway.access.bootstrap_tokens",
    "gateway.access.modes",
    "gateway.access.rbac.authorizer",
    "gateway.access.service_account_tokens",
    "gateway.access.tokens",
    "gateway.kinds.builtin",
    "gateway.flowcontrol.modes",
    "storage.compaction",
    "uvicorn.lifespan.on",
    "uvloop",
)
PACKAGES = (  # whose modules they import then, or with the first requests
    "gateway.admission.plugins",
    "gateway.allocation",
    "gateway.controllers",
    "gateway.defaults",
    "gateway.kinds.strategies",
    "gateway.patches",
    "gateway.quotas",
    "gateway.reading",
    "gateway.validation",
    "gateway.verbs",
    "gateway.writing",
)


class Template:
    """Forks servers. To be made in a process without threads."""

    def __init__(
        self, control: socket.socket, etcd: str, rest: Iterator[Callable[[], object]], guard: StopGuard
    ) -> None:
        """Requests come by `control`; `etcd` is the endpoint of the one that servers share.

        `rest` is what can be done for servers to come while nobody asks for one; `guard` is kept as long as this is.
        """
        self._control, self._etcd, self._rest, self._guard = control, etcd, rest, guard
        self._servers: dict[int, int] = {}  # the sockets of those that are there, by their processes
        self._woken, self._wake = os.pipe()
        self._idle = False

    def run(self) -> None:
        """Does what is requested until the other end is closed; then no server is left."""
        for end in (self._woken, self._wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            while self._turn():
                pass
        finally:
            for server in self._servers:
                os.kill(server, signal.SIGKILL)
            for server in self._servers:
                os.waitpid(server, 0)

    def _turn(self) -> bool:
        """Waits for something and does it; False when nobody asks any more."""
        sources: list[socket.socket | int] = [self._control, self._woken]
        readable = select.select(sources, [], [], None if self._idle else 0)[0]
        if not readable:
            self._prepare_more()
        if self._woken in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(self._woken, 4096)
            self._reap()
        if self._control in readable:
            try:
                said, given, _, _ = socket.recv_fds(self._control, LONGEST, 1)
            except ConnectionResetError:  # it was closed before it was read
                return False
            if not said:
                return False
            request = json.loads(said)
            if "serve" in request:
                self._fork(request["serve"], given[0])
            else:
                self._forget(request["forget"])
        return True

    def _prepare_more(self) -> None:
        work = next(self._rest, None)
        if work is not None:
            work()
            return
        self._idle = True
        settle()

    def _fork(self, words: Sequence[str], control: int) -> None:
        server = os.fork()
        if server:
            self._servers[server] = control
            _tell(control, f"pid {server}\n")
            return
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for other in (self._woken, self._wake, *self._servers.values()):
                os.close(other)
            self._control.close()
            status = _serve([*words, f"--control-fd={control}"])
        finally:
            logging.shutdown()
            os._exit(status)

    def _reap(self) -> None:
        """Tells of servers that have ended."""
        for server, control in list(self._servers.items()):
            ended, status = os.waitpid(server, os.WNOHANG)
            if ended:
                _tell(control, f"exit {os.waitstatus_to_exitcode(status)}\n")
                os.close(control)
                del self._servers[server]

    def _forget(self, prefix: str) -> None:
        """Removes all keys that begin so. By etcd's JSON gateway, which wants no gRPC here."""
        first = f"{prefix}/".encode()
        keys = {"key": first, "range_end": first[:-1] + bytes([first[-1] + 1])}
        connection = LocalConnection(self._etcd)
        try:
            body = json.dumps({name: base64.b64encode(key).decode() for name, key in keys.items()})
            connection.request("POST", "/v3/kv/deleterange", body)
            connection.getresponse().read()
        except OSError as error:
            logger.warning("the keys of a server that is gone stay in etcd", extra={"reason": str(error)})
        finally:
            connection.close()


def _tell(control: int, line: str) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more
        os.write(control, line.encode())


def _serve(words: Sequence[str]) -> int:
    """Serves, in a process that was just forked; the exit status. What is wrong is a line in the log."""
    try:
        given = read_flags(words)
        if given.throw_away:
            move_in(Path(given.throw_away))  # what is wrong with the settings is said there, too
        return launch(settings_of(given, os.environ), given.control, given.throw_away, guarded=False)
    except (InvalidSettings, LaunchError) as error:
        print(f"apiserver-gateway: {error}", file=sys.stderr)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except BaseException:
        logger.exception("a server failed")
    return 1


def run(words: Sequence[str]) -> int:
    """Is a template for servers with these flags of `serve` until nobody asks any more; returns the exit status.

    It says a line when it is ready, the endpoint of the etcd. What is wrong is a line on standard error, and 1.
    """
    try:
        given = read_flags(words)
        settings = settings_of(given, os.environ)
        assert given.control is not None and given.throw_away is not None, "a template has a starter"
        return _run(settings, given.control, Path(given.throw_away))
    except (InvalidSettings, LaunchError, EmbeddedEtcdError) as error:
        print(f"apiserver-gateway: {error}", file=sys.stderr)
        return 1


def _run(settings: Settings, control: int, directory: Path) -> int:
    logs.configure(settings.log_format, settings.v, settings.vmodule)
    raise_descriptor_limit()
    write_no_core_files()
    signal.signal(signal.SIGTERM, end_early)
    guard = guard_of(0.0, control, str(directory))  # removes the directory
    move_in(directory)
    with ExitStack() as stack, socket.socket(fileno=control) as requests:
        endpoint = _prepare(settings, stack)
        with contextlib.suppress(BrokenPipeError):  # who asked is gone
            requests.send(f"{endpoint}\n".encode())
        Template(requests, endpoint, _rest(), guard).run()
    return 0


def _prepare(settings: Settings, stack: ExitStack) -> str:
    """Starts the etcd, makes keys and imports what serves requests, side by side; the etcd's endpoint."""
    etcd = EmbeddedEtcd()
    stack.callback(etcd.close)
    with ThreadPoolExecutor(1) as beside:
        started = beside.submit(etcd.start)
        for name in MODULES:
            import_module(name)
        made, _ = identity_of(settings, settings.advertise_address)
        context_of(settings, made.certificate, made.key)  # what OpenSSL looks up for its first one is kept
        started.result()
    settle()
    return etcd.endpoint


def _rest() -> Iterator[Callable[[], object]]:
    """What servers do soon after they have begun to serve, in small pieces."""
    for package in PACKAGES:
        for found in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            yield partial(import_module, found.name)
    from gateway.kinds.builtin import builtin_registry

    yield builtin_registry  # what it makes is kept


def settle() -> None:
    """Keeps the garbage collector from writing to what is shared, and so the interpreter's memory of attributes: each
    name that it forgets would be written to.
    """
    gc.collect()
    gc.freeze()
    if forget := getattr(sys, "_clear_internal_caches", None) or getattr(sys, "_clear_type_cache", None):
        forget()
