"""One unreadable object in etcd, of each kind that a server follows: the other objects stay in force, and can change.

Some of the values are not JSON. Some are objects without any of their kind's fields. Some look as if this server had
written them.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from storage.embedded import EmbeddedEtcd
from storage.entry import MARK
from storage.etcd import EtcdClient, EtcdSettings
from tests.hostile.in_force import CORE, FORCES, HOME, MERGE, PLACE, Force
from tests.integration.server.client import ask
from tests.until import until

Make = Callable[[str, str, str, str], bytes]
MEMBERS = (
    *("spec", "status", "rules", "webhooks", "subjects", "roleRef", "handler", "value", "data", "provisioner"),
    "aggregationRule",
)


def _object(namespace: str, name: str, kind: str, version: str, **more: Any) -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    metadata = {"name": name, **place, "uid": "3d5e2c1a-0000-4000-8000-000000000000"}
    return {"kind": kind, "apiVersion": version, "metadata": metadata, **more}


def _wrong(namespace: str, name: str, kind: str, version: str) -> bytes:
    made = _object(namespace, name, kind, version, **dict.fromkeys(MEMBERS, 7))
    return json.dumps(made, separators=(",", ":")).encode()


def _stranger(namespace: str, name: str, kind: str, version: str) -> bytes:
    """A value under another key that has the name of the valid object: code that goes by names would take it for that
    object.
    """
    return json.dumps(_object(namespace, "sound", kind, version, spec={}, rules=[], webhooks=[])).encode()


WRONG: dict[str, Make] = {
    "an empty object": lambda *_: b"{}",
    "a list": lambda *_: b"[]",
    "a text": lambda *_: b'"text"',
    "no UTF-8": lambda *_: b"\xff\xfe\xfd",
    "members of wrong types": _wrong,
    "no members": lambda *named: json.dumps(_object(*named)).encode(),
    "null members": lambda *named: json.dumps(_object(*named) | dict.fromkeys(MEMBERS)).encode(),
    "another's name": _stranger,
    "wrong, as if it was written here": lambda *named: _wrong(*named) + MARK,
}
FOLLOWED = 14  # the number of kinds whose changes are followed: changes of these are noticed at once
BESIDE = (
    *(f"{name}/{PLACE}/{{}}" for name in ("pods", "secrets", "serviceaccounts", "endpointslices", "leases")),
    *(f"{name}/{{}}" for name in ("minions", "servicecidrs", "deviceclasses", "persistentvolumes", "ipaddresses")),
    *(f"services/{name}/{PLACE}/{{}}" for name in ("specs", "endpoints")),
)


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[str, ApiServer]]:
    with EmbeddedEtcd() as etcd, api_server(etcd_servers=etcd.endpoint) as running:
        assert ask(running, "POST", f"{CORE}/namespaces", {"metadata": {"name": PLACE}}).status == 201
        for namespace in (PLACE, "default"):
            account = f"{CORE}/namespaces/{namespace}/serviceaccounts/default"
            until(lambda account=account: ask(running, "GET", account).status == 200)
        for force in FORCES.values():
            for path, made in (*force.beside, (force.path, force.made)):
                answer = ask(running, "POST", path, made)
                assert answer.status in (201, 409), answer.body
        _all_in_force(running)
        yield etcd.endpoint, running


def _all_in_force(server: ApiServer) -> None:
    for name, force in FORCES.items():
        _until(server, force, name, True)


def _until(server: ApiServer, force: Force, name: str, yes: bool) -> None:
    found: list[object] = []

    def holds() -> bool:
        found[:] = [force.answers(server)]
        return (found[0] == force.yes) is yes

    try:
        until(holds)
    except AssertionError:
        pytest.fail(f"{name}: {found[0]!r} where {force.yes!r} was {'' if yes else 'not '}to be")


def _kinds(server: ApiServer) -> dict[str, tuple[str, str]]:
    found = {}
    for force in FORCES.values():
        sound = ask(server, "GET", f"{force.path}/{force.name}").json
        found[force.prefix] = sound["kind"], sound["apiVersion"]
    return found


async def _write(endpoint: str, values: dict[str, bytes]) -> None:
    async with EtcdClient(EtcdSettings((endpoint,), timeout=60)) as client:
        for key, value in values.items():
            await client.put(f"/registry/{key}".encode(), value)


def _values(server: ApiServer, wrong: str, name: str) -> dict[str, bytes]:
    kinds, make = _kinds(server), WRONG[wrong]
    found = {}
    for index, (prefix, (kind, version)) in enumerate(kinds.items()):
        key = prefix.format(name)
        namespace = PLACE if f"/{PLACE}/" in prefix else ""
        if index < FOLLOWED or MARK not in make(namespace, "x", kind, version):
            found[key] = make(namespace, key.rpartition("/")[2], kind, version)
    if MARK not in make("", "x", "Pod", "v1"):
        found |= {prefix.format(name): make("", name, "Pod", "v1") for prefix in BESIDE}
    return found


def _others_change(server: ApiServer) -> None:
    for name, force in FORCES.items():
        assert force.answers(server) == force.yes, name
        for patch, yes in ((force.patch, False), (force.back, True)):
            path = f"{force.path}/{force.name}"
            answer = ask(server, "PATCH", path, patch, headers=MERGE)
            assert answer.status == 200, (name, answer.body)
            _until(server, force, name, yes)


@pytest.mark.parametrize("wrong", WRONG)
def test_others_stay_in_force_beside_one_that_cannot_be_read(world: tuple[str, ApiServer], wrong: str) -> None:
    endpoint, server = world
    name = re.sub("[^a-z]", "", wrong)
    asyncio.run(_write(endpoint, _values(server, wrong, name)))
    _others_change(server)


def test_others_are_in_force_after_a_start(world: tuple[str, ApiServer]) -> None:
    endpoint, server = world
    for wrong in WRONG:
        asyncio.run(_write(endpoint, _values(server, wrong, f"start{re.sub('[^a-z]', '', wrong)}")))
    server.stop()
    server.start()
    _all_in_force(server)
    _others_change(server)


@pytest.mark.parametrize("wrong", ["an empty object", "a list", "no UTF-8", "members of wrong types"])
def test_what_cannot_be_read_any_more_stays_as_it_was(world: tuple[str, ApiServer], wrong: str) -> None:
    """Policies, webhooks and rights stay in force after their stored values have become unreadable."""
    endpoint, server = world
    broken = {each: FORCES[each] for each in ("validating policies", "validating webhooks", "cluster roles", "roles")}
    kinds, values = _kinds(server), {}
    for force in broken.values():
        namespace = PLACE if f"/{PLACE}/" in force.prefix else ""
        values[force.prefix.format("sound")] = WRONG[wrong](namespace, "sound", *kinds[force.prefix])
    before = asyncio.run(_read(endpoint, values))
    asyncio.run(_write(endpoint, values))
    try:
        for each, force in broken.items():
            path = f"{force.path}/sound"
            until(lambda path=path: ask(server, "GET", path).status == 500)
            assert force.answers(server) == force.yes, each
    finally:
        asyncio.run(_write(endpoint, before))
    for force in broken.values():
        path = f"{force.path}/sound"
        until(lambda path=path: ask(server, "GET", path).status == 200)


async def _read(endpoint: str, keys: dict[str, bytes]) -> dict[str, bytes]:
    async with EtcdClient(EtcdSettings((endpoint,), timeout=60)) as client:
        return {key: (await client.range(f"/registry/{key}".encode())).kvs[0].value for key in keys}


def test_services_are_made_beside_ranges_that_cannot_be_read(world: tuple[str, ApiServer]) -> None:
    _, server = world
    service = {"metadata": {"generateName": "made-"}, "spec": {"ports": [{"port": 1}]}}
    made = ask(server, "POST", f"{HOME}/services", service)
    assert made.status == 201 and made.json["spec"]["clusterIP"], made.body
