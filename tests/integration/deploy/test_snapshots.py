"""The script deploy/snapshots, which restores the etcd of docker-compose.yml, on a real etcd and without Docker."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage.embedded import binary_version, find_binary
from tests.ports import free_ports
from tests.processes import running, wait_until

PROGRAM = Path(__file__).parents[3] / "deploy" / "snapshots" / "snapshots.py"


class Place:
    """An etcd's directory, the snapshots, and the programs of the container."""

    def __init__(self, directory: Path) -> None:
        etcd = find_binary()
        if binary_version(etcd) < (3, 6, 0):
            pytest.skip("the program is for etcd 3.6")
        path = os.pathsep.join((str(etcd.parent), os.environ["PATH"]))
        if not all(shutil.which(name, path=path) for name in ("etcdctl", "etcdutl")):
            pytest.skip("there are no etcdctl and etcdutl")
        self.directory, self.etcd = directory, etcd
        self.snapshots = directory / "snapshots"
        self.snapshots.mkdir()
        self.environment = {"PATH": path, "SNAPSHOTS": str(self.snapshots)}
        client, peer = (f"http://127.0.0.1:{port}" for port in free_ports(2))
        self.client, self.peer = client, peer

    @contextmanager
    def running(self) -> Iterator[None]:
        """The etcd, which answers."""
        words = [str(self.etcd), f"--data-dir={self.directory / 'data'}", f"--listen-peer-urls={self.peer}"]
        words += [f"--{kind}-client-urls={self.client}" for kind in ("listen", "advertise")]
        log = self.directory / "etcd.log"
        with running(words, {}, log) as process:
            asked = ["etcdctl", f"--endpoints={self.client}", "endpoint", "health"]
            wait_until(lambda: self._run(asked).returncode == 0, process, log)
            yield

    def ctl(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What etcdctl says."""
        return self._run(["etcdctl", f"--endpoints={self.client}", "--command-timeout=60s", *words])

    def do(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs the script."""
        return self._run([sys.executable, "-B", str(PROGRAM), *words])

    def keys(self) -> tuple[set[str], int]:
        """The keys, and the revision."""
        asked = json.loads(self.ctl("get", "", "--prefix", "--keys-only", "--write-out=json").stdout)
        return {base64.b64decode(each["key"]).decode() for each in asked.get("kvs", ())}, asked["header"]["revision"]

    def _run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **self.environment}
        return subprocess.run(words, env=environment, cwd=self.directory, capture_output=True, text=True, timeout=120)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_nothing_is_lost_by_what_is_refused(place: Place) -> None:
    target = str(place.directory)
    with place.running():
        place.ctl("put", "saved", "1")
        assert place.do("backup", "one", place.client).returncode == 0
        place.ctl("put", "later", "1")
        refused = place.do("restore", "one", target)
        assert refused.returncode == 1 and "etcd runs, and nothing was changed" in refused.stderr
        place.ctl("put", "acknowledged", "1")
    for name, why in (("oen", "there are: one"), ("../one", "without a directory"), ("", "without a directory")):
        refused = place.do("restore", name, target)
        assert refused.returncode == 1 and why in refused.stderr
    (place.snapshots / "half.db").write_bytes((place.snapshots / "one.db").read_bytes()[:20_000])
    refused = place.do("restore", "half", target)
    assert refused.returncode == 1 and "nothing was changed" in refused.stderr
    assert sorted(each.name for each in place.directory.glob("*data*")) == ["data"]
    with place.running():
        assert place.keys()[0] == {"saved", "later", "acknowledged"}


def test_each_restore_of_a_snapshot_begins_beyond_the_one_before(place: Place) -> None:
    with place.running():
        place.ctl("put", "saved", "1")
        assert place.do("backup", "one", place.client).returncode == 0
        place.ctl("put", "later", "1")
        last = place.keys()[1]
    for times in (1, 2):
        done = place.do("restore", "one", str(place.directory))
        assert done.returncode == 0 and "the old data are in" in done.stdout, done.stderr
        assert len(list(place.directory.glob("data.*"))) <= times
        with place.running():
            keys, revision = place.keys()
            assert keys == {"saved"} and revision > last
            place.ctl("put", "new", "1")
            last = place.keys()[1]


def test_a_backup_without_etcd_says_so_and_leaves_nothing(place: Place) -> None:
    refused = place.do("backup", "one", place.client)
    assert refused.returncode == 1 and f"etcd does not answer at {place.client}: start it" in refused.stderr
    assert list(place.snapshots.iterdir()) == []


def test_members_are_restored_into_one_new_cluster(place: Place) -> None:
    with place.running():
        place.ctl("put", "saved", "1")
        assert place.do("backup", "one", place.client).returncode == 0
    members = [f"etcd-{number}={place.directory / f'volume-{number}'}" for number in range(3)]
    for number in range(3):
        (place.directory / f"volume-{number}").mkdir()
    done = place.do("restore", "one", *members)
    assert done.returncode == 0, done.stderr
    assert all((place.directory / f"volume-{number}" / "data" / "member" / "wal").is_dir() for number in range(3))
