"""The declarative validation rules of built-in types, by resource (zz_generated.validations.go of k8s.io/kubernetes).

The table has only the rules that kube-apiserver enforces: rules of the stage alpha have no effect. Those of
resource.k8s.io are in `gateway.kinds.declared_device_rules`, those of pods and volumes' health in
`gateway.kinds.declared_pod_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.kinds.declared_device_rules import RULES as DEVICE_RULES
from gateway.kinds.declared_pod_rules import RULES as POD_RULES
from gateway.kinds.identity import GroupResource
from gateway.validation.declared_checks import (
    at_most,
    at_most_characters,
    at_most_one,
    banned,
    by_mode,
    format_of,
    immutable,
    minimum,
    one_of,
    required,
    uncleared,
)
from gateway.validation.declared_formats import caseless_long_name, long_name, short_name
from gateway.validation.declared_rules import DeclaredRules

_NAME = DeclaredRules("metadata.name", (format_of(long_name),))
_ROLE_REF = immutable._replace(told=False)  # its stage is alpha
_ROLE_BINDING = (
    DeclaredRules("subjects[].name", (required,)),
    DeclaredRules("roleRef", (_ROLE_REF,)),
    DeclaredRules("roleRef.name", (required,)),
)
_ROLE = (DeclaredRules("rules[].verbs", (required,)),)
_RBAC = "rbac.authorization.k8s.io"
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_APPROVAL = at_most_one(
    "conditions", "Approved", "Denied", instead="Approved and Denied conditions are mutually exclusive"
)


def _job_scheduling(spec: str) -> tuple[DeclaredRules, ...]:
    place = f"{spec}.scheduling?"
    return DeclaredRules(place, (banned,), "!WorkloadWithJob"), DeclaredRules(place, (uncleared,))


_OF_KINDS: Mapping[GroupResource, tuple[DeclaredRules, ...]] = {
    GroupResource("", "nodes"): (
        DeclaredRules("spec.podPreemptionPolicy?", (banned,), "!InPlacePodVerticalScalingSchedulerPreemption"),
    ),
    GroupResource("", "replicationcontrollers"): (
        _NAME,
        DeclaredRules("spec.replicas?", (required, minimum(0))),
        DeclaredRules("spec.minReadySeconds", (minimum(0),)),
    ),
    GroupResource("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): (
        DeclaredRules("spec.policyName", (required,)),
        DeclaredRules("spec.validationActions", (required,)),
    ),
    GroupResource("autoscaling", "horizontalpodautoscalers"): (
        DeclaredRules("spec.minReplicas?", (minimum(0),), "HPAScaleToZero"),
        DeclaredRules("spec.minReplicas?", (minimum(1),), "!HPAScaleToZero"),
        DeclaredRules("spec.maxReplicas", (required, minimum(1))),
    ),
    GroupResource("batch", "cronjobs"): (
        DeclaredRules("spec.schedule", (required,)),
        *_job_scheduling("spec.jobTemplate.spec"),
    ),
    GroupResource("batch", "jobs"): _job_scheduling("spec"),
    GroupResource("certificates.k8s.io", "certificatesigningrequests"): (
        DeclaredRules("status.conditions", (_APPROVAL,)),
    ),
    GroupResource("discovery.k8s.io", "endpointslices"): (
        DeclaredRules("addressType", (required, immutable, one_of(*_ADDRESS_TYPES))),
        DeclaredRules("endpoints[].addresses", (required, at_most(100))),
    ),
    GroupResource("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): (
        DeclaredRules("spec", (by_mode("type", "exempt", Exempt=None), by_mode("type", "limited", Limited=required))),
        DeclaredRules("spec.type", (required,)),
        DeclaredRules("spec.limited?.limitResponse", (by_mode("type", "queuing", Queue=required),)),
        DeclaredRules("spec.limited?.limitResponse.type", (required,)),
    ),
    GroupResource("networking.k8s.io", "ingressclasses"): (
        DeclaredRules("spec.parameters?.kind", (required,)),
        DeclaredRules("spec.parameters?.name", (required,)),
    ),
    GroupResource("networking.k8s.io", "ipaddresses"): (
        DeclaredRules("spec.parentRef?", (required, immutable)),
        DeclaredRules("spec.parentRef?.resource", (required,)),
        DeclaredRules("spec.parentRef?.name", (required,)),
    ),
    GroupResource("networking.k8s.io", "networkpolicies"): (
        DeclaredRules("spec.ingress[].from[].ipBlock?.cidr", (required,)),
        DeclaredRules("spec.egress[].to[].ipBlock?.cidr", (required,)),
    ),
    GroupResource("node.k8s.io", "runtimeclasses"): (
        DeclaredRules("handler", (immutable, required, format_of(short_name))),
    ),
    GroupResource(_RBAC, "roles"): _ROLE,
    GroupResource(_RBAC, "clusterroles"): _ROLE,
    GroupResource(_RBAC, "rolebindings"): _ROLE_BINDING,
    GroupResource(_RBAC, "clusterrolebindings"): _ROLE_BINDING,
    GroupResource("storage.k8s.io", "storageclasses"): (
        DeclaredRules("provisioner", (required, immutable)),
        DeclaredRules("parameters", (immutable,)),
        DeclaredRules("reclaimPolicy?", (immutable,)),
        DeclaredRules("volumeBindingMode?", (immutable,)),
    ),
    GroupResource("storage.k8s.io", "volumeattachments"): (
        DeclaredRules("spec", (immutable,)),
        DeclaredRules("spec.attacher", (required, format_of(caseless_long_name), at_most_characters(63))),
    ),
    **DEVICE_RULES,
}

RULES: Mapping[GroupResource, tuple[DeclaredRules, ...]] = {
    resource: (*POD_RULES.get(resource, ()), *_OF_KINDS.get(resource, ()))
    for resource in dict.fromkeys((*_OF_KINDS, *POD_RULES))
}
