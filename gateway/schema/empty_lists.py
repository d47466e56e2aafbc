"""Turns empty lists into null in fields that Go always writes, as storage in protobuf does. Compiled once for a type.

kube-apiserver stores its own kinds in protobuf, which cannot tell an empty list from a null. Before storage they
differ: a field manager owns an empty list that a client sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.types import Omit, Type, TypeKind, compiled

_REFUSED = {("v1.CustomResourceDefinitionSpec", "versions")}
"""Fields whose empty lists validation refuses: they stay lists, so that the error shows what the client sent."""

_LABELS = "spec.template.metadata.labels"  # an error shows them
_CLAIMS = "spec.resources.claims"  # of a pod as a whole
_TEMPLATE = (_LABELS, f"spec.template.{_CLAIMS}")
_TOLD_APART: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("v1.DaemonSet", "v1.Deployment", "v1.ReplicaSet", "v1.ReplicationController"), _TEMPLATE),
    "v1.Pod": ("status.resourceClaimStatuses", "status.nodeAllocatableResourceClaimStatuses", _CLAIMS),
    "v1.PodTemplate": (f"template.{_CLAIMS}",),
    "v1.CronJob": (f"spec.jobTemplate.spec.template.{_CLAIMS}",),
    "v1.PersistentVolume": ("spec.capacity",),
    "v1.ResourceQuota": ("spec.scopes",),
    "v1.StatefulSet": ("spec.volumeClaimTemplates", *_TEMPLATE),
    "v1.Job": ("spec.successPolicy.rules", *_TEMPLATE),
    "v1.PersistentVolumeClaim": ("spec.resources.limits",),
    "v2.HorizontalPodAutoscaler": ("spec.behavior.scaleDown.policies", "spec.behavior.scaleUp.policies"),
    "v1.ServiceCIDR": ("spec.cidrs",),
    **dict.fromkeys(("v1.ResourceSlice", "v1beta2.ResourceSlice"), ("spec.devices", "spec.sharedCounters")),
}
"""Fields that decoding drops when they are empty, although rules tell an empty one from an absent one."""
_COMPARED_DEEPLY: Mapping[str, tuple[str, ...]] = {
    "v1.NetworkPolicy": ("spec",),
    "v1.MutatingWebhookConfiguration": ("webhooks",),
    "v1.ValidatingWebhookConfiguration": ("webhooks",),
}
_MAPS = frozenset({"spec.capacity", "spec.resources.limits", _LABELS})

_STRINGS = "stringData"  # of a Secret: its members replace those of `data`

Nulled = Callable[[Any], None]


def null_empty_lists(type_: Type, value: Any) -> None:
    """Replaces empty lists that storage does not keep by null. Changes `value` in place."""
    nulled = _nuller(type_)
    if nulled is not None:
        nulled(value)


def _through(type_: Type) -> Nulled:
    """A stand-in for the function that is being compiled, for types that refer to themselves."""
    return lambda value: null_empty_lists(type_, value)


def _compile(type_: Type) -> Nulled | None:
    """Returns None for a type without such fields, at any depth."""
    if type_.kind is TypeKind.STRUCT:
        return _struct(type_)
    element = _nuller(type_.elem) if type_.elem is not None and type_.kind in (TypeKind.LIST, TypeKind.MAP) else None
    if element is None:
        return None
    null_in_each = _each(element)
    return null_in_each if type_.kind is TypeKind.LIST else lambda members: null_in_each(members.values())


_nuller = compiled(_compile, meanwhile=_through)


def _struct(type_: Type) -> Nulled | None:
    fields = type_.fields.values()
    written = [
        field.name
        for field in fields
        if field.omit is Omit.NEVER and field.type.kind is TypeKind.LIST and (type_.name, field.name) not in _REFUSED
    ]
    below = [(field.name, nulled) for field in fields if (nulled := _nuller(field.type)) is not None]
    if not written and not below:
        return None

    def null_in_struct(value: Any) -> None:
        if type(value) is not dict:
            return
        for name in written:
            if value.get(name) == []:
                value[name] = None
        for name, nulled in below:
            member = value.get(name)
            if member:
                nulled(member)

    return null_in_struct


def _each(nulled: Nulled) -> Nulled:
    def null_in_each(values: Any) -> None:
        for value in values:
            nulled(value)

    return null_in_each


def unstored(type_: Type, value: Any) -> tuple[str, ...]:
    """The names of fields with a map of bytes (as `data` of a Secret) whose value storage would change, and the paths
    ("spec.devices") of empty fields that rules tell from absent ones.

    `value` is the object as a client sent it, any JSON. Storage drops an empty map, and turns null bytes into empty
    ones. Both count as changes where Go compares the object sent with the stored one by reflect.DeepEqual.
    """
    names, paths = _maps_of_bytes(type_), _TOLD_APART.get(type_.name, ())
    if not (names or paths) or not isinstance(value, dict):
        return ()
    found = [name for name in names if _differs(value.get(name), value.get(_STRINGS) or {})]
    found += [path for path in paths if _is_empty(value, path)]
    return tuple(found)


def _is_empty(value: Any, path: str) -> bool:
    """Whether a client sent an empty list or map in a field."""
    for name in path.split("."):
        if not isinstance(value, dict):
            return False
        value = value.get(name)
    return isinstance(value, list | dict) and not value


def compared_deeply(type_: Type, sent: Any, made: JsonObject) -> tuple[str, ...]:
    """The members that Go compares by reflect.DeepEqual to count generations, if a client `sent` one with an empty
    list, map or bytes that `made` lacks.
    """
    if type_.name not in _COMPARED_DEEPLY or not isinstance(sent, dict):
        return ()
    names = _COMPARED_DEEPLY[type_.name]
    return tuple(n for n in names if n in sent and _lacks(type_.fields[n].type, sent[n], made.get(n)))


def lacks_empty(type_: Type, sent: Any, made: Any) -> bool:
    """Whether a client `sent`, at any depth, an empty list, map or bytes that the object `made` of it lacks.

    Go holds such a value until it stores the object, and reflect.DeepEqual tells it from an absent one. It also tells a
    zero time that was sent from a stored one, whose location differs.
    """
    if not sent or made is None:
        return False
    if isinstance(sent, list):
        item = type_.elem
        if item is None or type(made) is not list:
            return False
        return any(lacks_empty(item, given, kept) for given, kept in zip(sent, made, strict=False))
    if not isinstance(sent, dict) or not isinstance(made, dict):
        return False
    if type_.kind is TypeKind.STRUCT:
        fields = type_.fields
        return any(_lacks(fields[name].type, given, made.get(name)) for name, given in sent.items() if name in fields)
    return type_.elem is not None and any(lacks_empty(type_.elem, given, made.get(n)) for n, given in sent.items())


def _lacks(type_: Type, given: Any, kept: Any) -> bool:
    if type_.kind in _TOLD_BY_GO and not given and given is not None:
        return not kept
    if type_.kind in _TIMES:
        return kept is None and given is not None
    return lacks_empty(type_, given, kept)


_TIMES = (TypeKind.TIME, TypeKind.MICROTIME)
_TOLD_BY_GO: tuple[TypeKind, ...] = (TypeKind.LIST, TypeKind.MAP, TypeKind.BYTES)


def with_empty_fields(obj: JsonObject, unstored: Sequence[str]) -> JsonObject:
    """The object with the empty fields that a client sent, those of `unstored`; the object itself if there are none.

    Members on the way to such a field are copied. What a default has put there is replaced.
    """
    for path in unstored:
        *holders, name = path.split(".")
        if holders:
            obj = holder = dict(obj)
            for each in holders:
                holder[each] = holder = dict(holder.get(each) or {})
            holder[name] = {} if path in _MAPS else []
    return obj


@compiled
def _maps_of_bytes(type_: Type) -> tuple[str, ...]:
    if type_.structural:
        return ()
    fields = type_.fields.values()
    return tuple(
        field.name
        for field in fields
        if field.type.kind is TypeKind.MAP and field.type.element().kind is TypeKind.BYTES
    )


def _differs(given: Any, strings: Any) -> bool:
    if not isinstance(given, dict):
        return False
    if not given:
        return not strings
    return None in given.values() and any(item is None and key not in strings for key, item in given.items())
