"""The declarative validation rules of resource.k8s.io (pkg/apis/resource/v1/zz_generated.validations.go).

As in `gateway.kinds.declared_rules`; the rules of a type have a function, since several kinds contain it.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.kinds.identity import GroupResource
from gateway.validation.declared_checks import (
    at_most,
    at_most_bytes,
    at_most_characters,
    banned,
    each_key,
    format_of,
    immutable,
    one_of,
    required,
    union,
    unique,
    unmodified,
)
from gateway.validation.declared_formats import (
    caseless_long_name,
    extended_resource_name,
    fully_qualified_name,
    label_key,
    long_name,
    pool_name,
    short_name,
    uuid,
)
from gateway.validation.declared_rules import DeclaredCheck, DeclaredRules

_EFFECTS = one_of("NoExecute", "NoSchedule", "None")
_OPERATIONS = one_of("*", "NodePrepareResources", "NodeUnprepareResources")
_DRIVER = (required, format_of(caseless_long_name), at_most_characters(63))
_VALUES = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")
_PARTITION_TYPE = "DRAPartitionableDevicesType"


def _unique(type_name: str, *keys: str) -> DeclaredCheck:
    return unique(*keys, type_name=f"io.k8s.api.resource.v1.{type_name}")


def _tolerations(path: str) -> tuple[DeclaredRules, ...]:
    return (
        DeclaredRules(f"{path}.tolerations[].key", (format_of(label_key),)),
        DeclaredRules(f"{path}.tolerations[].operator", (required, one_of("Equal", "Exists"))),
        DeclaredRules(f"{path}.tolerations[].effect", (_EFFECTS,)),
    )


def _derived(path: str) -> tuple[DeclaredRules, ...]:
    return (
        DeclaredRules(f"{path}.derivedAttributes", (at_most(32),)),
        DeclaredRules(f"{path}.derivedAttributes[].name", (required, format_of(fully_qualified_name))),
        DeclaredRules(f"{path}.derivedAttributes[].expression", (required,)),
    )


def _request(path: str) -> tuple[DeclaredRules, ...]:
    """What a request and its alternatives share."""
    return (
        DeclaredRules(f"{path}.selectors", (at_most(32),)),
        DeclaredRules(f"{path}.allocationMode", (one_of("All", "ExactCount"),)),
        *_tolerations(path),
        *_derived(path),
    )


def _requests(path: str) -> tuple[DeclaredRules, ...]:
    """A list of names of requests."""
    return (DeclaredRules(f"{path}.requests", (at_most(32), unique())),)


def _claim(path: str) -> tuple[DeclaredRules, ...]:
    requests = f"{path}.requests"
    alternatives = f"{requests}[name].firstAvailable"
    return (
        DeclaredRules(requests, (at_most(32), _unique("DeviceRequest", "name"))),
        *_request(f"{requests}[name].exactly?"),
        DeclaredRules(alternatives, (at_most(8), _unique("DeviceSubRequest", "name"))),
        DeclaredRules(f"{alternatives}[name].deviceClassName", (required, format_of(long_name))),
        *_request(f"{alternatives}[name]"),
        DeclaredRules(f"{path}.constraints", (at_most(32),)),
        *_requests(f"{path}.constraints[]"),
        DeclaredRules(f"{path}.constraints[].matchAttribute?", (format_of(fully_qualified_name),)),
        DeclaredRules(f"{path}.constraints[].distinctAttribute?", (format_of(fully_qualified_name),)),
        DeclaredRules(f"{path}.config", (at_most(32),)),
        *_requests(f"{path}.config[]"),
        DeclaredRules(f"{path}.config[].opaque?.driver", _DRIVER),
    )


def _result(path: str) -> tuple[DeclaredRules, ...]:
    return (
        DeclaredRules(f"{path}.driver", _DRIVER),
        DeclaredRules(f"{path}.pool", (required, format_of(pool_name))),
        *_tolerations(path),
        DeclaredRules(f"{path}.bindingConditions", (at_most(4),)),
        DeclaredRules(f"{path}.bindingFailureConditions", (at_most(4),)),
        DeclaredRules(f"{path}.shareID?", (format_of(uuid),)),
        DeclaredRules(f"{path}.skipNodeOperations", (unique(),)),
        DeclaredRules(f"{path}.skipNodeOperations[=]", (_OPERATIONS,)),
    )


def _status() -> tuple[DeclaredRules, ...]:
    results, config = "status.allocation?.devices.results", "status.allocation?.devices.config"
    devices = "status.devices[driver,device,pool,shareID]"
    return (
        DeclaredRules("status.allocation?", (unmodified,)),
        DeclaredRules(results, (at_most(32),)),
        *_result(f"{results}[]"),
        DeclaredRules(config, (at_most(64),)),
        DeclaredRules(f"{config}[].source", (required, one_of("FromClaim", "FromClass"))),
        *_requests(f"{config}[]"),
        DeclaredRules(f"{config}[].opaque?.driver", _DRIVER),
        DeclaredRules("status.reservedFor", (at_most(256), _unique("ResourceClaimConsumerReference", "uid"))),
        DeclaredRules("status.devices", (_unique("AllocatedDeviceStatus", "driver", "device", "pool", "shareID"),)),
        DeclaredRules(f"{devices}.shareID?", (format_of(uuid),)),
        DeclaredRules(f"{devices}.networkData?.interfaceName", (at_most_bytes(256),)),
        DeclaredRules(f"{devices}.networkData?.ips", (at_most(16), unique())),
        DeclaredRules(f"{devices}.networkData?.hardwareAddress", (at_most_bytes(128),)),
    )


def _taint(path: str) -> tuple[DeclaredRules, ...]:
    return (DeclaredRules(f"{path}.effect", (required, _EFFECTS)),)


def _counters(path: str, name: str) -> tuple[DeclaredRules, ...]:
    return (
        DeclaredRules(f"{path}.{name}", (required, format_of(short_name))),
        DeclaredRules(f"{path}.counters", (required, each_key(short_name))),
    )


def _slice() -> tuple[DeclaredRules, ...]:
    devices, consumed = "spec.devices[]", "spec.devices[].consumesCounters"
    return (
        DeclaredRules(f"{devices}.attributes{{}}", (union(*_VALUES, instead="exactly one value must be specified"),)),
        DeclaredRules(consumed, (at_most(2), _unique("DeviceCounterConsumption", "counterSet"))),
        *_counters(f"{consumed}[counterSet]", "counterSet"),
        DeclaredRules(f"{consumed}[counterSet].compatibilityGroups", (at_most(2),)),
        DeclaredRules(f"{consumed}[counterSet].compatibilityGroups[=]", (format_of(short_name),)),
        DeclaredRules(f"{consumed}[counterSet].compatibilityGroups", (unique(),)),
        *_taint(f"{devices}.taints[]"),
        DeclaredRules(f"{devices}.bindingConditions", (at_most(4),)),
        DeclaredRules(f"{devices}.bindingFailureConditions", (at_most(4),)),
        DeclaredRules(f"{devices}.nodeAllocatableResources{{}}.mapping?", (union("capacityKey", "deviceMultiplier"),)),
        DeclaredRules("spec.sharedCounters", (at_most(8), _unique("CounterSet", "name"))),
        *_counters("spec.sharedCounters[name]", "name"),
        DeclaredRules("spec.partitionTypeAttribute?", (banned,), f"!{_PARTITION_TYPE}"),
        DeclaredRules("spec.partitionTypeAttribute?", (format_of(fully_qualified_name),), _PARTITION_TYPE),
        DeclaredRules("spec.skipNodeOperations", (unique(),)),
        DeclaredRules("spec.skipNodeOperations[=]", (_OPERATIONS,)),
    )


_GROUP = "resource.k8s.io"

RULES: Mapping[GroupResource, tuple[DeclaredRules, ...]] = {
    GroupResource(_GROUP, "deviceclasses"): (
        DeclaredRules("metadata.name", (format_of(long_name),)),
        DeclaredRules("spec.selectors", (at_most(32),)),
        DeclaredRules("spec.config", (at_most(32),)),
        DeclaredRules("spec.config[].opaque?.driver", _DRIVER),
        DeclaredRules("spec.extendedResourceName?", (format_of(extended_resource_name),)),
    ),
    GroupResource(_GROUP, "devicetaintrules"): _taint("spec.taint"),
    GroupResource(_GROUP, "resourceclaims"): (
        DeclaredRules("spec", (immutable,)),
        *_claim("spec.devices"),
        *_status(),
    ),
    GroupResource(_GROUP, "resourceclaimtemplates"): _claim("spec.spec.devices"),
    GroupResource(_GROUP, "resourceslices"): _slice(),
}
