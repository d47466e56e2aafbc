"""Names that resolve slowly, or never, keep no thread of the server and of other control planes busy."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Sequence

import pytest

from gateway.clusters.lookups import ClusterLookups, Lookups
from gateway.outbound.client import Client
from gateway.outbound.errors import CallError
from gateway.outbound.names import AddressInfo, resolved
from gateway.outbound.request import OutboundRequest
from gateway.outbound.sockets import Bounds
from gateway.outbound.target import Target

FOUND: AddressInfo = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.7", 0))


class NameServer:
    """Answers for no name that begins with "slow" until it is told to, and for none that begins with "no"."""

    def __init__(self) -> None:
        self.asked, self.answer = list[str](), threading.Event()
        self._loop, self._changed = asyncio.get_running_loop(), asyncio.Event()

    def look_up(self, host: str) -> Sequence[AddressInfo]:
        self.asked.append(host)
        self._loop.call_soon_threadsafe(self._changed.set)
        if host.startswith("slow"):
            self.answer.wait(60)
        if host.startswith("no"):
            raise socket.gaierror(socket.EAI_NONAME, "no such host")
        return [FOUND]

    async def until_asked(self, number: int) -> None:
        while len(self.asked) < number:
            self._changed.clear()
            await self._changed.wait()


@pytest.fixture
async def names() -> Iterator[NameServer]:  # type: ignore[misc]
    made = NameServer()
    yield made
    made.answer.set()


async def test_slow_names_of_a_control_plane_hold_up_nobody_else(names: NameServer) -> None:
    lookups = Lookups(names.look_up)
    busy, other = ClusterLookups(lookups), ClusterLookups(lookups)
    hanging = [asyncio.create_task(busy(f"slow{number}.example", 443)) for number in range(50)]
    await names.until_asked(2)
    assert await other("quick.example", 443) == [(*FOUND[:4], ("10.0.0.7", 443))]
    assert (await resolved("localhost", 443))[0][4][1] == 443
    assert await busy("10.1.2.3", 80)  # an address needs no thread
    assert names.asked == ["slow0.example", "slow1.example", "quick.example"]
    names.answer.set()
    await asyncio.gather(*hanging)
    assert len(names.asked) == 51


async def test_all_control_planes_together_have_a_few_threads(names: NameServer) -> None:
    lookups = Lookups(names.look_up, 3, 2)
    planes = [ClusterLookups(lookups) for _ in range(5)]
    hanging = [asyncio.create_task(each(f"slow{at}.example", None)) for at in range(3) for each in planes]
    await names.until_asked(5)
    await asyncio.wait(hanging, timeout=0)
    assert lookups.threads.locked() and lookups.second.locked() and len(names.asked) == 5
    names.answer.set()
    await asyncio.gather(*hanging)
    assert not lookups.threads.locked() and not lookups.second.locked()


async def test_control_planes_whose_names_hang_leave_a_thread_to_each_other_one(names: NameServer) -> None:
    lookups = Lookups(names.look_up)
    hostile = [ClusterLookups(lookups) for _ in range(20)]
    hanging = [asyncio.create_task(each(f"slow{at}.example", 1)) for at in range(10) for each in hostile]
    await names.until_asked(20 + 8)
    assert await ClusterLookups(lookups)("quick.example", 443)
    assert lookups.second.locked() and not lookups.threads.locked()
    names.answer.set()
    await asyncio.gather(*hanging)


async def test_control_planes_take_turns_when_all_threads_are_taken(names: NameServer) -> None:
    lookups = Lookups(names.look_up, 1, 1)
    hostile, other = ClusterLookups(lookups), ClusterLookups(lookups)
    hanging = [asyncio.create_task(hostile(f"slow{number}.example", 1)) for number in range(9)]
    await names.until_asked(2)
    asked = asyncio.create_task(other("quick.example", 443))
    await asyncio.wait([asked], timeout=0)
    names.answer.set()
    assert await asked
    assert names.asked.index("quick.example") < 9, "it does not wait for all names of the other one"
    await asyncio.gather(*hanging)


async def test_the_same_name_is_looked_up_once(names: NameServer) -> None:
    plane = ClusterLookups(Lookups(names.look_up))
    asked = [asyncio.create_task(plane("slow.example", port)) for port in (80, 443, None)]
    await names.until_asked(1)
    names.answer.set()
    assert [found[0][4][1] for found in await asyncio.gather(*asked)] == [80, 443, 0]
    assert names.asked == ["slow.example"]
    await plane("slow.example", 80)
    assert len(names.asked) == 2  # nothing is remembered


async def test_a_lookup_that_nobody_waits_for_keeps_its_thread_until_it_is_done(names: NameServer) -> None:
    lookups = Lookups(names.look_up, 1, 0)
    plane = ClusterLookups(lookups)
    begun = asyncio.create_task(plane("slow.example", 80))
    await names.until_asked(1)
    waiting = asyncio.create_task(plane("quick.example", 80))
    given_up = asyncio.create_task(plane("other.example", 80))
    await asyncio.wait([waiting, given_up], timeout=0)
    for each in (begun, given_up):
        each.cancel()
    await asyncio.wait([begun, given_up])
    assert lookups.threads.locked() and names.asked == ["slow.example"]
    again = asyncio.create_task(plane("slow.example", 80))
    names.answer.set()
    assert await again and await waiting
    assert names.asked == ["slow.example", "quick.example"]


@pytest.mark.parametrize("host", ["no.example", "no\0.example", "no." + "x" * 64])
async def test_what_has_no_address_is_an_error(names: NameServer, host: str) -> None:
    with pytest.raises((OSError, ValueError)):
        await ClusterLookups(Lookups(names.look_up))(host, 80)


async def test_a_failed_lookup_of_a_call_is_not_done_again_for_its_message(names: NameServer) -> None:
    bounds = Bounds(lambda address, *, of_host=False: True, ClusterLookups(Lookups(names.look_up)))
    with pytest.raises(CallError, match=r"dial tcp: lookup no\.example: no such host"):
        await Client(bounds=bounds).call(Target("no.example", 80), OutboundRequest("GET", "/"), 60)
    assert names.asked == ["no.example"]
