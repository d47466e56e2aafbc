"""One etcd member as a child process."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from storage.embedded.binary import binary_version, find_binary
from storage.embedded.directory import can_hold_sockets, lock, private_directory, temporary_directory
from storage.embedded.errors import EmbeddedEtcdError, PortTaken
from storage.embedded.words import last_words

# This process starts the shell, and the shell starts etcd. The shell reads from a pipe whose only writing end is in
# this process: when this process ends, for any reason, the shell reads EOF and kills etcd. Unlike a parent-death
# signal, this does not depend on the thread that started etcd, and etcd is guarded from its first moment. The shell
# prints etcd's pid and exits with etcd's status. $1 is a log file; $2 a directory to remove then, or empty.
_GUARD: Final = """
log=$1 doomed=$2; shift 2
umask 077
exec 3<&0
"$@" </dev/null >>"$log" 2>&1 3<&- &
etcd=$!
( read -r _ <&3; trap '' TERM; kill -KILL $etcd; exit 7 ) >/dev/null &
guard=$!
echo $etcd
exec >/dev/null 3<&-
wait $etcd; status=$?
kill $guard; wait $guard
[ $? -eq 7 ] && [ -n "$doomed" ] && rm -rf -- "$doomed"
exit $status
"""


_SOCKETS: Final = "etcd:2379", "etcd:2380"  # for clients and for peers
START_TIMEOUT: Final = 60.0  # seconds: long, for busy machines; an etcd that ends is noticed at once
TRANSACTION_OPERATIONS: Final = 100_000  # limit per transaction of a temporary etcd; etcd's default is 128


class EmbeddedEtcd:
    """One etcd member. A context manager, sync or async: entering starts it, leaving stops it.

    It listens on Unix sockets in its data directory, which only its user can enter; `etcd:2379` is for clients. Without
    `data_dir` it has a temporary directory, which `close` removes, and does not sync its writes to the disk. With
    `loopback` it listens on loopback ports instead: every user of the machine may read and write there. `arguments` are
    added to the command line. etcd ends with this process, even if that is killed. Raises EmbeddedEtcdError for a
    directory that can't be used.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        *,
        binary: Path | None = None,
        arguments: Sequence[str] = (),
        loopback: bool = False,
    ) -> None:
        self.binary = find_binary() if binary is None else binary.absolute()
        self.temporary = data_dir is None
        self.data_dir = temporary_directory() if data_dir is None else private_directory(data_dir)
        self.pid = 0
        self._loopback, self._arguments = loopback, tuple(arguments)
        self._sockets = self.data_dir if can_hold_sockets(self.data_dir) else temporary_directory()
        self._ports: tuple[int, int] | None = None if loopback else (2379, 2380)
        self._lock: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        _instances.add(self)

    @property
    def endpoint(self) -> str:
        """The client URL, as `etcdctl --endpoints` takes it. It stays the same when etcd is started again."""
        assert self._ports is not None, "not started"
        if not self._loopback:
            return f"unix://{self._sockets}/{_SOCKETS[0]}"
        scheme = "https" if any(argument.startswith("--cert-file") for argument in self._arguments) else "http"
        return f"{scheme}://127.0.0.1:{self._ports[0]}"

    def start(self, timeout: float = START_TIMEOUT) -> None:
        """Starts etcd and waits until it serves. Raises EmbeddedEtcdError if etcd ends, or after `timeout` seconds."""
        chosen = self._ports is not None
        for last in (chosen, chosen, True):
            if not chosen:
                self._ports = free_ports()
            try:
                return self._start(time.monotonic() + timeout)
            except PortTaken as error:
                if last:
                    raise EmbeddedEtcdError(str(error)) from None

    def stop(self) -> None:
        """Stops etcd; its acknowledged writes are on disk, and `start` starts it with them."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kills etcd, as a crash would."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Makes etcd hang: connections stay open without answers. On Linux, returns when all threads stand still."""
        os.kill(self.pid, signal.SIGSTOP)
        threads = Path(f"/proc/{self.pid}/task")
        while not all(map(_is_stopped, threads.glob("*/stat"))):
            time.sleep(0.001)

    def resume(self) -> None:
        """Continues etcd after `pause`."""
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """Stops etcd for good and removes its temporary directory."""
        self._end(signal.SIGKILL if self.temporary else signal.SIGTERM)
        self._unlock()
        if doomed := self._doomed():
            shutil.rmtree(doomed, ignore_errors=True)

    def wait(self) -> int:
        """Waits until etcd has ended; returns its exit status."""
        process = self._process
        return 0 if process is None else process.wait()

    def has_data(self) -> bool:
        """Whether its stored data still exists."""
        return (self.data_dir / "member").is_dir()

    def last_words(self) -> str:
        """The reason that etcd ended, from its log, in one line."""
        try:
            with self._log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 16_384))
                return last_words(log.read().decode(errors="replace"))
        except OSError as error:
            return str(error)

    def _doomed(self) -> Path | str:
        """The temporary directory that is removed when etcd ends; "" if there is none."""
        return self._sockets if self.temporary or self._sockets != self.data_dir else ""

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def _log(self) -> Path:
        return self.data_dir / "etcd.log"

    def _command(self) -> list[str]:
        assert self._ports is not None
        tick = 15 if self.temporary else 30  # milliseconds; at 5, an idle etcd took 3 % of a core
        client, peer = self.endpoint, f"http://127.0.0.1:{self._ports[1]}"
        if not self._loopback:
            client, peer = (f"unix://{name}" for name in _SOCKETS)  # relative to the working directory
        command = [
            str(self.binary),
            "--name=embedded",
            f"--data-dir={self.data_dir}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=embedded={peer}",
            # A single member elects itself after one to five ticks. Short ticks make it serve sooner, but cost more
            # work when idle. Five is the least that etcd accepts.
            f"--heartbeat-interval={tick}",
            f"--election-timeout={5 * tick}",
            "--logger=zap",
            "--log-outputs=stderr",
            "--log-level=warn",
        ]
        if self.temporary:
            command.append(f"--max-txn-ops={TRANSACTION_OPERATIONS}")
            if binary_version(self.binary) >= (3, 5, 0):
                command.append("--unsafe-no-fsync")
        return [*command, *self._arguments]

    def _start(self, deadline: float) -> None:
        private_directory(self.data_dir)
        if not self.temporary and self._lock is None:
            self._lock = lock(self.data_dir)
        for name in _SOCKETS:  # etcd 3.4 takes the sockets of a killed etcd for those of a running one
            (self._sockets / name).unlink(missing_ok=True)
        logged = self._log.stat().st_size if self._log.exists() else 0
        with _notify_socket() as (listener, address):
            self._process = subprocess.Popen(
                [
                    "/bin/sh",
                    "-c",
                    _GUARD,
                    "etcd-guard",
                    self._log,
                    self._doomed(),
                    *self._command(),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "NOTIFY_SOCKET": address},
                cwd=self._sockets,
                start_new_session=True,
            )
            assert self._process.stdout is not None
            with self._process.stdout as output:
                self.pid = int(output.readline())
            while not _notified(listener) and not self._is_healthy():
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.kill()
                    said = self._log.read_bytes()[logged:].decode(errors="replace")
                    kind = PortTaken if "address already in use" in said else EmbeddedEtcdError
                    kept = "" if self.temporary else f" (more in {self._log})"
                    raise kind(f"{self.binary} did not start: {last_words(said)}{kept}")

    def _is_healthy(self) -> bool:
        # etcd 3.4 sends the notification only if systemd runs, so its health is polled instead.
        if binary_version(self.binary) >= (3, 5, 0) or self.endpoint.startswith("https"):
            return False
        connection = LocalConnection(self.endpoint)
        try:
            connection.request("GET", "/health")
            return b"true" in connection.getresponse().read()
        except OSError:
            return False
        finally:
            connection.close()

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for sent in (how, signal.SIGKILL):
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, sent)
                    os.kill(self.pid, signal.SIGCONT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)
        assert process.stdin is not None
        process.stdin.close()

    def __enter__(self) -> EmbeddedEtcd:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> EmbeddedEtcd:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)


def _is_stopped(stat: Path) -> bool:
    try:
        return stat.read_text().rpartition(") ")[2].startswith("T")
    except OSError:
        return True


def free_ports() -> tuple[int, int]:
    """Two free loopback ports: for clients and for peers."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


class LocalConnection(http.client.HTTPConnection):
    """HTTP to an endpoint on this machine, also over a Unix socket."""

    def __init__(self, endpoint: str) -> None:
        scheme, _, self._target = endpoint.partition("://")
        super().__init__("localhost" if scheme == "unix" else self._target, timeout=1)
        self._unix = scheme == "unix"

    def connect(self) -> None:
        if not self._unix:
            return super().connect()
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._target)


@contextlib.contextmanager
def _notify_socket() -> Iterator[tuple[socket.socket, str]]:
    """The socket and its address (NOTIFY_SOCKET) on which etcd reports that it is ready (systemd's sd_notify)."""
    with (
        tempfile.TemporaryDirectory(prefix="etcd-") as directory,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener,
    ):
        address = f"{directory}/notify"
        listener.bind(address)
        listener.settimeout(0.05)
        yield listener, address


def _notified(listener: socket.socket) -> bool:
    try:
        return b"READY=1" in listener.recv(256)
    except TimeoutError:
        return False


_instances: weakref.WeakSet[EmbeddedEtcd] = weakref.WeakSet()


def _forget_pipes() -> None:
    """Closes the pipes in a forked child: an open pipe would keep etcd alive after this process ended."""
    for instance in _instances:
        instance._unlock()
        if instance._process is not None and instance._process.stdin is not None:
            os.close(instance._process.stdin.fileno())
            instance._process = None


os.register_at_fork(after_in_child=_forget_pipes)
