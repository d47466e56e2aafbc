"""Conversions between served versions that share storage: HorizontalPodAutoscaler (autoscaling v1 and v2) and Event
(core v1 and events.k8s.io v1).

Fields that a version does not have are kept in annotations, as in kube-apiserver.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gateway.jsontypes import JsonObject
from gateway.kinds.conversions.autoscalers import autoscaler_to_v1, autoscaler_to_v2
from gateway.kinds.identity import GroupVersion
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeReport, decode

_SCALED = "lastScaleTime"  # of a HorizontalPodAutoscaler
_EVENT_NAMES = {  # core v1 -> events.k8s.io v1
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}


def convert(obj: JsonObject, kind: str, source: GroupVersion, target: GroupVersion) -> JsonObject:
    """The object in another served version of its kind: a new one, or `obj` itself if the versions are the same.

    Raises ValueError for versions that don't share storage.
    """
    if source == target:
        return obj
    change = _CHANGES.get((kind, source, target))
    if change is None:
        raise ValueError(f"{kind} of {source} cannot be converted to {target}")
    changed = change(obj) | {"kind": kind, "apiVersion": target.api_version}
    made = decode(type_for(*target, kind), changed, DecodeReport())
    if _SCALED in made.get("status", {}) or _SCALED not in (obj.get("status") or {}):
        return made
    made["status"][_SCALED] = None  # the zero time, which decoding takes for an absent one
    return made


def _renamed(names: dict[str, str], obj: JsonObject) -> JsonObject:
    return {names.get(key, key): value for key, value in obj.items()}


_CORE, _EVENTS = GroupVersion("", "v1"), GroupVersion("events.k8s.io", "v1")
_V1, _V2 = GroupVersion("autoscaling", "v1"), GroupVersion("autoscaling", "v2")
_CHANGES: dict[tuple[str, GroupVersion, GroupVersion], Callable[[JsonObject], JsonObject]] = {
    ("Event", _CORE, _EVENTS): partial(_renamed, _EVENT_NAMES),
    ("Event", _EVENTS, _CORE): partial(_renamed, {new: old for old, new in _EVENT_NAMES.items()}),
    ("HorizontalPodAutoscaler", _V1, _V2): autoscaler_to_v2,
    ("HorizontalPodAutoscaler", _V2, _V1): autoscaler_to_v1,
}
