"""Cluster IPs and node ports: none is allocated twice, and released ones can be allocated again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.allocation.addresses import Addresses, AddressOwner
from gateway.allocation.errors import AllocationError, RangeFull
from gateway.allocation.metrics import LEAK, REPAIRED_ADDRESSES, REPAIRED_PORTS
from gateway.allocation.ports import NodePorts
from gateway.allocation.repair import ROUNDS, UnusedAllocations, repair
from gateway.http.status import StatusError
from gateway.jsontypes import loads
from gateway.writing.hooks import OwnObjects, service_allocation
from tests.unit.verbs.conftest import Api
from tests.unit.verbs.fake_store import FakeStore

SERVICES = "/api/v1/namespaces/default/services"
PARENT = AddressOwner("default", "s")


def addresses(api: Api, block: str = "10.0.0.0/28") -> Addresses:
    return Addresses(api.endpoints.services.store, "/registry", (block,), OwnObjects(api.endpoints))


def node_ports(store: Any) -> NodePorts:
    return NodePorts(store, "/registry", 30000, 30009)


@pytest.fixture
def api() -> Api:
    return Api()


def service(name: str = "s", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


async def test_two_replicas_never_hand_out_one_address_twice() -> None:
    api = Api()
    one, other = addresses(api), addresses(api)
    taken = await asyncio.gather(*(each.allocate_next("IPv4", PARENT, dry_run=False) for each in [one, other] * 7))
    assert len(set(taken)) == 14
    assert "10.0.0.0" not in taken
    assert "10.0.0.15" not in taken
    with pytest.raises(RangeFull):
        await one.allocate_next("IPv4", PARENT, dry_run=False)
    await other.release(taken[3])
    assert await one.allocate_next("IPv4", PARENT, dry_run=False) == taken[3]


async def test_an_address_says_whose_it_is() -> None:
    api = Api()
    await addresses(api).allocate("10.0.0.5", PARENT, dry_run=False)
    stored = loads(api.store.objects[b"/registry/ipaddresses/10.0.0.5"].value)
    assert stored["spec"]["parentRef"] == {"resource": "services", "namespace": "default", "name": "s"}


@pytest.mark.parametrize(
    ("wanted", "dry_run", "text"),
    [
        ("192.0.2.1", False, "the provided network does not match the current range"),
        ("192.0.2.1", True, r"192.0.2.1\) is not in the valid range. The range of valid IPs is 10.0.0.0/"),
        ("10.0.0.0", False, "the provided network does not match the current range"),
        ("10.0.0.0", True, "is not in the valid range"),
        ("10.0.0.7", False, "provided IP is already allocated"),
    ],
)
async def test_addresses_that_cannot_be_had(wanted: str, dry_run: bool, text: str) -> None:
    api = Api()
    await addresses(api).allocate("10.0.0.7", PARENT, dry_run=False)
    with pytest.raises(AllocationError, match=text):
        await addresses(api).allocate(wanted, PARENT, dry_run=dry_run)


async def test_dynamic_addresses_come_from_the_upper_part() -> None:
    taken = [await addresses(Api(), "10.0.0.0/24").allocate_next("IPv4", PARENT, dry_run=False) for _ in range(9)]
    assert all(int(address.rpartition(".")[2]) > 16 for address in taken)


async def test_ports_are_taken_once_on_all_replicas() -> None:
    store = FakeStore()
    one, other = node_ports(store), node_ports(store)
    taken = await asyncio.gather(*(each.allocate_next() for each in [one, other] * 5))
    assert sorted(taken) == list(range(30000, 30010))
    with pytest.raises(RangeFull):
        await one.allocate_next()
    await other.release([30003])
    await one.allocate(30003)
    with pytest.raises(AllocationError, match="already allocated"):
        await other.allocate(30003)
    with pytest.raises(AllocationError, match="valid ports is 30000-30009"):
        await other.allocate(80)


@given(st.sets(st.integers(30000, 30009)))
def test_the_map_of_ports_survives_a_trip_through_etcd(ports: set[int]) -> None:
    async def check() -> None:
        store = FakeStore()
        await node_ports(store).take(ports)
        assert await node_ports(store).taken() == ports

    asyncio.run(check())


async def test_a_map_that_kube_apiserver_wrote_is_understood() -> None:
    store = FakeStore()
    inner = b"\x0a\x00\x12\x0b30000-30009\x1a\x01\x05"
    store._put(b"/registry/ranges/servicenodeports", b"k8s\x00\x0a\x00\x12" + bytes([len(inner)]) + inner)
    assert await node_ports(store).taken() == {30000, 30002}


async def test_a_service_gets_what_it_needs_and_gives_it_back(api: Api) -> None:
    _, made = await api.send("POST", SERVICES, service(type="NodePort"))
    spec = made["spec"]
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    key = f"/registry/ipaddresses/{spec['clusterIP']}".encode()
    assert key in api.store.objects
    ports = NodePorts(api.store, "/registry", 30000, 32767)  # type: ignore[arg-type]  # a store in memory
    assert await ports.taken() == {spec["ports"][0]["nodePort"]}
    await api.send("DELETE", f"{SERVICES}/s")
    assert key not in api.store.objects
    assert await ports.taken() == set()


async def test_sending_a_manifest_again_changes_nothing(api: Api) -> None:
    _, made = await api.send("POST", SERVICES, service(type="NodePort"))
    _, again = await api.send("PUT", f"{SERVICES}/s", service(type="NodePort"))
    assert again == made


async def test_becoming_headless_or_external(api: Api) -> None:
    _, made = await api.send("POST", SERVICES, service())
    external = {"metadata": {"name": "s"}, "spec": {"type": "ExternalName", "externalName": "db.example.com"}}
    _, changed = await api.send("PUT", f"{SERVICES}/s", external)
    assert "clusterIP" not in changed["spec"]
    assert f"/registry/ipaddresses/{made['spec']['clusterIP']}".encode() not in api.store.objects


@pytest.mark.parametrize("policy", ["RequireDualStack", "PreferDualStack"])
async def test_one_of_two_families_goes_with_single_stack_alone(api: Api, policy: str) -> None:
    path = "/api/v1/namespaces/default/services"
    spec = {"ports": [{"port": 80}], "clusterIP": "None"}
    _, made = await api.send("POST", path, {"metadata": {"name": "free"}, "spec": spec})
    assert made["spec"]["ipFamilies"] == ["IPv4", "IPv6"]
    change = {"spec": {"ipFamilies": ["IPv6"], "ipFamilyPolicy": policy}}
    with pytest.raises(StatusError, match="must be 'SingleStack' to release the secondary IP family"):
        await api.send("PATCH", f"{path}/free", change, "application/merge-patch+json")


async def test_a_refused_service_keeps_nothing(api: Api) -> None:
    before = set(api.store.objects)
    with pytest.raises(StatusError):
        await api.send("POST", SERVICES, service(type="Imaginary"))
    assert set(api.store.objects) == before


async def test_a_dry_run_takes_nothing(api: Api) -> None:
    before = set(api.store.objects)
    _, shown = await api.send("POST", SERVICES, service(type="NodePort"), query="dryRun=All")
    assert shown["spec"]["clusterIP"] == "10.0.0.0"
    assert set(api.store.objects) == before


async def test_repair_gives_back_what_nobody_uses_after_a_while(api: Api) -> None:
    counts = REPAIRED_ADDRESSES.labels(LEAK), REPAIRED_PORTS.labels(LEAK)
    before = [each.value for each in counts]
    _, made = await api.send("POST", SERVICES, service(type="NodePort"))
    leaked = addresses(api, "10.0.0.0/24")
    address = await leaked.allocate_next("IPv4", PARENT, dry_run=False)
    ports = NodePorts(api.store, "/registry", 30000, 32767)  # type: ignore[arg-type]  # a store in memory
    await ports.allocate(30001)
    suspects, suspected_ports = UnusedAllocations(), UnusedAllocations()
    for _ in range(ROUNDS):
        assert f"/registry/ipaddresses/{address}".encode() in api.store.objects
        await repair(service_allocation(api.endpoints), suspects, suspected_ports)
    assert f"/registry/ipaddresses/{address}".encode() not in api.store.objects
    assert await ports.taken() == {made["spec"]["ports"][0]["nodePort"]} - {30001}
    assert [each.value - past for each, past in zip(counts, before, strict=True)] == [1, 1]


async def test_repair_takes_what_services_use(api: Api) -> None:
    _, made = await api.send("POST", SERVICES, service(type="NodePort"))
    key = f"/registry/ipaddresses/{made['spec']['clusterIP']}".encode()
    del api.store.objects[key]
    await repair(service_allocation(api.endpoints), UnusedAllocations(), UnusedAllocations())
    assert key in api.store.objects
