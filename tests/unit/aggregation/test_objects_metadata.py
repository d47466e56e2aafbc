"""Metadata of extension API servers' objects have the right types, whatever is sent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.aggregation.held_objects import HeldObjects
from gateway.aggregation.objects import ForeignEvent, Nameless, ObjectClient, _event, metadata_of
from gateway.endpoints.foreign import ForeignError, ForeignKind
from gateway.http.user import ITSELF
from gateway.jsontypes import dumps
from gateway.outbound.client import Reply
from storage.entry import ChangeType

KIND = ForeignKind("e.com", "v1", "Thing", "things", True, frozenset({"list"}))


@pytest.mark.parametrize(
    "metadata",
    [
        *(None, [], {}, {"name": 1, "namespace": "n"}, {"name": "a"}, {"name": "a/b", "namespace": "n"}),
        *({"name": "..", "namespace": "n"}, {"name": "a", "namespace": "."}),
    ],
)
def test_what_no_path_can_have_is_refused(metadata: Any) -> None:
    with pytest.raises(Nameless):
        metadata_of({"metadata": metadata}, KIND)


def test_what_has_another_type_is_left_out() -> None:
    owner = {"uid": 7, "kind": "A", "apiVersion": "v1", "name": "a", "controller": "yes", "blockOwnerDeletion": True}
    given = {"name": "a", "namespace": "n", "uid": {}, "deletionTimestamp": 1, "finalizers": ["x", 2]}
    found = metadata_of({"metadata": {**given, "ownerReferences": [owner, "b"]}}, KIND)
    kept = {"uid": "", "kind": "A", "apiVersion": "v1", "name": "a", "blockOwnerDeletion": True}
    assert found == {"name": "a", "namespace": "n", "uid": "", "finalizers": ["x"], "ownerReferences": [kept]}


def test_held_objects_are_counted_by_namespace_and_told_apart_by_uid() -> None:
    held = HeldObjects(KIND)
    for namespace, name in (("n", "a"), ("n", "b"), ("m", "a")):
        held.put({"namespace": namespace, "name": name, "uid": f"u-{namespace}-{name}"})
    assert (held.count("n"), held.count("m"), held.count("x")) == (2, 1, 0)
    assert held.replaces({"namespace": "n", "name": "a", "uid": "another"})
    gone = held.remove(KIND.key("n", "a"))
    assert gone is not None and gone.type is ChangeType.DELETED and b'"uid":"u-n-a"' in gone.entry.tail
    assert held.remove(KIND.key("n", "a")) is None and held.count("n") == 1
    assert held.has("n", "b", "u-n-b") and not held.has("n", "b", "another")
    held.put({"namespace": "n", "name": "b", "uid": "u-n-b", "deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert not held.has("n", "b", "u-n-b") and held.without({KIND.key("m", "a")}) == [KIND.key("n", "b")]


def objects(answer: Reply, *, available: bool = True) -> ObjectClient:
    """The objects of a server that gives one answer to everything."""

    async def call(*given: object) -> Reply:
        return answer

    service = SimpleNamespace(available=available, target=lambda addresses, identity: None)
    parts = SimpleNamespace(remote={("e.com", "v1"): service}), SimpleNamespace(call=call), None, None
    return ObjectClient(*cast(Any, parts))


@pytest.mark.parametrize("status", [301, 401, 403, 410, 429, 500, 503])
async def test_only_404_says_that_an_object_is_not_there(status: int) -> None:
    with pytest.raises(ForeignError):
        await objects(Reply(status)).metadata(KIND, "n", "a", ITSELF)
    assert await objects(Reply(404)).metadata(KIND, "n", "a", ITSELF) is None


async def test_a_server_that_is_not_available_or_talks_nonsense_says_nothing() -> None:
    for server in (objects(Reply(404), available=False), objects(Reply(200, [], b"<html>"))):
        with pytest.raises(ForeignError):
            await server.metadata(KIND, "n", "a", ITSELF)


async def test_what_has_no_name_is_left_out_of_lists_and_watches_but_keeps_its_namespace() -> None:
    """A namespace with such an object is not empty, so its deletion must not be completed."""
    named = {"metadata": {"name": "a", "namespace": "n", "uid": "u"}}
    nameless = {"metadata": {"name": "a/b", "namespace": "n", "resourceVersion": "7"}}
    server = objects(Reply(200, [], dumps({"metadata": {"resourceVersion": "5"}, "items": [nameless, named]})))
    assert await server.page(KIND, ITSELF, "") == ([named["metadata"]], "5", "", 1)
    with pytest.raises(Nameless):
        async for _ in server.each(KIND, ITSELF, "n"):
            pass
    assert await _event(dumps({"type": "ADDED", "object": nameless}), KIND) == ForeignEvent("ADDED", None, "7")
