"""Waiting for followers to have seen all objects ends with the last object, and not before."""

from __future__ import annotations

import asyncio

from gateway.controllers.delivery_count import DeliveryCount


async def turns() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_what_is_there_when_it_is_asked_is_waited_for() -> None:
    telling = DeliveryCount()
    await telling.reached()
    telling.expected = 3
    first = asyncio.create_task(telling.reached())
    await turns()
    telling.expected = 5
    second = asyncio.create_task(telling.reached())
    await turns()
    telling.count_passed(2)
    await turns()
    assert not first.done()
    telling.count_passed(1)
    await turns()
    assert first.done() and not second.done(), "what came after it asked is nothing to the first"
    telling.count_passed(2)
    await asyncio.wait_for(second, 60)


async def test_one_that_has_given_up_holds_up_nobody() -> None:
    telling = DeliveryCount()
    telling.expected = 1
    gone, waits = (asyncio.create_task(telling.reached()) for _ in range(2))
    await turns()
    gone.cancel()
    await turns()
    telling.count_passed(1)
    await asyncio.wait_for(waits, 60)
