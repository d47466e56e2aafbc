"""Writes files that other processes read: in one step, and with their final mode."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replaces a file in one step: readers see the old or the new one, each with its mode. Raises OSError.

    A path that is not a regular file (a pipe, /dev/stdout) is written to directly. A file that cannot be replaced
    (EBUSY: a container mounts the file itself) gets its mode first, then its content.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    path = path.resolve()
    temporary = _temporary(path, content, mode)
    try:
        temporary.replace(path)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        path.chmod(mode)
        path.write_bytes(content)
    finally:
        temporary.unlink(missing_ok=True)


def create_file(path: Path, content: bytes, mode: int = 0o600) -> bool:
    """Writes a file in one step. Returns False, and writes nothing, if the path exists. Raises OSError."""
    temporary = _temporary(path, content, mode)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    return True


def words(error: OSError, path: Path | None = None) -> str:
    """One line with the path of a file and the error of the operation. `path` is the file that the caller named."""
    place = error.filename or path
    reason = (
        "is not a directory"
        if isinstance(error, FileExistsError | NotADirectoryError)
        else error.strerror or str(error)
    )
    if path is not None and str(place) != str(path) and str(place).startswith(str(path.parent)):
        place = path  # the name of a temporary file would tell the reader nothing
    return f"{place}: {reason}" if place else reason


def check_writable(path: Path) -> None:
    """Raises OSError if `replace_file` could not write `path`. Makes the directory if it is missing."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.is_file():
        _temporary(path.resolve(), b"", 0o600).unlink()


def look_writable(path: Path) -> None:
    """As `check_writable`, but makes no file and no directory. Raises OSError."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    place = path.absolute().parent
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
    if not os.access(place, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Holds an exclusive lock on a directory (flock) during the block. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _temporary(path: Path, content: bytes, mode: int) -> Path:
    """A new file beside `path`. Until it gets `mode`, only its owner can read it (mkstemp)."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.chmod(mode)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    return temporary
