"""Conversions between served versions that share storage: HorizontalPodAutoscaler (autoscaling v1 and v2) and Event
(core v1 and events.k8s.io v1).

What a version has no field for travels in annotations, as in kube-apiserver.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gateway.jsontypes import JsonObject
from gateway.kinds.conversions.autoscalers import autoscaler_to_v1, autoscaler_to_v2
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeReport, decode

_EVENT_NAMES = {  # core v1 -> events.k8s.io v1
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}


def convert(obj: JsonObject, from_api_version: str, to_api_version: str, kind: str) -> JsonObject:
    """The object in another served version of its kind: a new one, or `obj` itself where there is nothing to do.

    Raises ValueError for versions that don't share storage.
    """
    if from_api_version == to_api_version:
        return obj
    change = _CHANGES.get((kind, from_api_version, to_api_version))
    if change is None:
        raise ValueError(f"{kind} of {from_api_version} cannot be converted to {to_api_version}")
    group, _, version = to_api_version.rpartition("/")
    changed = change(obj) | {"kind": kind, "apiVersion": to_api_version}
    return decode(type_for(group, version, kind), changed, DecodeReport())


def _renamed(names: dict[str, str], obj: JsonObject) -> JsonObject:
    return {names.get(key, key): value for key, value in obj.items()}


_CHANGES: dict[tuple[str, str, str], Callable[[JsonObject], JsonObject]] = {
    ("Event", "v1", "events.k8s.io/v1"): partial(_renamed, _EVENT_NAMES),
    ("Event", "events.k8s.io/v1", "v1"): partial(_renamed, {new: old for old, new in _EVENT_NAMES.items()}),
    ("HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2"): autoscaler_to_v2,
    ("HorizontalPodAutoscaler", "autoscaling/v2", "autoscaling/v1"): autoscaler_to_v1,
}
