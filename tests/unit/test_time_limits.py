"""Work that an event loop begins with goes on in a thread once it has taken long."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest
import re2

from gateway.time_limits import TakesLong, at_once, in_thread, look
from gateway.validation.go_regexp import compile_pattern, regexp_problem
from gateway.writing.offload import offloaded


def test_what_looks_in_time_is_done_where_it_was_begun() -> None:
    async def work() -> str:
        at_once(look)
        look()
        return at_once(lambda: threading.current_thread().name)

    assert asyncio.run(work()) == threading.current_thread().name


def _long(then: Callable[[], str]) -> str:
    """What looks again after a time that is too long for an event loop."""
    until = time.monotonic() + 0.03
    while time.monotonic() < until:
        pass
    look()
    return then()


def test_what_looks_later_is_begun_anew_in_a_thread() -> None:
    async def work() -> str:
        with pytest.raises(TakesLong):
            at_once(lambda: _long(lambda: "too late"))
        return await offloaded(0, lambda: _long(lambda: threading.current_thread().name))

    assert asyncio.run(work()) != threading.current_thread().name


def test_nothing_hurries_a_thread_or_what_was_not_begun_so() -> None:
    async def work() -> list[str]:
        here = _long(lambda: "here")
        return [here, await in_thread(lambda: _long(lambda: "there"))]

    assert asyncio.run(work()) == ["here", "there"]


def test_an_event_loop_compiles_few_large_patterns_at_once() -> None:
    compiled = []

    def compile_all() -> None:
        for index in range(100):
            compiled.append(index)
            assert compile_pattern(rf"\pL{{1,30}}a{index}").search("xa" + str(index))

    async def work() -> int:
        with pytest.raises(TakesLong):
            at_once(compile_all)
        return len(compiled)

    assert asyncio.run(work()) < 30


def test_a_pattern_that_is_none_is_told_whatever_it_takes() -> None:
    async def work() -> str:
        return await offloaded(0, lambda: regexp_problem("a(b"))

    assert asyncio.run(work()) == "error parsing regexp: missing closing ): `a(b`"
    with pytest.raises(re2.error):
        compile_pattern("a(b")
