"""Crashes of etcd."""

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
    """Ends etcd as hard as it can be without losing what it has acknowledged."""
    if hardest(etcd.binary) is signal.SIGKILL:
        etcd.kill()
    else:
        etcd.stop()


def hardest(binary: Path) -> signal.Signals:
    """What ends an etcd of this binary so: those that would lose something by being killed are only stopped."""
    survives = survives_kill(".".join(map(str, binary_version(binary))))
    return signal.SIGKILL if survives else signal.SIGTERM


async def lost(client: EtcdClient) -> None:
    """Until a client knows that its connection has ended: of a write before that nobody knows whether it was made."""
    channel = client._endpoints.current.channel
    async with asyncio.timeout(PATIENCE):
        while (state := channel.get_state()) is ChannelConnectivity.READY:
            await channel.wait_for_state_change(state)
