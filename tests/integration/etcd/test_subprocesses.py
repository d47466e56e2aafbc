"""A process that uses the etcd client may start subprocesses."""

from __future__ import annotations

import asyncio
import itertools

import uvloop

from storage.etcd import EtcdClient, EtcdSettings

SUBPROCESSES = 60
WRITERS = 16


def test_a_fork_harms_neither_the_child_nor_the_client(etcd_endpoint: str) -> None:
    """uvloop forks for each subprocess, and gRPC's own fork handlers would kill some of them."""

    async def write(client: EtcdClient, key: bytes) -> None:
        for turn in itertools.count():
            await client.put(key, b"%d" % turn)

    async def start_many() -> list[int]:
        codes = []
        async with EtcdClient(EtcdSettings((etcd_endpoint,), timeout=60)) as client:
            writers = [asyncio.create_task(write(client, b"/fork/%d" % index)) for index in range(WRITERS)]
            for _ in range(SUBPROCESSES):
                process = await asyncio.create_subprocess_exec("/bin/true")
                codes.append(await process.wait())
            assert [writer for writer in writers if writer.done()] == []
            for writer in writers:
                writer.cancel()
            await asyncio.wait(writers)
        return codes

    assert uvloop.run(start_many()) == [0] * SUBPROCESSES
