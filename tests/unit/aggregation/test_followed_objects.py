"""Objects of extension API servers are watched in the served version, from the last known resourceVersion."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.aggregation import reflection
from gateway.aggregation.followed_objects import FollowedObjects
from gateway.aggregation.held_objects import HeldObjects
from gateway.aggregation.objects import ForeignEvent, MetadataPage
from gateway.aggregation.reflection import Reflection
from gateway.endpoints.foreign import ForeignError, ForeignFollower, ForeignKind
from gateway.http.user import ITSELF
from storage.entry import Change
from tests.logged import of

VERBS = frozenset({"delete", "list", "watch"})


def kind(version: str) -> ForeignKind:
    return ForeignKind("e.com", version, "Thing", "things", True, VERBS)


def metadata(namespace: str, name: str) -> dict[str, Any]:
    return {"namespace": namespace, "name": name, "uid": f"u-{namespace}-{name}"}


class Server:
    """Has one object, and notes which watches are asked for: the version of the kind, and from where on.

    A watch tells `events`, and is cut then; without any it stays open.
    """

    def __init__(self, *events: ForeignEvent) -> None:
        self._events, self.watched = events, asyncio.Queue[tuple[str, str]]()
        self.metadata = self.patch = self.delete = None
        self.nameless = 0  # objects of the list that it left out

    async def page(self, of: ForeignKind, user: object, goes_on: str) -> MetadataPage:
        return MetadataPage([metadata("n", "a")], "5", "", self.nameless)

    async def watch(self, of: ForeignKind, user: object, version: str) -> AsyncIterator[ForeignEvent]:
        self.watched.put_nowait((of.version, version))
        for event in self._events:
            yield event
        if self._events:
            raise ForeignError("cut")
        await asyncio.Event().wait()


class Follower:
    """Follows everything and remembers nothing."""

    def follows(self, prefix: bytes) -> bool:
        return True

    def begin(self, prefix: bytes, keys: set[bytes]) -> None: ...

    def change(self, prefix: bytes, change: Change) -> None: ...


async def test_a_kind_goes_on_in_the_version_that_is_left() -> None:
    server, listeners, served = Server(), list[Any](), [kind("v1beta1")]
    services = SimpleNamespace(preferred=lambda: [None])
    discovered = SimpleNamespace(on_change=listeners.append, kinds=lambda service: served)
    followed = FollowedObjects(*cast(Any, (services, discovered, server)))
    (tell,) = listeners
    tell()
    assert not followed.complete
    followers: list[ForeignFollower] = [Follower()]
    running = asyncio.ensure_future(followed.run(followers, ITSELF))
    try:
        assert await server.watched.get() == ("v1beta1", "5")
        assert followed.complete
        served[:] = [kind("v1")]
        tell()
        assert await server.watched.get() == ("v1", "5")
        assert followed.holds(kind("v1"), "n", "a", "u-n-a")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_watch_that_is_cut_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflection, "LEAST", 0.0)
    server = Server(ForeignEvent("ADDED", metadata("n", "b"), "7"), ForeignEvent("BOOKMARK", None, "9"))
    running = asyncio.ensure_future(Reflection(cast(Any, server), HeldObjects(kind("v1")), [], ITSELF).run())
    try:
        assert [await server.watched.get() for _ in range(2)] == [("v1", "5"), ("v1", "9")]
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_objects_without_names_are_said_and_the_others_followed(caplog: pytest.LogCaptureFixture) -> None:
    server, held = Server(), HeldObjects(kind("v1"))
    server.nameless = 3
    running = asyncio.ensure_future(Reflection(cast(Any, server), held, [], ITSELF).run())
    try:
        assert await server.watched.get() == ("v1", "5")
        assert held.loaded and held.has("n", "a", "u-n-a")
        (said,) = of(caplog, reflection.__name__)
        assert said.getMessage() == "objects of an extension API server have invalid names, and are skipped"
        assert (said.__dict__["objects"], said.__dict__["resource"]) == (3, "things.e.com/")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_objects_are_found_by_uid_and_name_in_any_namespace() -> None:
    held = HeldObjects(kind("v1"))
    for namespace in ("n", "m"):
        for name in ("a", "b"):
            held.put(metadata(namespace, name))
    assert await held.places({"a"}, {"u-n-a", "u-m-b", "u-x"}) == {"u-n-a": "n"}
