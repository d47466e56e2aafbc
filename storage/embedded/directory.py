"""The directory of an embedded etcd: its owner's alone, and used by one etcd at a time."""

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

LOCK_PATIENCE: Final = 2.0  # seconds for a process that has the directory: it may be about to end
ORPHAN_PATIENCE: Final = 30.0  # for the etcd of one that was killed: a moment after it, or later on a busy machine
_LONGEST: Final = 90  # bytes of a directory with sockets in it; a socket's whole path may have 107 (unix(7))
_PLAIN: Final = re.compile(r"[\w./+=@-]+", re.ASCII)  # what needs no escaping in a URL nor in a list of them


def private_directory(path: Path) -> Path:
    """Makes the directory, or takes it up, with mode 0700; its absolute path. Raises EmbeddedEtcdError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.stat().st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        reason = "it is no directory" if isinstance(error, FileExistsError | NotADirectoryError) else error.strerror
        raise EmbeddedEtcdError(f"cannot use the data directory {path}: {reason}") from None
    return path.absolute()


def temporary_directory() -> Path:
    """A new directory with mode 0700, whose path is short enough for sockets."""
    base = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="etcd-", dir=base if can_hold_sockets(Path(base, "etcd-")) else "/tmp"))


def can_hold_sockets(path: Path) -> bool:
    """Whether the sockets in that directory can be named in URLs, and are not too long for the kernel."""
    return len(os.fsencode(path)) <= _LONGEST and _PLAIN.fullmatch(str(path)) is not None


def lock(directory: Path, patience: float = LOCK_PATIENCE, orphan: float = ORPHAN_PATIENCE) -> int:
    """Keeps others from running an etcd on that directory, until the descriptor that comes out is closed.

    An etcd that somebody else has started there counts too. A process that has it is waited for for `patience` seconds,
    an etcd alone for `orphan` ones. Raises EmbeddedEtcdError, naming who has it.
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
    """Whether no etcd has this file open: it locks it in the same way."""
    with contextlib.suppress(OSError):
        descriptor = os.open(database, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return _take(descriptor)
        finally:
            os.close(descriptor)
    return True
