"""Servers with shorter waits than usual, for tests of what happens after such a wait."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from apiserver_gateway.testing import ApiServer

_PROGRAM = """
import sys
from importlib import import_module
from gateway.commands.cli import main

for place, value in {pauses!r}.items():
    module, _, name = place.rpartition(".")
    getattr(import_module(module), name)  # it has to be there
    setattr(import_module(module), name, value)
sys.exit(main(sys.argv[1:]))
"""


class Hasty(ApiServer):
    """A server in which some constants of modules ("gateway.reading.watch_stream.RETRY") have other values."""

    def __init__(
        self, directory: Path, pauses: Mapping[str, float], flags: Sequence[str] = (), etcd_servers: str = ""
    ) -> None:
        super().__init__(directory, flags, etcd_servers)
        self._pauses = dict(pauses)

    def _command(self, control: int) -> list[str]:
        words = super()._command(control)
        return [*program(self._pauses), *words[words.index("serve") :]]


def program(pauses: Mapping[str, float]) -> list[str]:
    """The program to call instead of `apiserver-gateway`."""
    return [sys.executable, "-c", _PROGRAM.format(pauses=dict(pauses))]


@contextmanager
def hasty(pauses: Mapping[str, float], *flags: str, etcd_servers: str = "") -> Iterator[Hasty]:
    """Like `api_server`, with other values of constants."""
    with tempfile.TemporaryDirectory(prefix="api-server-") as directory:
        server = Hasty(Path(directory), pauses, flags, etcd_servers)
        server.start()
        try:
            yield server
        finally:
            server.stop()
