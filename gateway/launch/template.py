"""A process that has imported the server's modules, and forks a server for each request. The servers share its memory.

The process that started the template (the starter) sends it requests over a socket. Each is a JSON message:

    {"serve": ["--secure-port=0", …]}   forks a server with these flags. A socket comes with the message: it becomes the
                                        server's --control-fd. The template writes `pid N` to it first, and `exit
                                        STATUS` when the server has ended.
    {"forget": "/prefix"}               removes the keys of a server that has ended from etcd, which all servers share

Neither threads nor gRPC survive a fork. So no etcd client may be made here, and the thread that starts etcd has ended
before the first request. When the starter closes the socket, the servers are killed and their directory is removed.
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
from gateway.launch.stop_guard import StopGuard
from gateway.observability import logs
from gateway.settings.command_line import read_flags, settings_of
from gateway.settings.config import InvalidSettings, Settings
from storage.embedded import EmbeddedEtcd, EmbeddedEtcdError
from storage.embedded.member import LocalConnection

logger = logging.getLogger(__name__)

LONGEST = 1 << 17  # bytes of a request
MODULES = (  # the modules that servers import before they are ready
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
PACKAGES = (  # packages; servers import their modules soon after they are ready, or with the first requests
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


class ServerTemplate:
    """Forks servers. To be made in a process without threads, as these do not survive a fork."""

    def __init__(
        self, control: socket.socket, etcd: str, rest: Iterator[Callable[[], object]], guard: StopGuard
    ) -> None:
        """Requests come from `control`; `etcd` is the endpoint of the etcd that all servers share.

        `rest` yields pieces of work for later servers, such as imports; they are done while no request waits. `guard`
        has to live as long as the template, so the template keeps a reference.
        """
        self._control, self._etcd, self._rest, self._guard = control, etcd, rest, guard
        self._servers: dict[int, int] = {}  # the control socket of each running server, by its process id
        self._woken, self._wake = os.pipe()
        self._idle = False

    def run(self) -> None:
        """Handles requests until the starter closes its end of the socket; then kills all servers."""
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
        """Waits for a request or for the end of a server, and handles it. False if the starter has closed its end."""
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
            except ConnectionResetError:  # the starter closed its end before it had read all that we sent
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
        """Writes `exit STATUS` to the control socket of each server that has ended."""
        for server, control in list(self._servers.items()):
            ended, status = os.waitpid(server, os.WNOHANG)
            if ended:
                _tell(control, f"exit {os.waitstatus_to_exitcode(status)}\n")
                os.close(control)
                del self._servers[server]

    def _forget(self, prefix: str) -> None:
        """Removes all keys under a prefix. Uses etcd's JSON gateway, because gRPC does not survive a fork."""
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
    with contextlib.suppress(OSError):  # the other end is closed
        os.write(control, line.encode())


def _serve(words: Sequence[str]) -> int:
    """Runs a server in a process that was just forked, and returns the exit status. Errors go to standard error."""
    try:
        given = read_flags(words)
        if given.throw_away:
            move_in(Path(given.throw_away))  # first, so that errors in the settings go to the log there
        return launch(settings_of(given, os.environ), given.control, given.throw_away, guarded=False)
    except (InvalidSettings, LaunchError) as error:
        print(f"apiserver-gateway: {error}", file=sys.stderr)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except BaseException:
        logger.exception("a server failed")
    return 1


def run(words: Sequence[str]) -> int:
    """Runs a template, with these flags of `serve`, until the starter closes the socket. Returns the exit status.

    When the template is ready, it sends a line with the endpoint of the etcd. An error is printed as one line on
    standard error; the exit status is then 1.
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
    guard = guard_of(0.0, control, str(directory))  # it removes the directory at the end
    move_in(directory)
    with ExitStack() as stack, socket.socket(fileno=control) as requests:
        endpoint = _prepare(settings, stack)
        with contextlib.suppress(BrokenPipeError):  # the starter has ended
            requests.send(f"{endpoint}\n".encode())
        ServerTemplate(requests, endpoint, _rest(), guard).run()
    return 0


def _prepare(settings: Settings, stack: ExitStack) -> str:
    """Starts etcd in a thread; meanwhile imports MODULES and makes keys. Returns the endpoint of the etcd."""
    etcd = EmbeddedEtcd()
    stack.callback(etcd.close)
    with ThreadPoolExecutor(1) as beside:
        started = beside.submit(etcd.start)
        for name in MODULES:
            import_module(name)
        made, _ = identity_of(settings, settings.advertise_address)
        context_of(settings, made.certificate, made.key)  # it fills OpenSSL's caches, which forks inherit
        started.result()
    settle()
    return etcd.endpoint


def _rest() -> Iterator[Callable[[], object]]:
    """Yields small pieces of work that servers do soon after their start: imports, and the built-in registry."""
    for package in PACKAGES:
        for found in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            yield partial(import_module, found.name)
    from gateway.kinds.builtin import builtin_registry

    yield builtin_registry  # its result is cached


def settle() -> None:
    """Avoids writes to the memory that forks share, since a page is copied when it is written to.

    The garbage collector leaves frozen objects alone. The interpreter's attribute cache is cleared now: to replace an
    entry later changes the reference count of its name.
    """
    gc.collect()
    gc.freeze()
    if forget := getattr(sys, "_clear_internal_caches", None) or getattr(sys, "_clear_type_cache", None):
        forget()
