"""A write of a controller that etcd or a rule refuses is logged, and does not end the controller."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.access.legacy_uses import LegacyUses
from gateway.allocation.addresses import Addresses, AddressOwner
from gateway.allocation.ports import NodePorts
from gateway.allocation.repair import repair_until
from gateway.allocation.services import Holding
from gateway.controllers import flow_schema_status
from gateway.controllers.bootstrap import BootstrapObjects, keep_bootstrapped
from gateway.controllers.bootstrap_objects import namespaces
from gateway.controllers.certificate_requests import _parsed
from gateway.controllers.flow_schema_status import FlowSchemaStatus
from gateway.controllers.identity import IdentityLease
from gateway.controllers.legacy_tokens import label_used_tokens
from gateway.controllers.replicas import Replica
from gateway.customresources import cleanup
from gateway.customresources.definitions import Definitions
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject
from gateway.kinds.registry import Registry
from gateway.launch.roles import Roles
from gateway.writing.hooks import OwnObjects, service_allocation
from storage.errors import PermissionDenied
from tests.logged import will_log
from tests.unit.verbs.conftest import Api


async def refuse(*_: Any, **__: Any) -> Any:
    raise PermissionDenied("etcdserver: permission denied")


@pytest.fixture
def api() -> Api:
    return Api()


def refusing(api: Api) -> Any:
    """The endpoints of a gateway whose etcd takes no write, and answers no list, from now on."""
    for call in ("create", "update", "delete", "list"):
        setattr(api.store, call, refuse)
    return api.endpoints


async def until_said(words: str, work: Coroutine[Any, Any, None]) -> None:
    """Does something that has no end until it says so."""
    async with will_log(words):
        task = asyncio.create_task(work)
    assert not task.done(), "it has ended with what it says"
    task.cancel()


async def test_what_a_service_had_and_is_not_taken_back(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    store = api.endpoints.services.store
    addresses = Addresses(store, "/registry", ("10.0.0.0/28",), OwnObjects(api.endpoints))
    parent = AddressOwner("default", "s")
    await addresses.allocate("10.0.0.5", parent, dry_run=False)
    refusing(api)
    holding = Holding(addresses, NodePorts(store, "/registry", 1, 9), parent, dry_run=False)
    holding.freed_addresses = ["10.0.0.5"]
    await holding.finish(success=True)
    assert "addresses or ports could not be released; the periodic repair releases them" in caplog.text


async def test_a_repair_that_cannot_look(api: Api) -> None:
    allocation = service_allocation(refusing(api))
    said = "cluster IPs and node ports could not be checked"
    await until_said(said, repair_until(allocation, asyncio.Event()))


async def test_a_used_token_whose_secret_is_not_labelled(api: Api) -> None:
    await api.send("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "used"}})
    endpoints = refusing(api)
    endpoints.services.legacy_uses = LegacyUses()
    endpoints.services.legacy_uses.note("default", "used", {})
    await until_said("a used token's secret cannot be labelled", label_used_tokens(endpoints))


async def test_a_flow_schema_whose_level_is_missing(api: Api) -> None:
    made = {"metadata": {"name": "a"}, "spec": {"priorityLevelConfiguration": {"name": "none"}}}
    await api.send("POST", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", made)
    flows = FlowSchemaStatus(refusing(api))
    key = flows._schemas.spec.prefix + b"a"
    flows._schemas.put(key, api.store.objects[key].value, 5)
    api.store.cache.reached = 5
    await until_said("the status of a flow schema could not be written", flows.run())


async def test_the_status_of_a_flow_schema_is_written_when_that_is_taken_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow_schema_status, "AGAIN", 0.01)
    made = {"metadata": {"name": "a"}, "spec": {"priorityLevelConfiguration": {"name": "none"}}}
    await api.send("POST", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", made)
    flows, told, again = FlowSchemaStatus(api.endpoints), list[str](), asyncio.Event()
    key = flows._schemas.spec.prefix + b"a"
    flows._schemas.put(key, api.store.objects[key].value, 5)
    api.store.cache.reached = 5

    async def refused_at_first(name: str, condition: JsonObject) -> None:
        told.append(name)
        if len(told) == 1:
            raise PermissionDenied("etcdserver: permission denied")
        again.set()

    monkeypatch.setattr(flows, "_tell", refused_at_first)
    running = asyncio.create_task(flows.run())
    await asyncio.wait_for(again.wait(), 60)
    running.cancel()
    assert told == ["a", "a"]


async def test_what_every_cluster_has_is_refused_once_in_the_log(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    objects = BootstrapObjects(api.endpoints)
    (wanted, *_) = namespaces()

    async def refused() -> None:
        raise StatusError(403, "Forbidden", "a policy says so")

    for _ in range(2):
        await objects._written(wanted, refused())
    assert caplog.text.count("a default object of a cluster is refused") == 1


async def test_what_every_cluster_has_and_etcd_does_not_take(api: Api) -> None:
    said = "objects that every cluster has could not be made, trying again: etcdserver: permission denied"
    await until_said(said, keep_bootstrapped(refusing(api), asyncio.Event(), asyncio.Event()))


def test_a_request_for_a_certificate_that_is_none(caplog: pytest.LogCaptureFixture) -> None:
    assert _parsed({"request": b64encode(b"nothing").decode()}) is None
    assert "a certificate signing request cannot be read" in caplog.text


async def test_a_definition_whose_status_is_not_taken_comes_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Definitions, "_settle", refuse)
    endpoints: Any = SimpleNamespace(registry=Registry())
    definitions = Definitions(endpoints, lambda _: None)
    with pytest.raises(PermissionDenied):
        await definitions._look_at("widgets.e.com")
    assert "a CustomResourceDefinition could not be processed" in caplog.text


async def test_the_end_of_a_definition_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleanup, "write_status", refuse)
    endpoints: Any = SimpleNamespace(services=SimpleNamespace(stopping=asyncio.Event()))
    definition = {"metadata": {"name": "widgets.e.com", "uid": "u"}, "spec": {}}
    said = "the deletion of a CustomResourceDefinition is tried again later"
    await until_said(said, cleanup.clean_up(endpoints, definition, lambda: None))


async def test_a_lease_that_is_not_renewed(api: Api) -> None:
    await until_said("this server's lease was not renewed", IdentityLease(refusing(api)).run(asyncio.Event()))


async def test_an_address_that_is_not_published(api: Api) -> None:
    endpoints = refusing(api)
    endpoints.services.client = SimpleNamespace(leases=SimpleNamespace(grant=refuse, keep_alive=refuse))
    await until_said("this server's address could not be published", Replica(endpoints).run(asyncio.Event()))


async def test_roles_that_are_not_made_yet(api: Api) -> None:
    started, policy = asyncio.Event(), SimpleNamespace(complete=asyncio.Event())
    started.set()
    endpoints = refusing(api)
    endpoints.services.policy = policy
    gateway: Any = SimpleNamespace(endpoints=endpoints, services=endpoints.services, store=endpoints.services.store)
    gateway.feed = SimpleNamespace(on_replacement=lambda listener: None)
    await until_said("default roles could not be created yet", Roles(gateway).run(started))
    assert not policy.complete.is_set()
