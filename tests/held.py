"""A server whose initial load of objects from etcd waits until a test lets it continue."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from apiserver_gateway.testing import ApiServer

_PROGRAM = """
import asyncio, os, sys
from importlib import import_module
from gateway.commands.cli import main

for place, value in {constants!r}.items():
    name, _, constant = place.rpartition(".")
    getattr(import_module(name), constant)  # it has to be there
    setattr(import_module(name), constant, value)
held = import_module({module!r})
pages, let_go = held.pages, asyncio.Event()
fifo = os.open({fifo!r}, os.O_RDONLY | os.O_NONBLOCK)

async def wait(client, prefix, *given):
    if prefix.endswith({prefix!r}):
        asyncio.get_running_loop().add_reader(fifo, let_go.set)  # somebody has written
        await let_go.wait()
        asyncio.get_running_loop().remove_reader(fifo)
    async for page in pages(client, prefix, *given):
        yield page

held.pages = wait
sys.exit(main(sys.argv[1:]))
"""


class Held(ApiServer):
    """A server that is started once as usual. Its next start waits for the pages that a module loads."""

    def begin(self, module: str, prefix: bytes = b"", constants: Mapping[str, float] = MappingProxyType({})) -> None:
        """Starts the server, and does not wait. Only pages under `prefix` are held; `constants` of modules get other
        values.
        """
        self._fifo = self.directory / "fifo"
        self._fifo.unlink(missing_ok=True)
        os.mkfifo(self._fifo)
        self._held = {"module": module, "prefix": prefix, "constants": dict(constants), "fifo": str(self._fifo)}
        with self._output() as output:
            self._spawn(output)

    def release(self) -> None:
        """Lets the load continue."""
        self._fifo.write_bytes(b"x")

    def finish(self) -> None:
        """Lets the load continue, and waits until the server is ready."""
        self.release()
        self.start()

    def _command(self, control: int) -> list[str]:
        words = super()._command(control)
        fifo: Path | None = getattr(self, "_fifo", None)
        if fifo is None:
            return words
        return [sys.executable, "-c", _PROGRAM.format(**self._held), *words[words.index("serve") :]]
