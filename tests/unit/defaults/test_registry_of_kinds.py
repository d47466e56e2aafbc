"""The other kinds: for each an object as sent and what is in it after defaulting."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from gateway.defaults import apply_defaults

RBAC = "rbac.authorization.k8s.io"
ADMISSION = "admissionregistration.k8s.io/v1"
FLOW = "flowcontrol.apiserver.k8s.io/v1"
MARK = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
MATCH = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
WEBHOOK = {**MATCH, "failurePolicy": "Fail", "timeoutSeconds": 10}
METRICS = [
    {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }
]
SCALE_UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
SCALE_DOWN = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}
AUTOSCALER = "HorizontalPodAutoscaler"
OTHER_METRICS = {"autoscaling.alpha.kubernetes.io/metrics": '[{"type":"Pods"}]'}

CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("v1", "Secret", {}, {"type": "Opaque"}),
    (
        "v1",
        "Secret",
        {"stringData": {"a": "b", "c": "é"}, "data": {"a": "eA==", "z": "eA=="}},
        {"type": "Opaque", "data": {"a": "Yg==", "c": "w6k=", "z": "eA=="}},
    ),
    (
        "v1",
        "Namespace",
        {"metadata": {"name": "n", "labels": {"a": "b"}}},
        {
            "metadata": {"name": "n", "labels": {"a": "b", "kubernetes.io/metadata.name": "n"}},
            "status": {"phase": "Active"},
        },
    ),
    (
        "v1",
        "Namespace",
        {"metadata": {"generateName": "n-"}},
        {"metadata": {"generateName": "n-"}, "status": {"phase": "Active"}},
    ),
    (
        "v1",
        "Node",
        {"spec": {"podCIDR": "192.0.2.0/24"}, "status": {"capacity": {"cpu": "1500u"}}},
        {
            "spec": {"podCIDR": "192.0.2.0/24", "podCIDRs": ["192.0.2.0/24"]},
            "status": {"capacity": {"cpu": "2m"}, "allocatable": {"cpu": "2m"}},
        },
    ),
    (
        "v1",
        "LimitRange",
        {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Mi"}}]}},
        {
            "spec": {
                "limits": [
                    {
                        "type": "Container",
                        "max": {"cpu": "2"},
                        "min": {"cpu": "1", "memory": "1Mi"},
                        "default": {"cpu": "2"},
                        "defaultRequest": {"cpu": "2", "memory": "1Mi"},
                    }
                ]
            }
        },
    ),
    (
        "v1",
        "LimitRange",
        {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}},
        {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}},
    ),
    ("v1", "ResourceQuota", {"spec": {"hard": {"cpu": "1n"}}}, {"spec": {"hard": {"cpu": "1m"}}}),
    (
        "v1",
        "Endpoints",
        {"subsets": [{"ports": [{"port": 80}]}]},
        {"subsets": [{"ports": [{"port": 80, "protocol": "TCP"}]}]},
    ),
    (
        "v1",
        "PersistentVolume",
        {"spec": {"hostPath": {"path": "/a"}}},
        {
            "spec": {
                "hostPath": {"path": "/a", "type": ""},
                "persistentVolumeReclaimPolicy": "Retain",
                "volumeMode": "Filesystem",
            },
            "status": {"phase": "Pending"},
        },
    ),
    ("v1", "PersistentVolumeClaim", {}, {"spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}),
    ("autoscaling/v1", AUTOSCALER, {}, {"spec": {"minReplicas": 1, "targetCPUUtilizationPercentage": 80}}),
    (
        "autoscaling/v1",
        AUTOSCALER,
        {"metadata": {"annotations": OTHER_METRICS}},
        {"metadata": {"annotations": OTHER_METRICS}, "spec": {"minReplicas": 1}},
    ),
    (
        "autoscaling/v2",
        AUTOSCALER,
        {"metadata": {"annotations": OTHER_METRICS}},
        {"metadata": {}, "spec": {"minReplicas": 1, "metrics": METRICS}},
    ),
    (
        "autoscaling/v2",
        AUTOSCALER,
        {"spec": {"metrics": METRICS, "behavior": {"scaleUp": {"selectPolicy": "Disabled"}}}},
        {
            "spec": {
                "minReplicas": 1,
                "metrics": METRICS,
                "behavior": {"scaleUp": {**SCALE_UP, "selectPolicy": "Disabled"}, "scaleDown": SCALE_DOWN},
            }
        },
    ),
    ("networking.k8s.io/v1", "NetworkPolicy", {}, {"spec": {"policyTypes": ["Ingress"]}}),
    (
        "networking.k8s.io/v1",
        "NetworkPolicy",
        {"spec": {"egress": [{"ports": [{"port": 1}]}]}},
        {"spec": {"policyTypes": ["Ingress", "Egress"], "egress": [{"ports": [{"port": 1, "protocol": "TCP"}]}]}},
    ),
    (
        "networking.k8s.io/v1",
        "IngressClass",
        {"spec": {"parameters": {}}},
        {"spec": {"parameters": {"scope": "Cluster"}}},
    ),
    ("discovery.k8s.io/v1", "EndpointSlice", {"ports": [{}]}, {"ports": [{"name": "", "protocol": "TCP"}]}),
    (
        "policy/v1",
        "PodDisruptionBudget",
        {"spec": {"selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": MARK, "operator": "Exists"}]}}},
        {"spec": {"selector": {"matchLabels": {"a": "b"}}}},
    ),
    (
        "policy/v1",
        "PodDisruptionBudget",
        {"spec": {"selector": {"matchExpressions": [{"key": MARK, "operator": "Exists"}]}}},
        {"spec": {"selector": {"matchExpressions": [{"key": MARK, "operator": "Exists"}]}}},
    ),
    (
        f"{RBAC}/v1",
        "RoleBinding",
        {"roleRef": {"kind": "Role"}, "subjects": [{"kind": "User"}, {"kind": "Group"}, {"kind": "ServiceAccount"}]},
        {
            "roleRef": {"kind": "Role", "apiGroup": RBAC},
            "subjects": [
                {"kind": "User", "apiGroup": RBAC},
                {"kind": "Group", "apiGroup": RBAC},
                {"kind": "ServiceAccount"},
            ],
        },
    ),
    ("authentication.k8s.io/v1", "TokenRequest", {}, {"spec": {"expirationSeconds": 3600}}),
    ("storage.k8s.io/v1", "StorageClass", {}, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
    (
        "storage.k8s.io/v1",
        "CSIDriver",
        {},
        {
            "spec": {
                "attachRequired": True,
                "podInfoOnMount": False,
                "storageCapacity": False,
                "fsGroupPolicy": "ReadWriteOnceWithFSType",
                "volumeLifecycleModes": ["Persistent"],
                "requiresRepublish": False,
                "seLinuxMount": False,
            }
        },
    ),
    ("scheduling.k8s.io/v1", "PriorityClass", {}, {"preemptionPolicy": "PreemptLowerPriority"}),
    (
        ADMISSION,
        "ValidatingWebhookConfiguration",
        {"webhooks": [{"clientConfig": {"service": {}}, "rules": [{}]}]},
        {"webhooks": [{**WEBHOOK, "clientConfig": {"service": {"port": 443}}, "rules": [{"scope": "*"}]}]},
    ),
    (
        ADMISSION,
        "MutatingWebhookConfiguration",
        {"webhooks": [{}]},
        {"webhooks": [{**WEBHOOK, "reinvocationPolicy": "Never"}]},
    ),
    (
        ADMISSION,
        "ValidatingAdmissionPolicy",
        {"spec": {"matchConstraints": {"resourceRules": [{}]}}},
        {"spec": {"failurePolicy": "Fail", "matchConstraints": {**MATCH, "resourceRules": [{"scope": "*"}]}}},
    ),
    (
        ADMISSION,
        "MutatingAdmissionPolicyBinding",
        {"spec": {"matchResources": {"excludeResourceRules": [{}]}}},
        {"spec": {"matchResources": {**MATCH, "excludeResourceRules": [{"scope": "*"}]}}},
    ),
    (FLOW, "FlowSchema", {"spec": {"matchingPrecedence": 0}}, {"spec": {"matchingPrecedence": 1000}}),
    (
        FLOW,
        "PriorityLevelConfiguration",
        {"spec": {"limited": {"limitResponse": {"queuing": {"queues": 0}}}}},
        {
            "spec": {
                "limited": {
                    "nominalConcurrencyShares": 30,
                    "lendablePercent": 0,
                    "limitResponse": {"queuing": {"queues": 64, "handSize": 8, "queueLengthLimit": 50}},
                }
            }
        },
    ),
    (
        FLOW,
        "PriorityLevelConfiguration",
        {"spec": {"exempt": {}}},
        {"spec": {"exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}},
    ),
    (
        "resource.k8s.io/v1",
        "ResourceClaim",
        {"spec": {"devices": {"requests": [{"exactly": {"tolerations": [{}]}}, {"firstAvailable": [{"count": 2}]}]}}},
        {
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "exactly": {
                                "allocationMode": "ExactCount",
                                "count": 1,
                                "tolerations": [{"operator": "Equal"}],
                            }
                        },
                        {"firstAvailable": [{"allocationMode": "ExactCount", "count": 2}]},
                    ]
                }
            }
        },
    ),
    (
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        {"spec": {"names": {"kind": "FooBar"}, "versions": [{"name": "v1"}, {"name": "v2", "storage": True}]}},
        {
            "spec": {
                "names": {"kind": "FooBar", "singular": "foobar", "listKind": "FooBarList"},
                "versions": [{"name": "v1"}, {"name": "v2", "storage": True}],
                "conversion": {"strategy": "None"},
            },
            "status": {"storedVersions": ["v2"]},
        },
    ),
    ("apiregistration.k8s.io/v1", "APIService", {"spec": {"service": {}}}, {"spec": {"service": {"port": 443}}}),
]


@pytest.mark.parametrize(
    ("api_version", "kind", "given", "settled"),
    CASES,
    ids=[f"{kind}-{number}" for number, (_, kind, *_) in enumerate(CASES)],
)
def test_defaults_of_a_kind(api_version: str, kind: str, given: dict[str, Any], settled: dict[str, Any]) -> None:
    obj = {"metadata": {}, **deepcopy(given)}
    apply_defaults(api_version, kind, obj)
    assert obj == {"metadata": {}, **settled}
    apply_defaults(api_version, kind, obj)
    assert obj == {"metadata": {}, **settled}


def test_a_taint_gets_the_time_it_was_added_to_the_second() -> None:
    obj: dict[str, Any] = {"metadata": {}, "spec": {"devices": [{"taints": [{"key": "k"}]}]}}
    apply_defaults("resource.k8s.io/v1", "ResourceSlice", obj)
    assert obj["spec"]["devices"][0]["taints"][0]["timeAdded"][10::9] == "TZ"
