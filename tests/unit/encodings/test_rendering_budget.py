"""The memory limit for concurrent renderings of lists."""

from __future__ import annotations

import asyncio
import gc

import pytest

from gateway.encodings.rendering_budget import Renderings
from gateway.encodings.rendering_process import RenderingFailed, RenderingProcess
from gateway.encodings.yaml import to_yaml
from gateway.http.status import StatusError


def test_what_is_kept_is_bounded_by_bytes_and_goes_by_use() -> None:
    async def run() -> None:
        renderings, home = Renderings(limit=100), dict[object, object]()
        for key in "abc":
            renderings.keep(renderings.join(30, 1), home, key)
        renderings.use(home["a"])  # type: ignore[arg-type]
        renderings.keep(renderings.join(30, 1), home, "d")
        assert set(home) == {"a", "c", "d"}
        home.clear()  # as a change of the resource does
        assert renderings.fits(50)
        renderings.join(100, 1)

    asyncio.run(run())


def test_what_is_being_sent_counts_until_it_is_sent() -> None:
    renderings = Renderings(limit=100)
    sent = renderings.join(80, 1)
    with pytest.raises(StatusError) as refused:
        renderings.join(30, 1)
    assert refused.value.code == 429
    assert not renderings.fits(30)
    del sent
    assert renderings.join(1000, 1)  # one that is alone, whatever its size


def test_places_come_back_without_a_collection() -> None:
    async def run() -> None:
        renderings = Renderings(most=1)
        gc.disable()
        try:
            place = renderings.place()
            with pytest.raises(StatusError):
                renderings.place()
            del place
            renderings.place()
        finally:
            gc.enable()

    asyncio.run(run())


def test_yaml_from_another_process_is_the_same() -> None:
    async def run() -> None:
        apart = RenderingProcess()
        documents = [b'{"a":[1,"\xc3\xa4",null]}', b"[]", b'{"b":"' + b"x" * 300_000 + b'"}']
        made = await asyncio.gather(*(apart.yaml(document) for document in documents))
        assert made == [to_yaml(document) for document in documents]
        task = asyncio.ensure_future(apart.yaml(documents[2]))
        await asyncio.sleep(0.001)
        task.cancel()
        assert await apart.yaml(b"{}") == b"{}\n"
        await apart.close()

    asyncio.run(run())


def test_the_other_process_ends_with_the_server_whatever_it_renders() -> None:
    async def run() -> None:
        apart = RenderingProcess()
        await apart.close()  # before it has begun, nothing is there to end
        assert await apart.yaml(b"{}") == b"{}\n"
        process = apart._process
        assert process is not None
        rendering = asyncio.ensure_future(apart.yaml(b"[%b1]" % (b'{"a":1},' * 100_000)))
        while apart._idle is None or not apart._idle.cancelled():
            await asyncio.sleep(0)
        await apart.close()  # its pipe does not hold all of the document, so that it is not rendered yet
        assert process.returncode is not None
        with pytest.raises(RenderingFailed):
            await rendering
        assert await apart.yaml(b"[]") == b"[]\n", "it is begun again when it is needed again"
        await apart.close()

    asyncio.run(run())
