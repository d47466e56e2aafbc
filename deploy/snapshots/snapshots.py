"""Saves a snapshot of an etcd, and restores one into the data directories of members that do not run.

    snapshots.py backup NAME ENDPOINT          NAME.db in SNAPSHOTS, of one member
    snapshots.py restore NAME DIRECTORY        into DIRECTORY/data, of an etcd with one member
    snapshots.py restore NAME MEMBER=DIRECTORY ...   into MEMBER's DIRECTORY/data, of a cluster of these members

A restore changes nothing until all of it is there: it looks for the snapshot, locks the data of all members, restores
into new directories, and exchanges those with the old ones last. The old data stay as DIRECTORY/data.TIME.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

SNAPSHOTS = Path(os.environ.get("SNAPSHOTS", "/var/lib/snapshots"))
HEALTH_SECONDS = 10  # that an etcd has to answer before a snapshot is asked for
SNAPSHOT_SECONDS = 900
LEAST_BUMP = 1_000_000_000
_CURRENT_DIRECTORY, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of renameat2(2)


class Refused(Exception):
    """Nothing was changed; the message says why, and what to do."""


@dataclass(frozen=True)
class Member:
    """A member of etcd, and the directory that its data directory is in; one that is alone needs no name."""

    name: str
    directory: Path

    @property
    def data(self) -> Path:
        """What etcd is given as --data-dir."""
        return self.directory / "data"

    @property
    def restored(self) -> Path:
        """Where the snapshot is restored first."""
        return self.directory / "restored"

    @property
    def peer(self) -> str:
        """Where other members reach it."""
        return f"http://{self.name}:2380"


def backup(name: str, endpoint: str) -> None:
    """Saves a snapshot as `name`. Raises Refused when etcd does not answer; what was begun is removed then."""
    etcdctl = ["etcdctl", f"--endpoints={endpoint}"]
    asked = subprocess.run([*etcdctl, f"--command-timeout={HEALTH_SECONDS}s", "endpoint", "health"])
    if asked.returncode:
        raise Refused(f"etcd does not answer at {endpoint}: start it, or name another member with BACKUP_FROM")
    path = _path(name)
    saved = subprocess.run([*etcdctl, f"--command-timeout={SNAPSHOT_SECONDS}s", "snapshot", "save", str(path)])
    if saved.returncode:
        path.with_name(f"{path.name}.part").unlink(missing_ok=True)
        raise Refused(f"no snapshot was saved: etcdctl ended with {saved.returncode}")


def restore(name: str, members: list[Member]) -> None:
    """Has the members begin with the snapshot. Raises Refused when it is not there, or while one of them runs."""
    path = _path(name)
    if not path.is_file():
        there = ", ".join(sorted(each.stem for each in SNAPSHOTS.glob("*.db"))) or "none"
        raise Refused(f"there is no snapshot {name}, and nothing was changed; there are: {there}")
    with ExitStack() as locks:
        for member in members:
            _lock(member, locks)
        flags = [f"--bump-revision={_bump(path)}", "--mark-compacted", *_cluster(name, members)]
        for member in members:
            _restore(path, member, flags)
        moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        for member in members:
            _swap(member, moment)


def _path(name: str) -> Path:
    if not name or "/" in name or name.startswith("."):
        raise Refused(f"SNAPSHOT is {name!r}: give the name of a snapshot, without a directory")
    return SNAPSHOTS / f"{name}.db"


def _lock(member: Member, locks: ExitStack) -> None:
    """Takes the lock that etcd holds on its database while it runs, until the end."""
    database = member.data / "member" / "snap" / "db"
    if not database.exists():
        return
    file = locks.enter_context(database.open("rb"))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = f"etcd's member {member.name}" if member.name else "etcd"
        raise Refused(f"{who} runs, and nothing was changed: stop etcd and the gateways first") from None


def _bump(path: Path) -> int:
    """By how much revisions rise: clients have seen none so high, also of an earlier restore of this snapshot."""
    asked = subprocess.run(["etcdutl", "snapshot", "status", "--write-out=json", str(path)], capture_output=True)
    if asked.returncode:
        raise Refused(f"{path} is not a snapshot, and nothing was changed: {asked.stderr.decode().strip()}")
    milliseconds = int(time.time() * 1000)  # etcd makes fewer revisions than that
    return max(LEAST_BUMP, milliseconds - int(json.loads(asked.stdout)["revision"]))


def _cluster(name: str, members: list[Member]) -> list[str]:
    """What the members of a cluster have in common: another cluster than the old one, whose members are refused."""
    if not members[0].name:
        return []
    peers = ",".join(f"{each.name}={each.peer}" for each in members)
    return [f"--initial-cluster={peers}", f"--initial-cluster-token={name}-{time.time_ns()}"]


def _restore(path: Path, member: Member, flags: list[str]) -> None:
    shutil.rmtree(member.restored, ignore_errors=True)  # of a restore that was interrupted
    own = [f"--name={member.name}", f"--initial-advertise-peer-urls={member.peer}"] if member.name else []
    words = ["etcdutl", "snapshot", "restore", str(path), f"--data-dir={member.restored}", *flags, *own]
    if status := subprocess.run(words).returncode:
        shutil.rmtree(member.restored, ignore_errors=True)
        raise Refused(f"the snapshot was not restored, and nothing was changed: etcdutl ended with {status}")
    os.sync()


def _swap(member: Member, moment: str) -> None:
    """Has the restored data take the place of the old ones, which stay beside them."""
    if not member.data.exists():
        member.restored.rename(member.data)
        print(f"{member.data}: restored")
        return
    old = member.directory / f"data.{moment}"
    _exchange(member.restored, member.data)
    member.restored.rename(old)
    print(f"{member.data}: restored; the old data are in {old}")


def _exchange(one: Path, other: Path) -> None:
    """Exchanges two directories at once: there is no moment without data, in which etcd would begin an empty one."""
    rename = ctypes.CDLL(None, use_errno=True).renameat2
    if rename(_CURRENT_DIRECTORY, os.fsencode(one), _CURRENT_DIRECTORY, os.fsencode(other), _EXCHANGE):
        number = ctypes.get_errno()
        raise Refused(f"{one} and {other} cannot be exchanged: {os.strerror(number)}")


def _members(words: list[str]) -> list[Member]:
    split = [word.rpartition("=") for word in words]
    return [Member(name, Path(directory)) for name, _, directory in split]


def main(words: list[str]) -> int:
    """Does what the words say; returns the exit status."""
    try:
        match words:
            case ["backup", name, endpoint]:
                backup(name, endpoint)
            case ["restore", name, *members] if members:
                restore(name, _members(members))
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except Refused as error:
        print(f"snapshots: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
