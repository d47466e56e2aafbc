"""`apiserver_gateway.testing` for asyncio: the same functions, which run in threads and do not block the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from apiserver_gateway import testing
from apiserver_gateway.testing import ApiServer, Refused, ServerDidNotStart, Snapshot, User, Webhook, condition
from apiserver_gateway.testing.faults import Fault
from apiserver_gateway.testing.requests import REQUEST_TIMEOUT
from apiserver_gateway.testing.webhooks import Review

__all__ = [
    "ApiServer",
    "Refused",
    "ServerDidNotStart",
    "Snapshot",
    "User",
    "Webhook",
    "advance_clock",
    "api_server",
    "ask",
    "condition",
    "fault",
    "install",
    "load",
    "namespace",
    "restore",
    "restored",
    "save",
    "snapshot",
    "user",
    "wait_for",
    "webhook",
]

P = ParamSpec("P")
T = TypeVar("T")


@asynccontextmanager
async def _beside(made: AbstractContextManager[T]) -> AsyncIterator[T]:
    entered = await asyncio.to_thread(made.__enter__)
    try:
        yield entered
    finally:
        await asyncio.shield(asyncio.to_thread(made.__exit__, None, None, None))


@asynccontextmanager
async def api_server(*flags: str, etcd_servers: str = "", version: str = "") -> AsyncIterator[ApiServer]:
    """As `testing.api_server`."""
    async with _beside(testing.api_server(*flags, etcd_servers=etcd_servers, version=version)) as server:
        yield server


@asynccontextmanager
async def namespace(server: ApiServer, prefix: str = "test") -> AsyncIterator[str]:
    """As `testing.namespace`."""
    async with _beside(testing.namespace(server, prefix)) as name:
        yield name


@asynccontextmanager
async def restored(server: ApiServer) -> AsyncIterator[Snapshot]:
    """As `testing.restored`."""
    async with _beside(testing.restored(server)) as before:
        yield before


async def ask(server: ApiServer, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """As `testing.ask`."""
    return await asyncio.to_thread(testing.ask, server, method, path, body)


async def wait_for(
    server: ApiServer, path: str, holds: Callable[[Mapping[str, Any]], bool], timeout: float = REQUEST_TIMEOUT
) -> dict[str, Any]:
    """As `testing.wait_for`; `holds` is called in another thread."""
    return await asyncio.to_thread(testing.wait_for, server, path, holds, timeout)


async def install(server: ApiServer, *definitions: Mapping[str, Any] | str | Path) -> None:
    """As `testing.install`."""
    await asyncio.to_thread(testing.install, server, *definitions)


async def snapshot(server: ApiServer) -> Snapshot:
    """As `testing.snapshot`."""
    return await asyncio.to_thread(testing.snapshot, server)


async def restore(server: ApiServer, to: Snapshot) -> None:
    """As `testing.restore`."""
    await asyncio.to_thread(testing.restore, server, to)


async def save(server: ApiServer, directory: str | Path, *resources: str, blank_secrets: bool = False) -> None:
    """As `testing.save`."""
    await asyncio.to_thread(testing.save, server, directory, *resources, blank_secrets=blank_secrets)


async def load(server: ApiServer, *files: str | Path) -> None:
    """As `testing.load`."""
    await asyncio.to_thread(testing.load, server, *files)


async def advance_clock(server: ApiServer, seconds: float) -> None:
    """As `testing.advance_clock`."""
    await asyncio.to_thread(testing.advance_clock, server, seconds)


async def user(server: ApiServer, name: str, **how: Any) -> User:
    """As `testing.user`."""
    return await asyncio.to_thread(lambda: testing.user(server, name, **how))


@asynccontextmanager
async def fault(server: ApiServer, **ordered: Any) -> AsyncIterator[Fault]:
    """A fault for the duration of the block. `ordered` are the parameters of `server.faults.add`; with `chaos=SEED`,
    those of `server.faults.chaos`.
    """
    seed = ordered.pop("chaos", None)
    faults = server.faults
    made = await asyncio.to_thread(
        lambda: faults.add(**ordered) if seed is None else faults.chaos(seed, **ordered),
    )
    async with _beside(made) as entered:
        yield entered


@asynccontextmanager
async def webhook(
    server: ApiServer,
    review: Review,
    *resources: str,
    operations: Sequence[str] = ("CREATE", "UPDATE"),
    mutating: bool = False,
    **fields: Any,
) -> AsyncIterator[Webhook]:
    """As `testing.webhook`; `review` is called in another thread."""
    hook = testing.webhook(server, review, *resources, operations=operations, mutating=mutating, **fields)
    async with _beside(hook) as served:
        yield served
