"""An etcd with a past: the recordings expect that revision 1 is gone, and numbers that are no other number."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings

# Revisions before a run. In messages the runner takes each number that equals a resourceVersion for one. A server that
# begins at 200 has the numbers of HTTP, sizes and hexadecimal bytes. No recording has a number of 21 000 to 27 000.
AGE, AT_ONCE = 21_000, 60


def aged(begun: ExitStack) -> str:
    """The endpoint of a new etcd that has AGE revisions, which are compacted. It ends with `begun`."""
    etcd = begun.enter_context(EmbeddedEtcd())
    asyncio.run(_age(etcd.endpoint))
    return etcd.endpoint


async def _age(endpoint: str) -> None:
    async def puts() -> None:
        for _ in range(AGE // AT_ONCE):
            await client.put(b"/past", b"")

    async with EtcdClient(EtcdSettings((endpoint,), timeout=60)) as client:
        await asyncio.gather(*(puts() for _ in range(AT_ONCE)))
        await client.compact(await client.revision())
