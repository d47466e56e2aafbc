"""An owner in another namespace is found, also if its kind was not listed yet at the first look."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from gateway.aggregation.held_objects import HeldObjects
from gateway.controllers.ownership import Owner
from gateway.controllers.strangers import AGAIN, Strangers
from gateway.endpoints.foreign import ForeignKind

KIND = ForeignKind("e.com", "v1", "Thing", "things", True, frozenset({"list"}))
CHILD = {"kind": "ConfigMap", "namespace": "far", "name": "child", "uid": "u-child"}
OWNER = Owner("u-there", "e.com/v1", "Thing", "there")


async def test_an_owner_that_is_listed_late_is_told_of() -> None:
    now, events, held = [0.0], list[str](), HeldObjects(KIND)

    async def places(_kind: ForeignKind, names: set[str], uids: set[str]) -> dict[str, str]:
        return await held.places(names, uids)

    async def create(_endpoint: object, namespace: str, event: dict[str, Any]) -> None:
        events.append(f"{namespace}: {event['reason']}")

    services = SimpleNamespace(foreign_objects=SimpleNamespace(places=places))
    actor = SimpleNamespace(endpoints=SimpleNamespace(services=services), create=create, of=lambda *_: None)
    strangers = Strangers(cast(Any, actor), clock=lambda: now[0])

    async def suspect() -> None:
        strangers.suspect(KIND, OWNER, CHILD)
        await strangers.reconcile(KIND.prefix)

    await suspect()
    held.put({"namespace": "near", "name": "there", "uid": "u-there"})
    await suspect()
    assert events == [], "it was looked for a moment ago"
    now[0] += AGAIN
    await suspect()
    assert events == ["far: OwnerRefInvalidNamespace"]
