"""Pods: what a pod spec gets anywhere, and what only a pod gets."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.defaults import apply_defaults

CONTAINER = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}
SPEC = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "securityContext": {},
}
PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def pod(spec: dict[str, Any], **rest: Any) -> dict[str, Any]:
    obj = {"metadata": {"name": "a"}, "spec": spec, **rest}
    apply_defaults("v1", "Pod", obj)
    return obj


def spec_of(**spec: Any) -> dict[str, Any]:
    result: dict[str, Any] = pod({"containers": [{"name": "a", "image": "a"}], **spec})["spec"]
    return result


def container(**fields: Any) -> dict[str, Any]:
    result: dict[str, Any] = pod({"containers": [{"name": "a", "image": "a", **fields}]})["spec"]["containers"][0]
    return result


def test_the_smallest_pod() -> None:
    spec = spec_of()
    assert spec == {**SPEC, "enableServiceLinks": True, "containers": [{"name": "a", "image": "a", **CONTAINER}]}


def test_a_template_gets_a_pod_specs_defaults_but_not_a_pods() -> None:
    obj: dict[str, Any] = {
        "metadata": {},
        "template": {
            "spec": {
                "hostNetwork": True,
                "containers": [
                    {"name": "a", "image": "a", "ports": [{"containerPort": 1}], "resources": {"limits": {"cpu": "1"}}}
                ],
            }
        },
    }
    apply_defaults("v1", "PodTemplate", obj)
    assert obj["template"]["spec"] == {
        **SPEC,
        "hostNetwork": True,
        "containers": [
            {
                "name": "a",
                "image": "a",
                "ports": [{"containerPort": 1, "protocol": "TCP"}],
                "resources": {"limits": {"cpu": "1"}},
                **CONTAINER,
            }
        ],
    }


def test_probes_and_hooks() -> None:
    got = container(
        livenessProbe={"httpGet": {"port": 80}},
        readinessProbe={"grpc": {"port": 1}, "periodSeconds": 0, "timeoutSeconds": 5},
        startupProbe={"exec": {}},
        lifecycle={"postStart": {"httpGet": {"port": 1, "scheme": "HTTPS"}}, "preStop": {"sleep": {"seconds": 1}}},
    )
    assert got["livenessProbe"] == {**PROBE, "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}}
    assert got["readinessProbe"] == {**PROBE, "timeoutSeconds": 5, "grpc": {"port": 1, "service": ""}}
    assert got["startupProbe"] == {**PROBE, "exec": {}}
    assert got["lifecycle"] == {
        "postStart": {"httpGet": {"port": 1, "path": "/", "scheme": "HTTPS"}},
        "preStop": {"sleep": {"seconds": 1}},
    }


def test_environment_from_fields_and_files() -> None:
    got = container(
        env=[
            {"name": "A", "value": "1"},
            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "C", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}},
            {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ]
    )
    assert got["env"][0] == {"name": "A", "value": "1"}
    assert got["env"][1]["valueFrom"]["fieldRef"] == {"fieldPath": "metadata.name", "apiVersion": "v1"}
    assert got["env"][2]["valueFrom"]["fileKeyRef"]["optional"] is False
    assert got["env"][3]["valueFrom"]["secretKeyRef"] == {"name": "s", "key": "k"}


def test_requests_default_to_limits_resource_by_resource() -> None:
    got = container(resources={"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}})
    assert got["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert container(resources={"requests": {"cpu": "1"}})["resources"] == {"requests": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("text", "rounded"),
    [
        ("1n", "1m"),
        ("1500u", "2m"),
        ("999999u", "1"),
        ("-1u", "-1m"),
        ("1e-6", "1e-3"),
        ("100m", "100m"),
        ("1Gi", "1Gi"),
    ],
)
def test_quantities_have_nothing_finer_than_a_thousandth(text: str, rounded: str) -> None:
    assert container(resources={"requests": {"cpu": text}})["resources"]["requests"]["cpu"] == rounded


def test_on_the_hosts_network_a_containers_port_is_the_hosts() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 53, "hostPort": 5353, "protocol": "UDP"}]
    spec = pod({"hostNetwork": True, "containers": [{"name": "a", "image": "a", "ports": ports}]})["spec"]
    assert spec["containers"][0]["ports"] == [
        {"containerPort": 80, "hostPort": 80, "protocol": "TCP"},
        {"containerPort": 53, "hostPort": 5353, "protocol": "UDP"},
    ]


@pytest.mark.parametrize(
    ("given", "settled"),
    [
        ({}, {"emptyDir": {}}),
        ({"emptyDir": {"medium": "Memory"}}, {"emptyDir": {"medium": "Memory"}}),
        ({"configMap": {"name": "c"}}, {"configMap": {"name": "c", "defaultMode": 420}}),
        ({"secret": {"defaultMode": 0}}, {"secret": {"defaultMode": 0}}),
        ({"hostPath": {"path": "/a"}}, {"hostPath": {"path": "/a", "type": ""}}),
        (
            {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {
                "downwardAPI": {
                    "defaultMode": 420,
                    "items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}}],
                }
            },
        ),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"configMap": {"name": "c"}}]}},
            {
                "projected": {
                    "defaultMode": 420,
                    "sources": [
                        {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}},
                        {"configMap": {"name": "c"}},
                    ],
                }
            },
        ),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}}},
        ),
        ({"image": {"reference": "a:1"}}, {"image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}}),
        ({"rbd": {"user": "u"}}, {"rbd": {"user": "u", "pool": "rbd", "keyring": "/etc/ceph/keyring"}}),
        ({"scaleIO": {}}, {"scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"}}),
        ({"iscsi": {}}, {"iscsi": {"iscsiInterface": "default"}}),
        (
            {"azureDisk": {}},
            {"azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"}},
        ),
    ],
)
def test_volumes(given: dict[str, Any], settled: dict[str, Any]) -> None:
    assert spec_of(volumes=[{"name": "v", **given}])["volumes"] == [{"name": "v", **settled}]


def test_both_names_of_the_service_account_are_kept_alike() -> None:
    old = spec_of(serviceAccount="builder")
    assert (old["serviceAccountName"], old["serviceAccount"]) == ("builder", "builder")
    both = spec_of(serviceAccount="old", serviceAccountName="new")
    assert (both["serviceAccountName"], both["serviceAccount"]) == ("new", "new")


def test_a_negative_grace_period_is_the_shortest_in_a_pod() -> None:
    assert spec_of(terminationGracePeriodSeconds=-5)["terminationGracePeriodSeconds"] == 1
    assert spec_of(terminationGracePeriodSeconds=0)["terminationGracePeriodSeconds"] == 0


def test_annotations_that_once_held_init_containers_go_away() -> None:
    obj: dict[str, Any] = {
        "metadata": {"annotations": {"pod.beta.kubernetes.io/init-containers": "[]", "a": "b"}},
        "spec": {"containers": []},
    }
    apply_defaults("v1", "Pod", obj)
    assert obj["metadata"]["annotations"] == {"a": "b"}


@pytest.mark.parametrize(
    ("status", "settled"),
    [
        ({"podIP": "192.0.2.1"}, {"podIP": "192.0.2.1", "podIPs": [{"ip": "192.0.2.1"}]}),
        ({"podIPs": [{"ip": "192.0.2.1"}]}, {"podIP": "192.0.2.1", "podIPs": [{"ip": "192.0.2.1"}]}),
        (
            {"podIP": "192.0.2.1", "podIPs": [{"ip": "192.0.2.2"}, {"ip": "2001:db8::1"}]},
            {"podIP": "192.0.2.1", "podIPs": [{"ip": "192.0.2.1"}]},
        ),
    ],
)
def test_the_single_address_and_the_first_of_several_are_one(status: dict[str, Any], settled: dict[str, Any]) -> None:
    assert pod({"containers": []}, status=status)["status"] == settled


def test_a_required_list_may_be_null() -> None:
    assert (
        pod({"containers": None, "hostNetwork": True, "resources": {"limits": {"cpu": "1"}}})["spec"]["containers"]
        is None
    )
