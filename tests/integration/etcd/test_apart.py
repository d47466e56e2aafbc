"""Resources in several etcds (--etcd-servers-overrides): controllers and quotas work across them as within one etcd."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.integration.etcd.test_overrides import keys
from tests.integration.lifecycle.api import Api
from tests.integration.reads.api import Client, version
from tests.integration.server.client import Answer, ask
from tests.until import until

PODS = {"spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


class Etcds:
    """An etcd for most resources, and others by name."""

    def __init__(self, main: EmbeddedEtcd, others: dict[str, EmbeddedEtcd]) -> None:
        self.main, self.others = main, others

    def server(self, directory: Path, **apart: str) -> ApiServer:
        """A server that has not started. `apart` names the resources of each other etcd."""
        overrides = [f"{each}#{self.others[name].endpoint}" for name, all in apart.items() for each in all.split()]
        flags = f"--etcd-servers-overrides={','.join(overrides)}", "--disable-admission-plugins=ServiceAccount"
        return ApiServer(directory, flags, self.main.endpoint)


@pytest.fixture(scope="module")
def etcds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcds]:
    with ExitStack() as begun:
        others = {
            name: begun.enter_context(EmbeddedEtcd(data_dir=tmp_path_factory.mktemp(name))) for name in ("one", "two")
        }
        yield Etcds(begun.enter_context(EmbeddedEtcd()), others)


@pytest.fixture(scope="module")
def servers(etcds: Etcds, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ApiServer]]:
    """Two replicas."""
    apart = "/pods /secrets /services networking.k8s.io/ipaddresses"
    made = [
        etcds.server(tmp_path_factory.mktemp(name), one="coordination.k8s.io/leases", two=apart)
        for name in ("server", "replica")
    ]
    with ExitStack() as begun:
        for server in made:
            server.start()
            begun.callback(server.stop)
        yield made


@pytest.fixture
def server(servers: list[ApiServer]) -> ApiServer:
    return servers[0]


@pytest.fixture
def api(server: ApiServer) -> Api:
    """A client for a new namespace."""
    return Api(server, f"n-{uuid.uuid4().hex[:8]}").begin()


def limit(api: Api, *others: Api, **hard: str) -> None:
    """Creates a quota, and waits until this server, and `others`, know it: admission uses what a server knows."""
    made = api.ask("POST", api.path(resource="resourcequotas"), {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    assert made.status == 201, made.body
    for each in (api, *others):
        until(lambda each=each: _told(each) == hard)


def _told(api: Api) -> Any:
    answer = api.ask("GET", api.path("q?resourceVersion=0", "resourcequotas"))
    return (answer.json.get("status") or {}).get("hard") if answer.status == 200 else None


def quota(api: Api) -> dict[str, Any]:
    found: dict[str, Any] = api.ask("GET", api.path("q", "resourcequotas")).json.get("status") or {}
    return found


def used(api: Api) -> dict[str, str]:
    return dict(quota(api)["used"])


def pod(api: Api, name: str) -> Answer:
    return api.ask("POST", api.path(resource="pods"), {"metadata": {"name": name}, **PODS})


# where objects are stored


def test_each_object_is_in_the_etcd_of_its_resource(etcds: Etcds, api: Api) -> None:
    api.create("c")
    api.create("s", resource="secrets")
    made = ask(api.server, "POST", LEASES.replace("default", api.namespace), {"metadata": {"name": "l"}})
    assert made.status == 201, made.body
    leads = "/registry/leases/kube-system/apiserver-gateway-controllers"
    until(lambda: leads in keys(etcds.others["one"]))  # a server becomes leader soon after its start
    until(lambda: "/registry/gateway/leader" in keys(etcds.others["two"]))
    one, two = keys(etcds.others["one"]), keys(etcds.others["two"])
    assert int(made.json["metadata"]["resourceVersion"]) == one[f"/registry/leases/{api.namespace}/l"][0]
    assert all(key.startswith(("/registry/leases/", "/registry/gateway/")) for key in one)
    assert leads in one
    assert f"/registry/secrets/{api.namespace}/s" in two
    main = keys(etcds.main)
    assert f"/registry/configmaps/{api.namespace}/c" in main
    assert not [key for key in main if key.startswith(("/registry/leases/", "/registry/secrets/"))]
    assert ["/registry/gateway/leader" in each for each in (main, one, two)] == [True, False, True]


def test_lists_and_watches_go_by_the_revisions_of_each(api: Api) -> None:
    maps, secrets = (Client(api.server, api.namespace), api.path(resource="secrets"))
    for number in range(40):
        maps.put(f"m-{number}")
    for name in "abcd":
        api.create(name, resource="secrets")
    page = ask(api.server, "GET", f"{secrets}?limit=2")
    api.delete("a", resource="secrets")
    rest = ask(api.server, "GET", f"{secrets}?limit=2&continue={page.json['metadata']['continue']}")
    assert [each["metadata"]["name"] for each in (*page.json["items"], *rest.json["items"])] == [*"abcd"]
    assert version(rest) == version(page), "the rest is of the same moment"
    assert version(page) < version(maps.list())
    with maps.watch(f"resourceVersion={version(page)}", secrets) as watch:
        made = api.create("e", resource="secrets")["metadata"]["resourceVersion"]
        (deleted, added) = watch.seen(2)
        assert (deleted[:2], added) == (("DELETED", "a"), ("ADDED", "e", int(made)))
    future = ask(
        api.server, "GET", f"{secrets}?resourceVersion={version(maps.list()) + 1000}&resourceVersionMatch=NotOlderThan"
    )
    assert (future.status, future.json["reason"]) == (504, "Timeout")


# quotas


def test_no_more_is_made_elsewhere_than_a_quota_has_room_for(api: Api) -> None:
    limit(api, pods="10", **{"count/secrets": "3"})
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda number: pod(api, f"p-{number}").status, range(40)))
    assert (answers.count(201), answers.count(403)) == (10, 30)
    until(lambda: used(api) == {"pods": "10", "count/secrets": "0"})
    api.create("s", resource="secrets")
    assert used(api)["count/secrets"] == "1", "it is charged before it is answered"
    there = sorted(api.names("pods"))
    assert pod(api, there[0]).status in (403, 409)
    for name in there[:4]:
        assert api.delete(name, resource="pods").status == 200
    assert [pod(api, f"again-{number}").status for number in range(5)] == [201] * 4 + [403], "what is freed is free"
    until(lambda: used(api) == {"pods": "10", "count/secrets": "1"})


def test_replicas_let_in_as_many_as_there_is_room_for(servers: list[ApiServer], api: Api) -> None:
    replica = Api(servers[1], api.namespace)
    limit(api, replica, **{"count/secrets": "20"})

    def create(number: int) -> int:
        body = {"metadata": {"name": f"s-{number // 2 % 25}"}}
        return (api, replica)[number % 2].ask("POST", api.path(resource="secrets"), body).status

    with ThreadPoolExecutor(32) as pool:
        statuses = list(pool.map(create, range(100)))
    assert statuses.count(201) == len(api.names("secrets")) == 20
    assert set(statuses) <= {201, 403, 409}, "a name that is taken is 409 while there is room, then 403"
    until(lambda: used(api) == {"count/secrets": "20"})
    assert {create(number) for number in range(50)} == {403}, "the room is judged before the name"


def test_what_is_not_written_after_all_is_given_back(api: Api) -> None:
    limit(api, pods="5")
    assert pod(api, "p").status == 201
    assert [pod(api, "p").status for _ in range(4)] == [409] * 4
    until(lambda: used(api) == {"pods": "1"})
    assert [pod(api, f"q-{number}").status for number in range(5)] == [201] * 4 + [403]


def test_what_undoes_a_charge_is_undone(api: Api) -> None:
    """As if a recount of the quota had come between the charge and the object."""
    limit(api, pods="5")
    assert [pod(api, f"p-{number}").status for number in range(3)] == [201] * 3
    body = api.ask("GET", api.path("q", "resourcequotas")).json
    body["status"]["used"] = {"pods": "0"}
    assert api.ask("PUT", api.path("q/status", "resourcequotas"), body).status == 200
    until(lambda: used(api) == {"pods": "3"})


def test_a_charge_whose_write_is_under_way_stays(etcds: Etcds, api: Api) -> None:
    """While the etcd of the objects does not answer, their number is unknown, and no charge is removed."""
    until(lambda: api.get("kube-root-ca.crt"))  # a controller creates it: it counts as well
    limit(api, pods="1", configmaps="5")
    two, before = etcds.others["two"], int(used(api)["configmaps"])
    with ThreadPoolExecutor(1) as pool:
        two.pause()
        try:
            late = pool.submit(pod, api, "late")
            until(lambda: used(api)["pods"] == "1")
            api.create("c")  # in another etcd, so nothing of it waits
            assert used(api) == {"pods": "1", "configmaps": str(before + 1)}
        finally:
            two.resume()
        assert late.result().status == 201
    assert pod(api, "more").status == 403
    assert used(api)["pods"] == "1"


# controllers that act in one etcd because of a change in another


@pytest.mark.parametrize("owners, dependents", [("configmaps", "secrets"), ("secrets", "configmaps")])
def test_dependents_go_with_owners_of_another_etcd(api: Api, owners: str, dependents: str) -> None:
    owner = {policy: api.create(policy.lower(), resource=owners) for policy in ("Background", "Foreground", "Orphan")}
    for policy, of in owner.items():
        for number in range(3):
            api.create(f"{policy.lower()}-{number}", [(of, policy == "Foreground")], resource=dependents)
        assert api.delete(policy.lower(), policy, owners).status == 200
    left = {f"orphan-{number}" for number in range(3)}
    until(lambda: api.names(dependents) == left and not api.names(owners))
    until(lambda: all("ownerReferences" not in (api.get(name, dependents) or {})["metadata"] for name in left))


@pytest.mark.parametrize("policy", ["Foreground", "Orphan"])
def test_an_owner_waits_for_dependents_that_come_just_before(api: Api, policy: str) -> None:
    """The deletion of the owner in one etcd may be seen before its dependents in the other."""
    for number in range(15):
        owner = api.create(f"o-{number}")
        api.create(f"d-{number}", [(owner, True)], resource="secrets")
        assert api.delete(f"o-{number}", policy).status == 200
    until(lambda: not api.names())
    assert api.names("secrets") == ({f"d-{number}" for number in range(15)} if policy == "Orphan" else set())


@pytest.mark.parametrize("policy", ["Foreground", "Orphan"])
def test_an_owner_is_not_let_go_while_nobody_knows_its_dependents(etcds: Etcds, api: Api, policy: str) -> None:
    api.create("d", [api.create("o")], resource="secrets")
    two = etcds.others["two"]
    two.pause()
    try:
        assert api.delete("o", policy).status == 200
        api.create("gone")
        api.create("witness", [api.get("gone")])
        api.delete("gone")
        until(lambda: api.get("witness") is None)  # the controller has processed it
        assert api.get("o") is not None
    finally:
        two.resume()
    until(lambda: api.get("o") is None)
    until(lambda: (api.get("d", "secrets") is not None) == (policy == "Orphan"))


def test_a_namespace_ends_with_all_that_is_in_any_etcd(etcds: Etcds, api: Api) -> None:
    for number in range(5):
        api.create(f"c-{number}")
        api.create(f"s-{number}", resource="secrets")
        assert pod(api, f"p-{number}").status == 201
    leases = LEASES.replace("default", api.namespace)
    assert ask(api.server, "POST", leases, {"metadata": {"name": "l"}}).status == 201
    path = f"/api/v1/namespaces/{api.namespace}"
    assert ask(api.server, "DELETE", path).status == 200
    until(lambda: ask(api.server, "GET", path).status == 404)
    for etcd in (etcds.main, *etcds.others.values()):
        assert not [key for key in keys(etcd) if f"/{api.namespace}/" in key]
    api.begin()
    api.create("s-0", resource="secrets")
    assert api.names("secrets") == {"s-0"}


def test_services_have_addresses_and_ports_of_their_own(etcds: Etcds, api: Api) -> None:
    spec = {"type": "NodePort", "ports": [{"port": 80}]}
    made = [
        api.ask("POST", api.path(resource="services"), {"metadata": {"name": f"s-{number}"}, "spec": spec}).json["spec"]
        for number in range(5)
    ]
    addresses = {each["clusterIP"] for each in made}
    assert len(addresses) == len({each["ports"][0]["nodePort"] for each in made}) == 5
    two = keys(etcds.others["two"])
    assert {f"/registry/ipaddresses/{each}" for each in addresses} <= two.keys()
    assert "/registry/ranges/servicenodeports" in two and "/registry/ranges/servicenodeports" not in keys(etcds.main)
    assert "/registry/services/specs/default/kubernetes" in two
    for number in range(5):
        assert api.delete(f"s-{number}", resource="services").status == 200
    assert not {f"/registry/ipaddresses/{each}" for each in addresses} & keys(etcds.others["two"]).keys()


def test_evictions_go_by_budgets_of_another_etcd(api: Api) -> None:
    budgets = f"/apis/policy/v1/namespaces/{api.namespace}/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    made = ask(api.server, "POST", budgets, {"metadata": {"name": "b"}, "spec": spec}).json
    body = {"metadata": {"name": "p", "labels": {"a": "b"}}, **PODS}
    assert api.ask("POST", api.path(resource="pods"), body).status == 201
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    headers = {"Content-Type": "application/merge-patch+json"}
    assert api.ask("PATCH", api.path("p/status", "pods"), {"status": ready}, headers=headers).status == 200

    def allow(disruptions: int) -> None:
        status = {"observedGeneration": made["metadata"]["generation"], "disruptionsAllowed": disruptions}
        status |= {"currentHealthy": 1 + disruptions, "desiredHealthy": 1, "expectedPods": 1}
        assert ask(api.server, "PATCH", f"{budgets}/b/status", {"status": status}, headers=headers).status == 200

    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    allow(0)
    assert api.ask("POST", api.path("p/eviction", "pods"), eviction).status == 429
    allow(1)
    assert api.ask("POST", api.path("p/eviction", "pods"), eviction).status == 201
    assert api.get("p", "pods") is None


# one etcd does not answer


def test_the_others_go_on_without_leases(etcds: Etcds, api: Api) -> None:
    one = etcds.others["one"]
    one.pause()
    try:
        api.create("c")
        assert ask(api.server, "GET", f"{LEASES}/none").status >= 500
        until(lambda: b"[-]etcd-override-0 failed" in ask(api.server, "GET", "/readyz").body)
    finally:
        one.resume()
    until(lambda: ask(api.server, "GET", "/readyz").status == 200)
    assert ask(api.server, "GET", f"{LEASES}/none").status == 404
    owner = api.create("o")
    api.create("d", [owner], resource="secrets")
    api.delete("o")
    until(lambda: not api.names("secrets")), "controllers run again"


def test_the_next_leader_goes_on_in_every_etcd(servers: list[ApiServer], api: Api) -> None:
    for leaves, stays in (servers, servers[::-1]):
        leaves.stop()
        left = Api(stays, api.namespace)
        for owners, dependents in (("configmaps", "secrets"), ("secrets", "configmaps")):
            owner = left.create("o", resource=owners)
            left.create("d", [owner], resource=dependents)
            left.delete("o", resource=owners)
            until(lambda left=left, dependents=dependents: not left.names(dependents))
        leaves.start()


def test_a_start_waits_for_what_admission_looks_at(tmp_path: Path) -> None:
    with EmbeddedEtcd() as main, EmbeddedEtcd(data_dir=tmp_path / "two") as two:
        etcds = Etcds(main, {"two": two})
        server = etcds.server(tmp_path, two="/limitranges coordination.k8s.io/leases")
        server.start()
        api = Api(server, "n").begin()
        spec = {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}
        made = api.ask("POST", api.path(resource="limitranges"), {"metadata": {"name": "l"}, "spec": spec})
        assert made.status == 201, made.body
        server.kill()
        two.stop()
        with ThreadPoolExecutor(1) as pool:
            starting = pool.submit(server.start)
            until(lambda: "waiting for etcd" in server.log_file.read_text())
            assert not starting.done()
            two.start()
            starting.result()
        try:
            limits = pod(api, "p").json["spec"]["containers"][0]["resources"]["limits"]
            assert limits == {"cpu": "1"}, "it knew of it with its first answer"
        finally:
            server.stop()


def test_a_charge_of_a_server_that_dies_is_found(tmp_path: Path) -> None:
    with EmbeddedEtcd() as main, EmbeddedEtcd(data_dir=tmp_path / "two") as two:
        server = Etcds(main, {"two": two}).server(tmp_path, two="/pods")
        server.start()
        api = Api(server, "n").begin()
        limit(api, pods="2")
        assert pod(api, "first").status == 201
        two.pause()
        with ThreadPoolExecutor(1) as pool:
            dying = pool.submit(pod, api, "second")
            until(lambda: used(api)["pods"] == "2")
            server.kill()
            assert dying.exception() is not None or dying.result().status >= 500
        two.resume()
        server.start()
        try:
            there = len(api.names("pods"))  # etcd may have stored a write without an answer
            until(lambda: used(api) == {"pods": str(there)})
            assert [pod(api, f"p-{number}").status for number in range(3)].count(201) == 2 - there
        finally:
            server.stop()
