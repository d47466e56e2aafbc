"""Makes a template of a control plane's objects at one revision, for control planes that name it as spec.template."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gateway.clusters.templates import ClusterTemplate, template_of
from gateway.jsontypes import loads
from storage.errors import StorageError
from storage.etcd import EtcdClient
from storage.load import load
from storage.unowned_objects import raw_of

MOST = 64 << 20  # bytes of keys and values

Pair = tuple[bytes, bytes]

PASSING = b"apiserver-gateway/", b"events/"
"""Objects that only concern the control plane itself, or that expire."""
_LEFT_OUT = *PASSING, b"leases/"
"""Keys that begin so, below the prefix of a control plane, are not copied, because they describe its processes."""
_SECRETS = b"secrets/"
_TOKENS = frozenset({"kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"})


class TooMuch(StorageError):
    """The control plane has more bytes of objects than a template may have."""


async def objects_of(client: EtcdClient, root: bytes, left_out: tuple[bytes, ...]) -> tuple[list[Pair], int]:
    """The keys below the root and the values of a control plane at one revision, and the revision. `client` has the
    seeds of the control plane. Keys that begin with `left_out` are missing. Raises TooMuch, StorageError.
    """
    size = 0

    def kept(key: bytes, value: bytes, _revision: int) -> bytes:
        nonlocal size
        if key.startswith(left_out, len(root)):
            return b""
        size += len(key) - len(root) + len(value)
        if size > MOST:  # before the next page is read
            raise TooMuch(f"it has more than {MOST >> 20} MiB of objects")
        return value

    loaded = await load(client, root, kept)
    found = [(key.removeprefix(root), raw_of(value)) for key, (value, _) in loaded.values.items()]
    return [each for each in found if not each[0].startswith(left_out)], loaded.revision


async def copy_of(client: EtcdClient, root: bytes) -> ClusterTemplate:
    """The template, ready to be written; `client` has the seeds of the control plane. Raises TooMuch, StorageError."""
    found, _ = await objects_of(client, root, _LEFT_OUT)
    return await asyncio.to_thread(_template, found)


def _template(objects: Sequence[Pair]) -> ClusterTemplate:
    """A template in which new uids replace those of these objects, without credentials. It computes the slow parts at
    once.
    """
    kept, uids = [], set[bytes]()
    for key, value in objects:
        obj = loads(value)
        if key.startswith(_SECRETS) and obj.get("type") in _TOKENS:
            continue  # no other control plane accepts it
        kept.append((key, value))
        uids.add(str(obj["metadata"].get("uid", "")).encode())
    template = template_of(kept, uids)
    _ = template.packed, template.digest, template.pieces
    return template
