"""Kinds and fields new in 1.37: ClusterTrustBundles, DeviceTaintRules, StorageVersionMigrations, CSINodes' status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import api_server
from apiserver_gateway.testing.requests import Refused, ask
from apiserver_gateway.testing.server import ApiServer
from gateway.credentials.certificates import new_authority
from storage.embedded import EmbeddedEtcd

BUNDLES = "/apis/certificates.k8s.io/v1/clustertrustbundles"
RULES = "/apis/resource.k8s.io/v1/devicetaintrules"
MIGRATIONS = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
NODES = "/apis/storage.k8s.io/v1/csinodes"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
NOW = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def api() -> Iterator[ApiServer]:
    with api_server("--controllers=-*", version="1.37") as server:
        yield server


@pytest.fixture(scope="module")
def anchor() -> str:
    return new_authority().certificate.decode()


def named(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


def refusal(api: ApiServer, method: str, path: str, body: Any = None) -> str:
    with pytest.raises(Refused) as refused:
        ask(api, method, path, body)
    return str(refused.value)


def condition(kind: str, status: str) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": "R", "message": "", "lastTransitionTime": NOW}


def test_a_bundle_of_a_signer_begins_with_its_name(api: ApiServer, anchor: str) -> None:
    spec = {"signerName": "example.com/ca", "trustBundle": anchor}
    said = refusal(api, "POST", BUNDLES, named("other", **spec))
    assert "ClusterTrustBundle for signerName example.com/ca must be named with prefix example.com:ca:" in said
    ask(api, "POST", BUNDLES, named("example.com:ca:one", **spec))
    said = refusal(api, "POST", BUNDLES, named("a:b", trustBundle=anchor))
    assert 'ClusterTrustBundle without signer name must not have ":" in its name' in said
    found = ask(api, "GET", f"{BUNDLES}?fieldSelector=spec.signerName=example.com/ca")
    assert [each["metadata"]["name"] for each in found["items"]] == ["example.com:ca:one"]


@pytest.mark.parametrize(
    ("bundle", "said"),
    [
        ("", "at least one trust anchor must be provided"),
        ("{0}{0}", "duplicate trust anchor (indices [0 1])"),
        ("-----BEGIN KEY-----\nAAAA\n-----END KEY-----\n", "entry 0 has bad block type: KEY"),
        ("{0}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "entry 1 does not parse as X.509"),
    ],
)
def test_a_bundle_is_of_certificates_of_authorities(api: ApiServer, anchor: str, bundle: str, said: str) -> None:
    shown = refusal(api, "POST", BUNDLES, named("refused", trustBundle=bundle.format(anchor)))
    assert f'spec.trustBundle: Invalid value: "<value omitted>": {said}' in shown


def test_the_signer_of_a_bundle_stays(api: ApiServer, anchor: str) -> None:
    made = ask(api, "POST", BUNDLES, named("stays", trustBundle=anchor))
    made["spec"]["signerName"] = "example.com/ca"
    assert "spec.signerName: Invalid value" in refusal(api, "PUT", f"{BUNDLES}/stays", made)


def test_a_taint_rule_counts_its_generations_and_keeps_its_status_apart(api: ApiServer) -> None:
    taint = {"key": "example.com/broken", "effect": "NoSchedule", "timeAdded": NOW}
    made = ask(api, "POST", RULES, named("rule", deviceSelector={"driver": "gpu.example.com"}, taint=taint))
    assert (made["metadata"]["generation"], made["status"]) == (1, {})
    made["spec"]["taint"]["effect"] = "NoExecute"
    made["status"] = {"conditions": [condition("EvictionInProgress", "True")]}
    changed = ask(api, "PUT", f"{RULES}/rule", made)
    assert (changed["metadata"]["generation"], changed["status"]) == (2, {})
    assert changed["spec"]["taint"]["timeAdded"] > NOW
    changed["status"], changed["spec"] = made["status"], {"taint": taint}
    kept = ask(api, "PUT", f"{RULES}/rule/status", changed)
    assert kept["status"] == made["status"] and kept["spec"]["taint"]["effect"] == "NoExecute"
    assert "spec.taint.effect: Required value" in refusal(api, "POST", RULES, named("r", taint={"key": "a"}))


def test_a_migration_names_a_resource_for_good_and_ends_once(api: ApiServer) -> None:
    said = refusal(api, "POST", MIGRATIONS, named("m", resource={"group": "apps"}))
    assert "spec.resource.resource: Required value: resource is required to be set" in said
    made = ask(api, "POST", MIGRATIONS, named("m", resource={"group": "apps", "resource": "deployments"}))
    changed = {**made, "spec": {"resource": {"group": "apps", "resource": "daemonsets"}}}
    said = refusal(api, "PUT", f"{MIGRATIONS}/m", changed)
    assert 'spec: Invalid value: {"Resource":{"group":"apps","resource":"daemonsets"}}: field is immutable' in said
    made["status"] = {"conditions": [condition("Succeeded", "True")], "resourceVersion": "7"}
    done = ask(api, "PUT", f"{MIGRATIONS}/m/status", made)
    done["status"] = {"conditions": [condition("Succeeded", "False")], "resourceVersion": "07"}
    said = refusal(api, "PUT", f"{MIGRATIONS}/m/status", done)
    for part in ("resource version is not well formed: 07", "field is immutable", "cannot be set to false once"):
        assert part in said


def test_the_status_of_a_csi_node_has_writers_of_its_own(api: ApiServer) -> None:
    health = {"storageHealth": [{"name": "csi.example.com", "healthConditions": []}]}
    made = ask(api, "POST", NODES, {**named("n", drivers=[]), "status": health})
    made["metadata"]["labels"] = {"a": "b"}
    answered = ask(api, "PUT", f"{NODES}/n/status", {**made, "status": health})
    assert made["status"] == answered["status"] == {}  # its feature gate is off
    assert "labels" not in answered["metadata"]
    with api_server("--controllers=-*", version="1.36") as before:
        assert "status" not in ask(before, "POST", NODES, named("n", drivers=[]))


def test_slices_are_selected_by_their_pool_and_lack_what_has_its_gate_off(api: ApiServer) -> None:
    for name in ("p", "q"):
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": "d", "nodeAllocatableResources": {"cpu": {"mapping": {"deviceMultiplier": "1"}}}}]
        spec = {"driver": "a.b", "nodeName": "n", "pool": pool, "devices": devices, "skipNodeOperations": ["*"]}
        made = ask(api, "POST", SLICES, named(f"of-{name}", **spec))
        assert made["spec"]["devices"] == [{"name": "d"}] and "skipNodeOperations" not in made["spec"]
    found = ask(api, "GET", f"{SLICES}?fieldSelector=spec.pool.name=q,spec.driver=a.b")
    assert [each["metadata"]["name"] for each in found["items"]] == ["of-q"]


def test_declared_errors_come_last_and_once(api: ApiServer) -> None:
    spec = {"type": "Exempt", "limited": {"limitResponse": {"type": "Queue"}}}
    said = refusal(api, "POST", LEVELS, named("odd", **spec))
    wrong = "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"
    forbidden, lacking = "spec.limited: Forbidden", "spec.limited.limitResponse.queuing: Required value"
    assert f"[{wrong}, {forbidden}, {lacking}]" in said


def test_what_1_37_has_stored_is_kept_where_an_earlier_minor_is_served(anchor: str) -> None:
    with EmbeddedEtcd() as etcd:
        with api_server("--controllers=-*", etcd_servers=etcd.endpoint, version="1.37") as later:
            ask(later, "POST", BUNDLES, named("kept", trustBundle=anchor))
        with api_server("--controllers=-*", etcd_servers=etcd.endpoint, version="1.36") as before:
            assert "404" in refusal(before, "GET", BUNDLES)
        with api_server("--controllers=-*", etcd_servers=etcd.endpoint, version="1.37") as later:
            assert ask(later, "GET", f"{BUNDLES}/kept")["spec"]["trustBundle"] == anchor
