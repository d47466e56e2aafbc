"""Etcds with a past: the recordings expect that revision 1 is gone, and numbers that are no other number."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings

# Revisions before a run. In messages the runner takes each number that equals a resourceVersion for one. A server that
# begins at 200 has the numbers of HTTP, sizes and hexadecimal bytes. No recording has a number of 21 000 to 27 000.
AGE, AT_ONCE = 21_000, 60


@contextmanager
def past() -> Iterator[Path]:
    """The data of an etcd that has AGE revisions, which are compacted. They are removed at the end of the block."""
    with EmbeddedEtcd() as etcd:
        asyncio.run(_age(etcd.endpoint))
        etcd.stop()
        yield etcd.data_dir / "member"


def aged(begun: ExitStack, data: Path) -> str:
    """The endpoint of a new etcd with a copy of the data. It ends with `begun`."""
    etcd = EmbeddedEtcd()
    shutil.copytree(data, etcd.data_dir / "member")
    return begun.enter_context(etcd).endpoint


async def _age(endpoint: str) -> None:
    async def puts() -> None:
        for _ in range(AGE // AT_ONCE):
            await client.put(b"/past", b"")

    async with EtcdClient(EtcdSettings((endpoint,), timeout=60)) as client:
        await asyncio.gather(*(puts() for _ in range(AT_ONCE)))
        await client.compact(await client.revision())
