"""What etcd holds, and by which configuration."""

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
    """The value of a key as etcd holds it; empty for none."""

    async def get() -> bytes:
        async with EtcdClient(EtcdSettings((endpoint,), timeout=60)) as client:
            found = await client.get(key.encode())
            return b"" if found is None else found.value

    return asyncio.run(get())


def by_key(kind: str, *names: str) -> dict[str, Any]:
    """A provider with keys."""
    return {kind: {"keys": [{"name": name, "secret": SECRETS[name]} for name in names]}}


def kms(name: str, socket: Path) -> dict[str, Any]:
    """A provider behind a socket."""
    return {"kms": {"apiVersion": "v2", "name": name, "endpoint": f"unix://{socket}", "timeout": "20s"}}


IDENTITY: dict[str, Any] = {"identity": {}}


def configured(path: Path, *providers: dict[str, Any], resources: tuple[str, ...] = ("secrets",)) -> Path:
    """Writes a configuration for some resources."""
    document = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": list(resources), "providers": list(providers)}],
    }
    new = path.with_suffix(".new")
    new.write_text(json.dumps(document))
    new.replace(path)
    return path
