"""An owner is absent only if etcd says so, and never because this process has not seen it."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.controllers.owners import ClusterScoped, Owners, Presence, UnknownKind
from gateway.controllers.ownership import Owner
from gateway.endpoints.table import EndpointTable
from gateway.http.user import ITSELF
from gateway.jsontypes import dumps
from gateway.writing.deletion_plan import FOREGROUND
from storage.errors import StoredObject
from storage.store import EtcdStore, Stores

OWNER = Owner("u-1", "v1", "ConfigMap", "o")


class World:
    """An etcd with the objects that it is given, none of which is cached; config maps are all that is served."""

    def __init__(self, **objects: dict[str, Any]) -> None:
        self.stored = {f"/configmaps/n/{name}".encode(): meta for name, meta in objects.items()}
        self.asked = 0
        served = SimpleNamespace(storage_prefix="configmaps", namespaced=True)
        endpoint = SimpleNamespace(
            resource=served,
            cache=SimpleNamespace(get=lambda key: None),
            store=self,
            key=lambda namespace, name: f"/configmaps/{namespace}/{name}".encode(),
        )
        kinds = {("", "v1", "ConfigMap"): served}
        endpoints = SimpleNamespace(
            registry=SimpleNamespace(by_kind=lambda *names: kinds.get(names), groups={"": ["v1"]}),
            of_resource=lambda resource: endpoint,
            services=SimpleNamespace(
                stores=Stores(cast(EtcdStore, self)),
                foreign_objects=SimpleNamespace(kind=lambda *names: None, followed=lambda: ()),
            ),
        )
        self.owners = Owners(cast(EndpointTable, endpoints), ITSELF)

    async def get(self, key: bytes) -> StoredObject | None:
        self.asked += 1
        meta = self.stored.get(key)
        return None if meta is None else StoredObject(key, dumps({"metadata": meta}), 7)


async def test_what_only_etcd_has_is_there() -> None:
    assert await World(o={"uid": "u-1"}).owners.presence(OWNER, "n") is Presence.THERE


async def test_what_waits_for_its_dependents_is_told_apart() -> None:
    waiting = {"uid": "u-1", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [FOREGROUND]}
    assert await World(o=waiting).owners.presence(OWNER, "n") is Presence.WAITING


@pytest.mark.parametrize("world", [World(), World(o={"uid": "u-2"}), World(other={"uid": "u-1"})])
async def test_nothing_and_another_uid_and_another_name_are_absent_and_asked_of_once(world: World) -> None:
    assert await world.owners.presence(OWNER, "n") is Presence.ABSENT
    assert await world.owners.presence(OWNER._replace(blocks=True), "n") is Presence.ABSENT
    assert world.asked == 1


async def test_absent_owners_with_long_names_are_remembered_up_to_a_few_megabytes() -> None:
    world = World()
    tracemalloc.start()
    try:
        for number in range(300):
            await world.owners.presence(OWNER._replace(uid=f"{number}{'u' * 60_000}"), "n")
            world.owners.note_deletion(f"{number}{'g' * 60_000}", b"/configmaps/n/o", "v1", "ConfigMap")
        assert tracemalloc.get_traced_memory()[0] < 10 << 20
    finally:
        tracemalloc.stop()
    assert await world.owners.presence(OWNER._replace(uid=f"299{'u' * 60_000}"), "n") is Presence.ABSENT
    assert world.asked == 300


async def test_who_has_no_namespace_can_have_no_owner_in_one() -> None:
    with pytest.raises(ClusterScoped):
        await World(o={"uid": "u-1"}).owners.presence(OWNER, "")


async def test_nothing_is_known_of_kinds_that_are_not_served() -> None:
    with pytest.raises(UnknownKind):
        await World().owners.presence(OWNER._replace(kind="Gadget"), "n")


async def test_a_deleted_owner_of_an_unserved_kind_is_absent_if_etcd_agrees() -> None:
    gadget = OWNER._replace(kind="Gadget", api_version="example.com/v1")
    for stored, expected in (({}, True), ({"o": {"uid": "u-1"}}, False)):
        world = World(**stored)
        world.owners.note_deletion("u-1", b"/configmaps/n/o", "example.com/v1", "Gadget")
        for version in ("v1", "v2"):
            owner = gadget._replace(api_version=f"example.com/{version}")
            if expected:
                assert await world.owners.presence(owner, "n") is Presence.ABSENT
            else:
                with pytest.raises(UnknownKind):
                    await world.owners.presence(owner, "n")
        with pytest.raises(UnknownKind):
            await world.owners.presence(gadget._replace(api_version="example.org/v1"), "n")


async def test_an_owner_in_a_version_that_is_not_served_is_looked_up_in_another() -> None:
    older = OWNER._replace(api_version="v1beta1")
    assert await World(o={"uid": "u-1"}).owners.presence(older, "n") is Presence.THERE
    assert await World(o={"uid": "u-2"}).owners.presence(older, "n") is Presence.ABSENT
