"""The key that marks a running restore: it is put before the first key and removed after the last.

While it exists, the prefix may have only a part of the backup, so no server may serve it.
"""

from __future__ import annotations

import json

from storage.errors import StorageError
from storage.etcd import EtcdClient


class RestoreUnfinished(StorageError):
    """The prefix has only a part of a backup; the message says what to do."""


def marker_key(prefix: str) -> bytes:
    """The marker's key; its segment below the prefix belongs to no resource."""
    return f"{prefix}/apiserver-gateway/restoring".encode()


def marker(file: str, revision: int, began: str) -> bytes:
    """The marker's value: JSON with the file's name, its revision, and when the restore began."""
    return json.dumps({"file": file, "revision": revision, "began": began}).encode()


def described(value: bytes) -> str:
    """The marker's value in words, for messages."""
    try:
        found = json.loads(value)
        return f"of {found['file']}, begun at {found['began']}"
    except (ValueError, KeyError, TypeError):
        return "of an unknown file"


async def check_restored(client: EtcdClient, prefix: str) -> None:
    """Raises RestoreUnfinished while the marker exists, StorageError."""
    if (found := await client.get(marker_key(prefix))) is not None:
        raise RestoreUnfinished(
            f"the keys under {prefix} are incomplete: a restore {described(found.value)}, is under way or was "
            f"interrupted; wait until it ends, or run it again"
        )
