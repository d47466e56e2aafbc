"""Work that begins on the event loop continues in a thread once it has taken long."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest
import re2

from gateway import time_limits
from gateway.time_limits import TakesLong, at_once, in_thread, leave_pool, look, sorted_in_pieces
from gateway.validation.go_regexp import _LONGEST_PAUSE, compile_pattern, regexp_problem
from gateway.writing.offload import offloaded
from tests.limits import at_most_cpu


def test_what_looks_in_time_is_done_where_it_was_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limits, "_ON_LOOP", 60.0)  # however busy the machine is

    async def work() -> str:
        at_once(look)
        look()
        return at_once(lambda: threading.current_thread().name)

    assert asyncio.run(work()) == threading.current_thread().name


def _long(then: Callable[[], str]) -> str:
    """Code that checks again after a time that is too long for an event loop."""
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


LARGE = r"\pL{{1,30}}{}"


def test_an_event_loop_compiles_no_large_pattern_that_a_thread_may_compile() -> None:
    begun: list[str] = []

    def compile_all() -> list[bool]:
        begun.append(threading.current_thread().name)
        small = [compile_pattern(f"[a-z]{{1,63}}x{index}") for index in range(3)]
        return [
            bool(each.search(text)) for each, text in ((small[0], "ax0"), (compile_pattern(LARGE.format("a")), "xa"))
        ]

    async def work() -> list[bool]:
        began = time.thread_time()
        with pytest.raises(TakesLong):
            at_once(compile_all)
        at_most_cpu(time.thread_time() - began, 0.01)
        return await offloaded(0, compile_all)

    assert asyncio.run(work()) == [True, True]
    here = threading.current_thread().name
    assert begun[:2] == [here, here] and begun[2] != here


def test_an_event_loop_has_as_long_after_each_large_pattern_as_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever threads compile them: each compilation blocks the interpreter for tens of milliseconds."""
    spans: list[tuple[float, float]] = []
    compile_one = re2.compile

    def compiled(pattern: str, options: re2.Options) -> object:
        began = time.monotonic()
        try:
            return compile_one(pattern, options)
        finally:
            if options.max_mem > 1 << 20:
                spans.append((began, time.monotonic()))

    monkeypatch.setattr(re2, "compile", compiled)

    async def work() -> None:
        async with asyncio.TaskGroup() as tasks:
            for index in range(8):
                tasks.create_task(in_thread(partial(compile_pattern, LARGE.format(index))))

    asyncio.run(work())
    assert len(spans) == 8
    for (began, ended), (next_one, _) in pairwise(spans):
        assert next_one - ended >= min(ended - began, _LONGEST_PAUSE)


def test_a_pattern_that_is_none_is_told_whatever_it_takes() -> None:
    async def work() -> str:
        return await offloaded(0, lambda: regexp_problem("a(b"))

    assert asyncio.run(work()) == "error parsing regexp: missing closing ): `a(b`"
    with pytest.raises(re2.error):
        compile_pattern("a(b")


@pytest.mark.parametrize("count", [0, 1, 9_999, 10_000, 10_001, 45_000])
@pytest.mark.parametrize("key", [None, str, lambda value: value % 7])
def test_many_values_are_sorted_as_few_are(count: int, key: Callable[[int], object] | None) -> None:
    values = [number * 7919 % 10_007 for number in range(count)]
    assert sorted_in_pieces(values, key) == sorted(values, key=key)  # type: ignore[arg-type]


def test_what_has_no_order_is_refused_in_pieces_too() -> None:
    for count in (10, 20_000):
        with pytest.raises(TypeError):
            sorted_in_pieces([*range(count), "a"])


async def test_what_takes_very_long_leaves_the_pool_that_others_use() -> None:
    """Eight searches of a pattern would fill the default pool; others wait for none of them."""
    go, seen = threading.Event(), []

    def search() -> str:
        leave_pool()
        seen.append(threading.current_thread().name)
        assert go.wait(60)
        return threading.current_thread().name

    searches = [asyncio.create_task(in_thread(search)) for _ in range(40)]
    try:
        async with asyncio.timeout(60):
            assert await in_thread(lambda: "another") == "another"
            assert await asyncio.to_thread(lambda: "another") == "another"
    finally:
        go.set()
    assert all(name.startswith("long") for name in await asyncio.gather(*searches))
    assert len(set(seen)) < 40


def test_what_runs_in_no_pool_need_not_leave_it() -> None:
    leave_pool()
