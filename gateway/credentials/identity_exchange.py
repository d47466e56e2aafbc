"""Puts a sealed identity into etcd unless there is one, and says which is there. A process of its own.

`python -m gateway.credentials.identity_exchange` takes a JSON object on standard input: "etcd" (the fields of
EtcdSettings), "key", and "proposal" in base64. What etcd holds comes out on standard output; what is wrong as a line on
standard error.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from base64 import b64decode
from pathlib import Path

from storage.errors import StorageError, Unavailable
from storage.etcd import EtcdClient, EtcdSettings
from storage.etcd.waiting import hopeless, tls_trouble

PATIENCE = 30.0  # seconds of waiting for etcd
PAUSE = 0.5  # seconds between attempts


async def exchange(settings: EtcdSettings, key: bytes, proposal: bytes) -> bytes:
    """What etcd holds under the key, `proposal` if it held nothing. Waits a while for etcd; raises StorageError."""
    deadline = time.monotonic() + PATIENCE
    async with EtcdClient(settings) as client:
        while True:
            try:
                await client.create(key, proposal)
                found = await client.get(key)
                if found is not None:
                    return found.value
            except Unavailable as error:
                if time.monotonic() > deadline:
                    raise Unavailable(await tls_trouble(settings) or str(error)) from None
            await asyncio.sleep(PAUSE)


def main() -> int:
    question = json.load(sys.stdin)
    etcd = question["etcd"]
    named = [etcd.pop(name) for name in ("ca_file", "cert_file", "key_file")]
    ca, certificate, private = (Path(name) if name else None for name in named)
    settings = EtcdSettings(tuple(etcd.pop("endpoints")), ca, certificate, private, **etcd)
    try:
        held = asyncio.run(exchange(settings, question["key"].encode(), b64decode(question["proposal"])))
    except StorageError as error:
        print(hopeless(error) or str(error), file=sys.stderr)
        return 1
    sys.stdout.buffer.write(held)
    return 0


if __name__ == "__main__":
    sys.exit(main())
