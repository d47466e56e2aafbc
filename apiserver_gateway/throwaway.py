"""The directory of a throw-away server. The server makes it, so that there is none without somebody who removes it."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path

LOG = "server.log"
PATIENCE = 5.0  # seconds: what is killed may write for a moment
LONGEST = 60  # bytes of a path in which a directory of sockets has room


def new_place() -> Path:
    """Where a directory may be made; nobody can guess its name."""
    import tempfile

    return Path(tempfile.gettempdir(), f"api-server-{secrets.token_hex(6)}")


def move_in(directory: Path) -> None:
    """Makes the directory where it is missing; what this process prints goes into a log there, and so do its temporary
    files. Raises OSError.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = os.open(directory / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for printed in (1, 2):
        os.dup2(log, printed)
    os.close(log)
    if len(os.fsencode(directory)) <= LONGEST:
        import tempfile

        tempfile.tempdir = str(directory)


def remove(directory: Path, patience: float = PATIENCE) -> None:
    """Removes it with all that is in it, also where others just write there."""
    import shutil

    deadline = time.monotonic() + patience
    shutil.rmtree(directory, ignore_errors=True)
    while directory.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
        shutil.rmtree(directory, ignore_errors=True)
