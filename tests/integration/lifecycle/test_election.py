"""The controllers run in one process; after its end, of any kind, another process takes over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.hasty import hasty
from tests.integration.lifecycle.api import Api
from tests.integration.lifecycle.leases import DURATION, SHORT
from tests.limits import within
from tests.until import until

LATE = 600  # seconds: a process that takes the lease much sooner was told that it is free
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/apiserver-gateway-controllers"


@pytest.fixture
def servers(own_etcd: EmbeddedEtcd) -> Iterator[tuple[ApiServer, ApiServer]]:
    """Two replicas. The first one is the leader. Neither checks the lease without a watch event for it."""
    rare = {"gateway.controllers.election.DURATION": LATE, "gateway.controllers.election.RETRY": LATE}
    with hasty(rare, etcd_servers=own_etcd.endpoint) as one:
        until(lambda: holder(Api(one, "x")))
        with hasty(rare, etcd_servers=own_etcd.endpoint) as other:
            yield one, other


@pytest.fixture
def short(own_etcd: EmbeddedEtcd) -> Iterator[tuple[ApiServer, ApiServer]]:
    """The same with short leases, and each replica with its own address."""
    with hasty(SHORT, "--advertise-address=192.0.2.1", etcd_servers=own_etcd.endpoint) as one:
        until(lambda: holder(Api(one, "x")))
        with hasty(SHORT, "--advertise-address=192.0.2.2", etcd_servers=own_etcd.endpoint) as other:
            yield one, other


def lease(api: Api) -> dict[str, Any]:
    found: dict[str, Any] = api.ask("GET", LEASE).json.get("spec", {})
    return found


def holder(api: Api) -> str:
    return str(lease(api).get("holderIdentity", ""))


def test_another_goes_on_at_once_after_a_clean_stop(servers: tuple[ApiServer, ApiServer]) -> None:
    one, other = servers
    api = Api(other, "t").begin()
    first = holder(api)
    one.stop()
    until(lambda: holder(api) not in ("", first))
    assert lease(api)["leaseTransitions"] == 1
    api.create("child", [api.create("owner")])
    api.delete("owner", "Background")
    until(lambda: not api.names())


def test_another_ends_a_cascade_in_which_the_leader_was_killed(short: tuple[ApiServer, ApiServer]) -> None:
    one, other = short
    api = Api(other, "t").begin()
    owner, living = api.create("owner"), api.create("living")
    for number in range(60):
        api.create(f"child-{number}", [(owner, True)])
        api.create(f"kept-{number}", [owner, living])
    api.delete("owner", "Foreground")
    one.kill()
    with within(DURATION + 5):
        until(lambda: api.names() == {"living", *(f"kept-{number}" for number in range(60))})
    until(lambda: owners(api) == {living["metadata"]["uid"]})  # who blocks nobody forgets its owner in its time


def owners(api: Api) -> set[str]:
    """The uids of all owners of ConfigMaps."""
    left = api.ask("GET", api.path()).json["items"]
    return {owner["uid"] for each in left for owner in each["metadata"].get("ownerReferences", ())}


def advertised(api: Api) -> list[str]:
    """The addresses of the service `kubernetes`, if Endpoints and EndpointSlice agree."""
    subsets = api.ask("GET", "/api/v1/namespaces/default/endpoints/kubernetes").json.get("subsets") or [
        {"addresses": []}
    ]
    slices = api.ask("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes").json
    found = [each["ip"] for each in subsets[0]["addresses"]]
    in_slice = [address for each in slices.get("endpoints") or () for address in each["addresses"]]
    return found if found == in_slice else []


def test_a_server_that_stops_is_no_longer_led_to(own_etcd: EmbeddedEtcd) -> None:
    """A server removes its own address when it stops: the others would notice only after ten minutes."""
    rare = {"gateway.controllers.replicas.TTL": LATE}
    with (
        hasty(rare, "--advertise-address=192.0.2.1", etcd_servers=own_etcd.endpoint) as one,
        hasty(rare, "--advertise-address=192.0.2.2", etcd_servers=own_etcd.endpoint) as other,
    ):
        api = Api(other, "t")
        until(lambda: advertised(api) == ["192.0.2.1", "192.0.2.2"])
        one.stop()
        until(lambda: advertised(api) == ["192.0.2.2"])


def test_a_server_that_was_killed_is_soon_no_longer_led_to(short: tuple[ApiServer, ApiServer]) -> None:
    one, other = short
    api = Api(other, "t")
    until(lambda: advertised(api) == ["192.0.2.1", "192.0.2.2"])
    one.kill()
    with within(DURATION + 8):
        until(lambda: advertised(api) == ["192.0.2.2"])
