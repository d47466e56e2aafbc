"""Metrics of all processes of a server with --workers: each sends its values to the others over a unix socket.

So counting needs no shared memory, and requests stay fast; a scrape waits for the answers of the other processes.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import orjson

from gateway.http.thread_pool import beside
from storage.instruments.snapshot import FamilySnapshot, Sample, snapshots, together

logger = logging.getLogger(__name__)

_ANSWER_TIMEOUT = 2.0  # seconds that another process has for its answer
_MOST = 256 << 20  # the most bytes of an answer


class SiblingProcesses:
    """The processes that have sockets in one directory. With None for the directory, there are no other processes."""

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        self._own = None if directory is None else directory / str(os.getpid())

    async def run(self) -> None:
        """Sends this process's values to each process that connects, until cancelled."""
        if self._own is None:
            return
        server = await asyncio.start_unix_server(self._tell, self._own)
        try:
            await server.serve_forever()
        finally:
            with suppress(OSError):
                self._own.unlink()

    async def _tell(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            writer.write(await beside(lambda: orjson.dumps(snapshots(), option=orjson.OPT_NON_STR_KEYS)))
            await writer.drain()
            writer.close()

    async def all(self) -> list[FamilySnapshot]:
        """The values of all processes together, without those of a process that does not answer in time."""
        own = await beside(snapshots)
        if self.directory is None:
            return own
        others = [path for path in self.directory.iterdir() if path != self._own]
        told = await asyncio.gather(*map(_ask, others))
        return await beside(lambda: together([own, *map(_read, told)]))


async def _ask(path: Path) -> bytes:
    try:
        async with asyncio.timeout(_ANSWER_TIMEOUT):
            reader, writer = await asyncio.open_unix_connection(path, limit=_MOST)
            try:
                return await reader.read(-1)
            finally:
                writer.close()
    except ConnectionRefusedError:  # the process was killed, and its socket file is left
        _forget(path)
    except (OSError, TimeoutError) as error:
        logger.warning("another worker did not send its metrics", extra={"pid": path.name, "error": str(error)})
    return b""


def _forget(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _read(told: bytes) -> Sequence[FamilySnapshot]:
    found = []
    for family in orjson.loads(told or b"[]"):
        samples = [
            Sample(
                tuple(each["labels"]),
                each["value"],
                each["counts"],
                {int(bucket): tuple(example) for bucket, example in each["exemplars"].items()},
            )
            for each in family.pop("samples")
        ]
        family["labels"], family["bounds"] = tuple(family["labels"]), tuple(family["bounds"])
        found.append(FamilySnapshot(**family, samples=samples))
    return found
