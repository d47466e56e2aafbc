"""Crashes of etcd, in the hardest way that loses no acknowledged write."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from grpc import ChannelConnectivity

from storage.embedded import EmbeddedEtcd, binary_version
from storage.etcd import EtcdClient
from storage.versions import survives_kill

PATIENCE = 60.0  # seconds


def crash(etcd: EmbeddedEtcd) -> None:
    """Ends etcd as abruptly as possible without the loss of an acknowledged write."""
    if hardest(etcd.binary) is signal.SIGKILL:
        etcd.kill()
    else:
        etcd.stop()


def hardest(binary: Path) -> signal.Signals:
    """The signal for an etcd binary: a version that would lose writes when killed is only stopped."""
    survives = survives_kill(".".join(map(str, binary_version(binary))))
    return signal.SIGKILL if survives else signal.SIGTERM


async def lost(client: EtcdClient) -> None:
    """Waits until a client knows that its connection has ended. Whether a write before that was stored is unknown."""
    channel = client._endpoints.current.channel
    async with asyncio.timeout(PATIENCE):
        while (state := channel.get_state()) is ChannelConnectivity.READY:
            await channel.wait_for_state_change(state)
