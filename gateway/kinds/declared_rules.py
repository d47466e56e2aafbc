"""The declarative validation rules of built-in types, by resource (zz_generated.validations.go of k8s.io/kubernetes).

The table has only the rules that kube-apiserver enforces: rules of the stage alpha have no effect. Those of
resource.k8s.io are in `gateway.kinds.declared_device_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.kinds.declared_device_rules import RULES as DEVICE_RULES
from gateway.kinds.identity import GroupResource
from gateway.validation.declared import Declared
from gateway.validation.declared_checks import (
    at_most,
    at_most_characters,
    at_most_one,
    by_mode,
    format_of,
    immutable,
    minimum,
    one_of,
    required,
)
from gateway.validation.declared_formats import caseless_long_name, long_name, short_name

_NAME = Declared("metadata.name", (format_of(long_name),))
_ROLE_REF = immutable._replace(told=False)  # its stage is alpha
_ROLE_BINDING = (
    Declared("subjects[].name", (required,)),
    Declared("roleRef", (_ROLE_REF,)),
    Declared("roleRef.name", (required,)),
)
_ROLE = (Declared("rules[].verbs", (required,)),)
_RBAC = "rbac.authorization.k8s.io"
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_APPROVAL = at_most_one(
    "conditions", "Approved", "Denied", instead="Approved and Denied conditions are mutually exclusive"
)

RULES: Mapping[GroupResource, tuple[Declared, ...]] = {
    GroupResource("", "replicationcontrollers"): (
        _NAME,
        Declared("spec.replicas?", (required, minimum(0))),
        Declared("spec.minReadySeconds", (minimum(0),)),
    ),
    GroupResource("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): (
        Declared("spec.policyName", (required,)),
        Declared("spec.validationActions", (required,)),
    ),
    GroupResource("autoscaling", "horizontalpodautoscalers"): (
        Declared("spec.minReplicas?", (minimum(0),), "HPAScaleToZero"),
        Declared("spec.minReplicas?", (minimum(1),), "!HPAScaleToZero"),
        Declared("spec.maxReplicas", (required, minimum(1))),
    ),
    GroupResource("batch", "cronjobs"): (Declared("spec.schedule", (required,)),),
    GroupResource("certificates.k8s.io", "certificatesigningrequests"): (Declared("status.conditions", (_APPROVAL,)),),
    GroupResource("discovery.k8s.io", "endpointslices"): (
        Declared("addressType", (required, immutable, one_of(*_ADDRESS_TYPES))),
        Declared("endpoints[].addresses", (required, at_most(100))),
    ),
    GroupResource("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): (
        Declared("spec", (by_mode("type", "limited", Limited=required), by_mode("type", "exempt", Exempt=None))),
        Declared("spec.type", (required,)),
        Declared("spec.limited?.limitResponse", (by_mode("type", "queuing", Queue=required),)),
        Declared("spec.limited?.limitResponse.type", (required,)),
    ),
    GroupResource("networking.k8s.io", "ingressclasses"): (
        Declared("spec.parameters?.kind", (required,)),
        Declared("spec.parameters?.name", (required,)),
    ),
    GroupResource("networking.k8s.io", "ipaddresses"): (
        Declared("spec.parentRef?", (required, immutable)),
        Declared("spec.parentRef?.resource", (required,)),
        Declared("spec.parentRef?.name", (required,)),
    ),
    GroupResource("networking.k8s.io", "networkpolicies"): (
        Declared("spec.ingress[].from[].ipBlock?.cidr", (required,)),
        Declared("spec.egress[].to[].ipBlock?.cidr", (required,)),
    ),
    GroupResource("node.k8s.io", "runtimeclasses"): (
        Declared("handler", (immutable, required, format_of(short_name))),
    ),
    GroupResource(_RBAC, "roles"): _ROLE,
    GroupResource(_RBAC, "clusterroles"): _ROLE,
    GroupResource(_RBAC, "rolebindings"): _ROLE_BINDING,
    GroupResource(_RBAC, "clusterrolebindings"): _ROLE_BINDING,
    GroupResource("storage.k8s.io", "storageclasses"): (
        Declared("provisioner", (required, immutable)),
        Declared("parameters", (immutable,)),
        Declared("reclaimPolicy?", (immutable,)),
        Declared("volumeBindingMode?", (immutable,)),
    ),
    GroupResource("storage.k8s.io", "volumeattachments"): (
        Declared("spec", (immutable,)),
        Declared("spec.attacher", (required, format_of(caseless_long_name), at_most_characters(63))),
    ),
    **DEVICE_RULES,
}
