"""Makes a template of what a control plane has at one revision, for others that begin with it (spec.template)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gateway.clusters.templates import Template, template_of
from gateway.jsontypes import loads
from storage.errors import StorageError
from storage.etcd import EtcdClient
from storage.loading import load
from storage.unowned import raw_of

MOST = 64 << 20  # bytes of keys and values

_LEFT_OUT = b"apiserver-gateway/", b"events/", b"leases/"
"""What begins so, below the prefix of a control plane, is not copied: it tells of what runs there."""
_SECRETS = b"secrets/"
_TOKENS = frozenset({"kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"})


async def copy_of(client: EtcdClient, root: bytes) -> Template:
    """The template; `client` has the seeds of the control plane. Raises StorageError, also if it has too many bytes."""
    loaded = await load(client, root)
    found = [(key.removeprefix(root), raw_of(value)) for key, (value, _) in loaded.values.items()]
    kept = [(key, value) for key, value in found if not key.startswith(_LEFT_OUT)]
    if sum(len(key) + len(value) for key, value in kept) > MOST:
        raise StorageError(f"the control plane has more than {MOST >> 20} MiB of objects: it cannot be a template")
    return await asyncio.to_thread(_template, kept)


def _template(objects: Sequence[tuple[bytes, bytes]]) -> Template:
    """A template in which new uids stand for those of these objects. Credentials are left out."""
    kept, uids = [], set[bytes]()
    for key, value in objects:
        obj = loads(value)
        if key.startswith(_SECRETS) and obj.get("type") in _TOKENS:
            continue  # nobody else accepts it
        kept.append((key, value))
        uids.add(str(obj["metadata"].get("uid", "")).encode())
    return template_of(kept, uids)
