"""Encryption configurations, and the values that etcd stores under them."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

from storage.etcd import EtcdClient, EtcdSettings

SECRETS = {name: base64.b64encode(name.encode() * 32)[:44].decode() for name in ("a", "b")}
"""Keys of 32 bytes by name."""


def raw(endpoint: str, key: str) -> bytes:
    """The value that etcd stores under a key; b"" if there is none."""

    async def get() -> bytes:
        async with EtcdClient(EtcdSettings((endpoint,), timeout=60)) as client:
            found = await client.get(key.encode())
            return b"" if found is None else found.value

    return asyncio.run(get())


def by_key(kind: str, *names: str) -> dict[str, Any]:
    """The configuration of a provider with static keys."""
    return {kind: {"keys": [{"name": name, "secret": SECRETS[name]} for name in names]}}


def kms(name: str, socket: Path) -> dict[str, Any]:
    """The configuration of a KMS provider at a socket."""
    return {"kms": {"apiVersion": "v2", "name": name, "endpoint": f"unix://{socket}", "timeout": "20s"}}


IDENTITY: dict[str, Any] = {"identity": {}}


def configured(path: Path, *providers: dict[str, Any], resources: tuple[str, ...] = ("secrets",)) -> Path:
    """Writes a configuration for some resources. Returns its path."""
    document = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": list(resources), "providers": list(providers)}],
    }
    new = path.with_suffix(".new")
    new.write_text(json.dumps(document))
    new.replace(path)
    return path
