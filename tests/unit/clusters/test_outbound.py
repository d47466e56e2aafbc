"""A control plane cannot call this host, nor the metadata of a cloud."""

from __future__ import annotations

import asyncio
import socket

import pytest

from gateway.clusters.outbound import OutboundRules
from gateway.outbound.names import resolved
from gateway.outbound.sockets import Bounds, dialled


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "::1", "0.0.0.0", "0.0.0.1", "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"),
        *("169.254.169.254", "fe80::1%eth0", "224.0.0.1", "255.255.255.255", "240.0.0.1"),
        *("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "::ffff:100.100.100.200"),
        *("localhost", ""),
    ],
)  # fmt: skip
def test_addresses_of_hosts_and_clouds_are_refused(address: str) -> None:
    assert not OutboundRules()(address)


@pytest.mark.parametrize("address", ["10.0.0.7", "192.168.1.1", "203.0.114.9", "2606:4700::1", "fd12::1"])
def test_others_are_allowed(address: str) -> None:
    assert OutboundRules()(address)


async def test_a_client_reaches_what_is_allowed() -> None:
    """The source of a connection to an own address is that address, whatever it is."""
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)

    def but_this_host(address: str, *, of_host: bool = False) -> bool:
        return not of_host

    async with server:
        host, port = server.sockets[0].getsockname()
        (await dialled(host, port)).close()
        (await dialled(host, port, Bounds(OutboundRules(["127.0.0.0/8"]), resolved))).close()
        with pytest.raises(PermissionError, match="may not call this address"):
            await dialled(host, port, Bounds(OutboundRules(), resolved))
        with pytest.raises(PermissionError, match="may not call this address"):
            await dialled(host, port, Bounds(but_this_host, resolved))


async def test_nobody_learns_which_ports_of_this_host_are_open() -> None:
    """The address is refused before a connection, which a closed port would refuse in other words, and sooner."""
    accepted = list[object]()
    server = await asyncio.start_server(lambda reader, writer: accepted.append(writer), "127.0.0.1", 0)
    but_this_host = Bounds(lambda address, *, of_host=False: not of_host, resolved)
    async with server:
        host, port = server.sockets[0].getsockname()
        told = []
        for each in (port, closed_port()):
            with pytest.raises(PermissionError) as refused:
                await dialled(host, each, but_this_host)
            told.append(str(refused.value))
        (await dialled(host, port)).close()
        while not accepted:
            await asyncio.sleep(0)
    assert told[0] == told[1] and len(accepted) == 1


def closed_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@pytest.mark.parametrize(("address", "of_host"), [("127.0.0.1", False), ("::ffff:127.0.0.2", True), ("10.1.2.3", True)])
def test_networks_that_are_named_are_allowed(address: str, of_host: bool) -> None:
    assert OutboundRules(["127.0.0.0/8", "10.1.0.0/16"])(address, of_host=of_host)


@pytest.mark.parametrize("address", ["::1", "169.254.169.254", "10.2.0.1"])
def test_no_other_one_of_this_host_is_allowed_then(address: str) -> None:
    assert not OutboundRules(["127.0.0.0/8", "10.1.0.0/16"])(address, of_host=True)
