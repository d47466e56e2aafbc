"""The declarative validation rules of pods, of whatever has a pod's template, and of the health of volumes.

As in `gateway.kinds.declared_rules` (pkg/apis/core/v1/zz_generated.validations.go and validation.go of
k8s.io/kubernetes). The gates of these fields are off: only objects that a server with the gate has stored have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.kinds.gated_fields import SPECIFICATIONS
from gateway.kinds.identity import GroupResource
from gateway.validation.declared_checks import (
    at_most,
    at_most_bytes,
    format_of,
    maximum,
    minimum,
    one_of,
    required,
    unique,
)
from gateway.validation.declared_formats import prefixed_label_key
from gateway.validation.declared_rules import DeclaredCheck, DeclaredRules
from gateway.validation.field import FieldError, invalid

_MOST_RESPONDERS, _HIGHEST_PRIORITY, _FIRST_FREE_PRIORITY = 10, 100_000, 1000
_MOST_CONDITIONS, _LONGEST_REASON, _LONGEST_MESSAGE = 16, 256, 1024
_RESERVED = (".k8s.io", ".kubernetes.io")
_HEALTH = ("DataLoss", "Degraded", "Inaccessible")


def _unreserved(value: Any, old: Any, path: str) -> list[FieldError]:
    domain = value.partition("/")[0].lower().strip().rstrip(".")
    if domain.endswith(_RESERVED) or domain in [each.strip(".") for each in _RESERVED]:
        return [invalid(path, value, f"domain names {', '.join(f'*{each}' for each in _RESERVED)} are reserved")]
    return []


def _free_priority(value: Any, old: Any, path: str) -> list[FieldError]:
    if 0 <= value < _FIRST_FREE_PRIORITY:
        return [invalid(path, value, "priorities 0-999 are reserved for responders with *.k8s.io suffix")]
    return []


def _unique(type_name: str, *keys: str) -> DeclaredCheck:
    return unique(*keys, type_name=f"io.k8s.api.core.v1.{type_name}")


def _specification(path: str) -> tuple[DeclaredRules, ...]:
    responders = f"{path}.evictionResponders"
    priority = (required, DeclaredCheck(_free_priority), maximum(_HIGHEST_PRIORITY), minimum(0))
    return (
        DeclaredRules(responders, (at_most(_MOST_RESPONDERS), _unique("EvictionResponder", "name"))),
        DeclaredRules(
            f"{responders}[name].name", (required, DeclaredCheck(_unreserved), format_of(prefixed_label_key))
        ),
        DeclaredRules(f"{responders}[name].priority?", priority),
    )


def _health(path: str) -> tuple[DeclaredRules, ...]:
    conditions = f"{path}.healthConditions"
    each = f"{conditions}[status,reason]"
    return (
        DeclaredRules(conditions, (at_most(_MOST_CONDITIONS), _unique("VolumeHealthCondition", "status", "reason"))),
        DeclaredRules(f"{each}.status", (required, one_of(*_HEALTH))),
        DeclaredRules(f"{each}.reason", (required, at_most_bytes(_LONGEST_REASON))),
        DeclaredRules(f"{each}.message", (at_most_bytes(_LONGEST_MESSAGE),)),
    )


_POD_STATUS = (
    DeclaredRules("status.volumeHealth", (_unique("PodVolumeHealth", "name"),)),
    DeclaredRules("status.volumeHealth[name].name", (required,)),
    *_health("status.volumeHealth[name]"),
)

RULES: Mapping[GroupResource, tuple[DeclaredRules, ...]] = {
    **{resource: _specification(path) for resource, path in SPECIFICATIONS.items()},
    GroupResource("", "pods"): (*_specification("spec"), *_POD_STATUS),
    GroupResource("", "persistentvolumeclaims"): _health("status.healthStatus?"),
}
