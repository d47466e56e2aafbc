"""Keeps connections to all members of a cluster, as etcd's own client does.

A channel of gRPC that is not used stays disconnected after its member has ended, and remembers the address that the
member's name had then. A member that is a pod comes back with another one. The first call that needs the channel would
try the old address, where nothing answers, for three to five seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Generic, Protocol, TypeVar

import grpc.aio
from grpc import ChannelConnectivity

log = logging.getLogger(__name__)

_PAUSE = 1.0  # seconds after a failure, and after a connection that was ready for less than this


class ConnectedEndpoint(Protocol):
    """An endpoint with a channel."""

    @property
    def channel(self) -> grpc.aio.Channel: ...


Endpoint = TypeVar("Endpoint", bound=ConnectedEndpoint)


class Connections(Generic[Endpoint]):
    """The connections of several endpoints. That of a single endpoint is made when it is needed."""

    def __init__(self, endpoints: Sequence[Endpoint], changed: Callable[[], None]) -> None:
        """`changed` is called after a connection was lost or made."""
        self._all, self._changed = endpoints, changed
        self._kept: list[asyncio.Task[None]] = []

    def keep(self) -> None:
        """From now on connects all endpoints, and connects them again when they are lost."""
        if not self._kept and len(self._all) > 1:
            self._kept = [asyncio.create_task(self._keep(endpoint.channel)) for endpoint in self._all]

    def next(self, endpoint: Endpoint) -> Endpoint:
        """The next endpoint that is connected; the next one if none is."""
        at = self._all.index(endpoint) + 1
        others = (*self._all[at:], *self._all[: at - 1])
        return next(filter(is_connected, others), others[0] if others else endpoint)

    async def close(self) -> None:
        """Connects nothing anymore."""
        for task in self._kept:
            task.cancel()
        await asyncio.gather(*self._kept, return_exceptions=True)

    async def _keep(self, channel: grpc.aio.Channel) -> None:
        since = float("-inf")  # when it became ready
        while True:
            try:
                state = channel.get_state(try_to_connect=True)
                await channel.wait_for_state_change(state)
                if ChannelConnectivity.READY in (state, now := channel.get_state()):
                    self._changed()
                if now is ChannelConnectivity.READY:
                    since = monotonic()
                elif now is ChannelConnectivity.IDLE and (
                    state is not ChannelConnectivity.READY or monotonic() - since < _PAUSE
                ):  # lost at once; gRPC waits only after a connection that could not be made
                    await asyncio.sleep(_PAUSE)
                    if channel.get_state() is ChannelConnectivity.READY:  # a call has made it meanwhile
                        self._changed()
            except Exception as error:
                log.error("could not follow the connection to an etcd member", extra={"error": repr(error)})
                await asyncio.sleep(_PAUSE)


def is_connected(endpoint: ConnectedEndpoint) -> bool:
    """Whether calls can be sent to the endpoint at once."""
    return endpoint.channel.get_state() is ChannelConnectivity.READY
