"""Servers that are forked, for tests that are not about how a server starts: a start is mostly imports.

Each is a process with an etcd, a port, a token and a directory of its own, as one of `apiserver_gateway.testing`. What
those of one process of pytest-xdist share is what was imported, and the CA and the keys that sign tokens. Tests of the
start, of processes, of memory and of the time that an event loop is held take servers that are no forks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from apiserver_gateway import testing
from apiserver_gateway.testing import ApiServer
from apiserver_gateway.testing.pool import Pool

_held = ExitStack()
_pools: list[Pool] = []


@contextmanager
def api_server(*flags: str, etcd_servers: str = "") -> Iterator[ApiServer]:
    """As `apiserver_gateway.testing.api_server`, for a third of the CPU time."""
    if sys.platform != "linux":
        with testing.api_server(*flags, etcd_servers=etcd_servers) as server:
            yield server
        return
    if not _pools:
        _pools.append(_held.enter_context(Pool(own_etcd=True, ahead=0)))
    with _pools[0].server(*flags, etcd_servers=etcd_servers) as server:
        yield server


def end() -> None:
    """Ends the process that servers are forked from, and what is left of them."""
    _pools.clear()
    _held.close()
