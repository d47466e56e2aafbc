"""Servers that are forked, for tests that are not about a server's start: a start consists mostly of imports.

Each server is a process with its own etcd, port, token and directory, like those of `apiserver_gateway.testing`. The
servers of one pytest-xdist process share imported modules, the CA, and the keys that sign tokens. Tests about the
start, processes, memory or delays of the event loop use servers that are not forked.
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
    """Like `apiserver_gateway.testing.api_server`, for a third of the CPU time."""
    if sys.platform != "linux":
        with testing.api_server(*flags, etcd_servers=etcd_servers) as server:
            yield server
        return
    if not _pools:
        _pools.append(_held.enter_context(Pool(own_etcd=True, ahead=0)))
    with _pools[0].server(*flags, etcd_servers=etcd_servers) as server:
        yield server


def end() -> None:
    """Ends the process that servers are forked from, and its remaining servers."""
    _pools.clear()
    _held.close()
