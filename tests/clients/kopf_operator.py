"""A kopf operator in a thread of the tests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import kopf

from apiserver_gateway.testing import ApiServer

PATIENCE = 90  # seconds


@contextmanager
def running(server: ApiServer, registry: kopf.OperatorRegistry, namespace: str) -> Iterator[None]:
    """Runs the handlers of a registry as the administrator, in one namespace."""
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.process.ultimate_exiting_timeout = None  # it must not end this process

    @kopf.on.login(registry=registry)
    def login(**_: Any) -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(server=server.url, ca_path=str(server.ca_file), token=server.token)

    ready, stop = threading.Event(), threading.Event()

    def run() -> None:
        asyncio.run(
            kopf.operator(
                registry=registry,
                settings=settings,
                namespaces=[namespace],
                standalone=True,
                ready_flag=ready,
                stop_flag=stop,
            )
        )

    thread = threading.Thread(target=run, name="operator")
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        yield
    finally:
        stop.set()
        thread.join(PATIENCE)
    assert not thread.is_alive()
