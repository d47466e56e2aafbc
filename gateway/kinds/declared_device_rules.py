"""The declarative validation rules of resource.k8s.io (pkg/apis/resource/v1/zz_generated.validations.go).

As in `gateway.kinds.declared_rules`; the rules of a type have a function, since several kinds contain it.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.kinds.identity import GroupResource
from gateway.validation.declared import Check, Declared
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

_EFFECTS = one_of("NoExecute", "NoSchedule", "None")
_OPERATIONS = one_of("*", "NodePrepareResources", "NodeUnprepareResources")
_DRIVER = (required, format_of(caseless_long_name), at_most_characters(63))
_VALUES = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")
_PARTITION_TYPE = "DRAPartitionableDevicesType"


def _unique(type_name: str, *keys: str) -> Check:
    return unique(*keys, type_name=f"io.k8s.api.resource.v1.{type_name}")


def _tolerations(path: str) -> tuple[Declared, ...]:
    return (
        Declared(f"{path}.tolerations[].key", (format_of(label_key),)),
        Declared(f"{path}.tolerations[].operator", (required, one_of("Equal", "Exists"))),
        Declared(f"{path}.tolerations[].effect", (_EFFECTS,)),
    )


def _derived(path: str) -> tuple[Declared, ...]:
    return (
        Declared(f"{path}.derivedAttributes", (at_most(32),)),
        Declared(f"{path}.derivedAttributes[].name", (required, format_of(fully_qualified_name))),
        Declared(f"{path}.derivedAttributes[].expression", (required,)),
    )


def _request(path: str) -> tuple[Declared, ...]:
    """What a request and its alternatives share."""
    return (
        Declared(f"{path}.selectors", (at_most(32),)),
        Declared(f"{path}.allocationMode", (one_of("All", "ExactCount"),)),
        *_tolerations(path),
        *_derived(path),
    )


def _requests(path: str) -> tuple[Declared, ...]:
    """A list of names of requests."""
    return (Declared(f"{path}.requests", (at_most(32), unique())),)


def _claim(path: str) -> tuple[Declared, ...]:
    requests = f"{path}.requests"
    alternatives = f"{requests}[name].firstAvailable"
    return (
        Declared(requests, (at_most(32), _unique("DeviceRequest", "name"))),
        *_request(f"{requests}[name].exactly?"),
        Declared(alternatives, (at_most(8), _unique("DeviceSubRequest", "name"))),
        Declared(f"{alternatives}[name].deviceClassName", (required, format_of(long_name))),
        *_request(f"{alternatives}[name]"),
        Declared(f"{path}.constraints", (at_most(32),)),
        *_requests(f"{path}.constraints[]"),
        Declared(f"{path}.constraints[].matchAttribute?", (format_of(fully_qualified_name),)),
        Declared(f"{path}.constraints[].distinctAttribute?", (format_of(fully_qualified_name),)),
        Declared(f"{path}.config", (at_most(32),)),
        *_requests(f"{path}.config[]"),
        Declared(f"{path}.config[].opaque?.driver", _DRIVER),
    )


def _result(path: str) -> tuple[Declared, ...]:
    return (
        Declared(f"{path}.driver", _DRIVER),
        Declared(f"{path}.pool", (required, format_of(pool_name))),
        *_tolerations(path),
        Declared(f"{path}.bindingConditions", (at_most(4),)),
        Declared(f"{path}.bindingFailureConditions", (at_most(4),)),
        Declared(f"{path}.shareID?", (format_of(uuid),)),
        Declared(f"{path}.skipNodeOperations", (unique(),)),
        Declared(f"{path}.skipNodeOperations[=]", (_OPERATIONS,)),
    )


def _status() -> tuple[Declared, ...]:
    results, config = "status.allocation?.devices.results", "status.allocation?.devices.config"
    devices = "status.devices[driver,device,pool,shareID]"
    return (
        Declared("status.allocation?", (unmodified,)),
        Declared(results, (at_most(32),)),
        *_result(f"{results}[]"),
        Declared(config, (at_most(64),)),
        Declared(f"{config}[].source", (required, one_of("FromClaim", "FromClass"))),
        *_requests(f"{config}[]"),
        Declared(f"{config}[].opaque?.driver", _DRIVER),
        Declared("status.reservedFor", (at_most(256), _unique("ResourceClaimConsumerReference", "uid"))),
        Declared("status.devices", (_unique("AllocatedDeviceStatus", "driver", "device", "pool", "shareID"),)),
        Declared(f"{devices}.shareID?", (format_of(uuid),)),
        Declared(f"{devices}.networkData?.interfaceName", (at_most_bytes(256),)),
        Declared(f"{devices}.networkData?.ips", (at_most(16), unique())),
        Declared(f"{devices}.networkData?.hardwareAddress", (at_most_bytes(128),)),
    )


def _taint(path: str) -> tuple[Declared, ...]:
    return (Declared(f"{path}.effect", (required, _EFFECTS)),)


def _counters(path: str, name: str) -> tuple[Declared, ...]:
    return (
        Declared(f"{path}.{name}", (required, format_of(short_name))),
        Declared(f"{path}.counters", (required, each_key(short_name))),
    )


def _slice() -> tuple[Declared, ...]:
    devices, consumed = "spec.devices[]", "spec.devices[].consumesCounters"
    return (
        Declared(f"{devices}.attributes{{}}", (union(*_VALUES, instead="exactly one value must be specified"),)),
        Declared(consumed, (at_most(2), _unique("DeviceCounterConsumption", "counterSet"))),
        *_counters(f"{consumed}[counterSet]", "counterSet"),
        Declared(f"{consumed}[counterSet].compatibilityGroups", (at_most(2),)),
        Declared(f"{consumed}[counterSet].compatibilityGroups[=]", (format_of(short_name),)),
        Declared(f"{consumed}[counterSet].compatibilityGroups", (unique(),)),
        *_taint(f"{devices}.taints[]"),
        Declared(f"{devices}.bindingConditions", (at_most(4),)),
        Declared(f"{devices}.bindingFailureConditions", (at_most(4),)),
        Declared(f"{devices}.nodeAllocatableResources{{}}.mapping?", (union("capacityKey", "deviceMultiplier"),)),
        Declared("spec.sharedCounters", (at_most(8), _unique("CounterSet", "name"))),
        *_counters("spec.sharedCounters[name]", "name"),
        Declared("spec.partitionTypeAttribute?", (banned,), f"!{_PARTITION_TYPE}"),
        Declared("spec.partitionTypeAttribute?", (format_of(fully_qualified_name),), _PARTITION_TYPE),
        Declared("spec.skipNodeOperations", (unique(),)),
        Declared("spec.skipNodeOperations[=]", (_OPERATIONS,)),
    )


_GROUP = "resource.k8s.io"

RULES: Mapping[GroupResource, tuple[Declared, ...]] = {
    GroupResource(_GROUP, "deviceclasses"): (
        Declared("metadata.name", (format_of(long_name),)),
        Declared("spec.selectors", (at_most(32),)),
        Declared("spec.config", (at_most(32),)),
        Declared("spec.config[].opaque?.driver", _DRIVER),
        Declared("spec.extendedResourceName?", (format_of(extended_resource_name),)),
    ),
    GroupResource(_GROUP, "devicetaintrules"): _taint("spec.taint"),
    GroupResource(_GROUP, "resourceclaims"): (
        Declared("spec", (immutable,)),
        *_claim("spec.devices"),
        *_status(),
    ),
    GroupResource(_GROUP, "resourceclaimtemplates"): _claim("spec.spec.devices"),
    GroupResource(_GROUP, "resourceslices"): _slice(),
}
