"""The directory of an embedded etcd: only its owner may enter it, and only one etcd uses it at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Final

from storage.embedded.errors import EmbeddedEtcdError

LOCK_TIMEOUT: Final = 2.0  # seconds to wait for a process that uses the directory: it may be about to end
ORPHAN_TIMEOUT: Final = 30.0  # seconds to wait for the etcd of a killed process, which ends a moment after it
_LONGEST: Final = 90  # bytes of the path of a directory with sockets; a socket's whole path may have 107 (unix(7))
_PLAIN: Final = re.compile(r"[\w./+=@-]+", re.ASCII)  # needs no escaping in a URL, nor in a list of URLs


def private_directory(path: Path) -> Path:
    """Makes the directory, or sets the mode of an existing one, to 0700. Returns its absolute path.

    Raises EmbeddedEtcdError.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.stat().st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        reason = "it is not a directory" if isinstance(error, FileExistsError | NotADirectoryError) else error.strerror
        raise EmbeddedEtcdError(f"cannot use the data directory {path}: {reason}") from None
    return path.absolute()


def temporary_directory() -> Path:
    """A new directory with mode 0700, whose path is short enough for sockets."""
    base = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="etcd-", dir=base if can_hold_sockets(Path(base, "etcd-")) else "/tmp"))


def can_hold_sockets(path: Path) -> bool:
    """Whether the paths of sockets in that directory need no escaping in URLs, and are short enough for the kernel."""
    return len(os.fsencode(path)) <= _LONGEST and _PLAIN.fullmatch(str(path)) is not None


def lock(directory: Path, patience: float = LOCK_TIMEOUT, orphan: float = ORPHAN_TIMEOUT) -> int:
    """Locks the directory for one etcd, until the returned file descriptor is closed.

    An etcd without the lock also keeps others out. The call waits `patience` seconds for a process that has the
    lock, and `orphan` seconds for an etcd without one. Raises EmbeddedEtcdError, which names the holder.
    """
    began = time.monotonic()
    try:
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise EmbeddedEtcdError(f"cannot use the data directory {directory}: {error.strerror}") from None
    while not ((taken := _take(descriptor)) and _is_free(directory / "member" / "snap" / "db")):
        if time.monotonic() - began > (orphan if taken else patience):
            holder = "another etcd" if taken else f"process {os.pread(descriptor, 20, 0).decode()}"
            os.close(descriptor)
            raise EmbeddedEtcdError(f"the data directory {directory} is in use by {holder}")
        time.sleep(0.02)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_free(database: Path) -> bool:
    """Whether no etcd has this database file open: etcd locks it with flock too."""
    with contextlib.suppress(OSError):
        descriptor = os.open(database, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return _take(descriptor)
        finally:
            os.close(descriptor)
    return True
