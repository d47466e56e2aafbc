"""Services: defaults that depend on the type, on session affinity and on the ports."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.defaults import apply_defaults


def service(spec: dict[str, Any], **rest: Any) -> dict[str, Any]:
    obj = {"metadata": {"name": "a"}, "spec": spec, **rest}
    apply_defaults("v1", "Service", obj)
    return obj


def test_the_smallest_service() -> None:
    assert service({"ports": [{"port": 80}]})["spec"] == {
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
    }


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("NodePort", {"externalTrafficPolicy": "Cluster", "internalTrafficPolicy": "Cluster"}),
        (
            "LoadBalancer",
            {
                "externalTrafficPolicy": "Cluster",
                "internalTrafficPolicy": "Cluster",
                "allocateLoadBalancerNodePorts": True,
            },
        ),
        ("ExternalName", {}),
    ],
)
def test_traffic_policies_by_type(kind: str, more: dict[str, Any]) -> None:
    assert service({"type": kind})["spec"] == {"type": kind, "sessionAffinity": "None", **more}


def test_external_addresses_make_a_cluster_service_reachable_from_outside() -> None:
    assert service({"externalIPs": ["192.0.2.1"]})["spec"]["externalTrafficPolicy"] == "Cluster"


@pytest.mark.parametrize(("given", "settled"), [(0, 80), ("", 80), ("http", "http"), (8080, 8080)])
def test_a_port_targets_itself_unless_told(given: object, settled: object) -> None:
    assert service({"ports": [{"port": 80, "targetPort": given}]})["spec"]["ports"][0]["targetPort"] == settled


def test_session_affinity_by_client_lasts_three_hours_and_none_has_no_parameters() -> None:
    default = {"clientIP": {"timeoutSeconds": 10800}}
    assert service({"sessionAffinity": "ClientIP"})["spec"]["sessionAffinityConfig"] == default
    empty = {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {}}}
    assert service(empty)["spec"]["sessionAffinityConfig"] == default
    assert (
        "sessionAffinityConfig" not in service({"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}})["spec"]
    )


def test_a_balancers_addresses_are_virtual() -> None:
    ingress = [{"ip": "192.0.2.1"}, {"ip": "192.0.2.2", "ipMode": "Proxy"}, {"hostname": "a.example.com"}]
    obj = service({"type": "LoadBalancer"}, status={"loadBalancer": {"ingress": ingress}})
    assert [each.get("ipMode") for each in obj["status"]["loadBalancer"]["ingress"]] == ["VIP", "Proxy", None]
