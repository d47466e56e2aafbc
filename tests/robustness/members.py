"""Members of an etcd cluster that a test may kill, pause, restore and cut off; also etcdutl."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.embedded import find_binary
from tests.ports import free_ports

START = 120.0  # seconds
ATTEMPTS = 3
UTIL_VARIABLE = "APISERVER_GATEWAY_ETCDUTL"


def etcdutl() -> Path | None:
    """The path of etcdutl: from its environment variable, beside etcd, or on PATH."""
    named, beside = os.environ.get(UTIL_VARIABLE), find_binary().with_name("etcdutl")
    if named or beside.is_file():
        return Path(named) if named else beside
    found = shutil.which("etcdutl")
    return Path(found) if found else None


class Member:
    """One member. It keeps its loopback ports."""

    def __init__(self, directory: Path, name: str) -> None:
        directory.mkdir(exist_ok=True)
        self.name, self.data = name, directory / name
        self.client, self.peer = free_ports(2)
        self.cluster = f"{name}={self.peer_url}"
        self._log = directory / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.client}"

    @property
    def peer_url(self) -> str:
        return f"http://127.0.0.1:{self.peer}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "not running"
        return self._process.pid

    def launch(self) -> None:
        """Starts the member, and does not wait."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    str(find_binary()),
                    *(f"--name={self.name}", f"--data-dir={self.data}", "--unsafe-no-fsync", "--log-level=error"),
                    *(f"--listen-client-urls={self.endpoint}", f"--advertise-client-urls={self.endpoint}"),
                    *(f"--listen-peer-urls={self.peer_url}", f"--initial-advertise-peer-urls={self.peer_url}"),
                    f"--initial-cluster={self.cluster}",
                    *("--heartbeat-interval=50", "--election-timeout=500"),
                    "--backend-batch-limit=1",  # so that a copy of the database has all acknowledged writes
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait(self) -> None:
        """Waits until the member serves, in a cluster with a leader."""
        deadline = time.monotonic() + START
        while True:
            try:
                with urllib.request.urlopen(f"{self.endpoint}/health", timeout=5) as answer:
                    if b'"true"' in answer.read():
                        return
            except (OSError, urllib.error.HTTPError):
                pass
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} does not serve: {self._log.read_text(errors='replace')[-1000:]}")
            time.sleep(0.02)

    def start(self) -> None:
        self.launch()
        self.wait()

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def pause(self) -> None:
        """Pauses the member: its connections stay open, and it answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def save(self, backup: Path) -> None:
        """Saves a snapshot of the data. The member is stopped for that, and started again."""
        self.kill()
        shutil.copy(self.data / "member" / "snap" / "db", backup)
        self.start()

    def restore(self, backup: Path, *flags: str) -> None:
        """Restores a snapshot by `etcdutl snapshot restore`, and starts the member."""
        self.kill()
        shutil.rmtree(self.data)
        subprocess.run(
            [
                *(str(etcdutl()), "snapshot", "restore", str(backup), "--skip-hash-check", f"--name={self.name}"),
                *(f"--data-dir={self.data}", f"--initial-advertise-peer-urls={self.peer_url}"),
                *(f"--initial-cluster={self.cluster}", *flags),
            ],
            check=True,
            capture_output=True,
        )
        self.start()


@contextmanager
def cluster(directory: Path, members: int) -> Iterator[list[Member]]:
    """Members that serve; they are removed at the end of the block."""
    found: list[Member] = []
    try:
        for attempt in range(ATTEMPTS):
            found = [Member(directory / str(attempt), f"m{number}") for number in range(members)]
            try:
                _start(found)
                break
            except TimeoutError:
                if attempt == ATTEMPTS - 1:
                    raise
                for member in found:
                    member.kill()
        yield found
    finally:
        for member in found:
            member.kill()


def _start(members: list[Member]) -> None:
    """Raises TimeoutError if the members do not serve: another process may have taken a port."""
    for member in members:
        member.cluster = ",".join(f"{each.name}={each.peer_url}" for each in members)
    for member in members:
        member.launch()
    for member in members:
        member.wait()
