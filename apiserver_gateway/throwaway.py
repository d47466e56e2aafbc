"""The directory of a throw-away server. The server itself makes it, so that no directory is left over by a test that
ends before its server starts.
"""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path

LOG = "server.log"
REMOVE_TIMEOUT = 5.0  # seconds: processes that were killed may write files for a moment
LONGEST = 60  # bytes of a path; unix sockets need short paths, so temporary files of a longer one stay elsewhere


def new_place() -> Path:
    """A path for a new directory; its name cannot be guessed."""
    import tempfile

    return Path(tempfile.gettempdir(), f"api-server-{secrets.token_hex(6)}")


def move_in(directory: Path) -> None:
    """Makes the directory if it is missing, and redirects standard output and standard error of this process to a log
    there. If its path is short enough, temporary files are made there too. Raises OSError.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = os.open(directory / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for printed in (1, 2):
        os.dup2(log, printed)
    os.close(log)
    if len(os.fsencode(directory)) <= LONGEST:
        import tempfile

        tempfile.tempdir = str(directory)


def remove(directory: Path, patience: float = REMOVE_TIMEOUT) -> None:
    """Removes a directory with its content. Tries again for `patience` seconds if processes still write there."""
    import shutil

    deadline = time.monotonic() + patience
    shutil.rmtree(directory, ignore_errors=True)
    while directory.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
        shutil.rmtree(directory, ignore_errors=True)
