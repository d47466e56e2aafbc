"""Stores an encrypted identity in etcd unless there is one, and prints the stored one. Runs as a separate process.

`python -m gateway.credentials.identity_exchange` takes a JSON object on standard input: "etcd" (the fields of
EtcdSettings), "key", "server" (a process ID), and "proposal" in base64. It prints the stored value on standard output,
or an error as one line on standard error.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from base64 import b64decode
from pathlib import Path

from storage.errors import NoSpace, StorageError, Unavailable
from storage.etcd import EtcdClient, EtcdSettings
from storage.etcd.permanent_errors import hopeless, tls_trouble

TLS_CHECK_INTERVAL = 30.0  # seconds of waiting for etcd before each check for TLS errors
PAUSE = 0.5  # seconds between attempts


async def exchange(settings: EtcdSettings, key: bytes, proposal: bytes, server: int) -> bytes:
    """Returns the value of the key in etcd. Without one, stores and returns
    `proposal`. Waits for etcd while the process with the ID `server` runs. Raises StorageError for lasting errors.
    """
    deadline = time.monotonic() + TLS_CHECK_INTERVAL
    async with EtcdClient(settings) as client:
        while True:
            try:
                await client.compare()
                found = await client.get(key)  # first, since an etcd without space answers reads only
                if found is not None:
                    return found.value
                await client.create(key, proposal)
                continue
            except Unavailable as error:
                if not _runs(server):
                    raise
                if time.monotonic() > deadline:
                    deadline = time.monotonic() + TLS_CHECK_INTERVAL
                    if wrong := await tls_trouble(settings):
                        raise Unavailable(wrong) from None
                if hopeless(error):
                    raise
            await asyncio.sleep(PAUSE)


def _runs(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


def main() -> int:
    question = json.load(sys.stdin)
    etcd = question["etcd"]
    named = [etcd.pop(name) for name in ("ca_file", "cert_file", "key_file")]
    ca, certificate, private = (Path(name) if name else None for name in named)
    settings = EtcdSettings(tuple(etcd.pop("endpoints")), ca, certificate, private, **etcd)
    try:
        key, proposal = question["key"].encode(), b64decode(question["proposal"])
        held = asyncio.run(exchange(settings, key, proposal, question["server"]))
    except StorageError as error:
        remedy = f": {error.REMEDY}" if isinstance(error, NoSpace) else ""
        print(hopeless(error) or f"{error}{remedy}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(held)
    return 0


if __name__ == "__main__":
    sys.exit(main())
