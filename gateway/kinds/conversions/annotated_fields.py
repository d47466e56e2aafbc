"""Annotations that stand for fields of Go's internal types, which the served version does not have.

An object whose annotation should be a number, and is none, cannot be decoded. A number gets Go's canonical form.
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.schema.errors import DecodeError
from gateway.schema.integers import int64, parse_int
from gateway.validation.field import go_quote

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
ROLLBACK = "deprecated.deployment.rollback.to"
_AUTOSCALING = "autoscaling.alpha.kubernetes.io/"
METRICS, CURRENT_METRICS = f"{_AUTOSCALING}metrics", f"{_AUTOSCALING}current-metrics"
CONDITIONS, BEHAVIOR = f"{_AUTOSCALING}conditions", f"{_AUTOSCALING}behavior"
OF_AUTOSCALERS = frozenset(
    {
        *(METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR),
        *(f"{_AUTOSCALING}scale-down-tolerance", f"{_AUTOSCALING}scale-up-tolerance"),
    }
)
NAMES = {
    "DaemonSet": frozenset({TEMPLATE_GENERATION}),
    "Deployment": frozenset({ROLLBACK}),
    "HorizontalPodAutoscaler": OF_AUTOSCALERS,
}
"""The annotations of each kind. To Go they are not metadata, so PartialObjectMetadata answers leave them out."""


def read_daemon_set(obj: JsonObject) -> None:
    """Writes the number in the template generation annotation in canonical form, in place. Raises DecodeError."""
    annotations = obj["metadata"].get("annotations") or {}
    if TEMPLATE_GENERATION in annotations:
        annotations[TEMPLATE_GENERATION] = _canonical(annotations[TEMPLATE_GENERATION])


def read_deployment(obj: JsonObject) -> None:
    """Writes the number in the rollback annotation in canonical form, or drops an empty one. Raises DecodeError."""
    annotations = obj["metadata"].get("annotations") or {}
    if ROLLBACK not in annotations:
        return
    text = annotations[ROLLBACK]
    if not text:
        put(obj, ROLLBACK, None)
        return
    try:
        annotations[ROLLBACK] = _canonical(text)
    except DecodeError as error:
        raise DecodeError(f"failed to parse annotation[{ROLLBACK}]={text} as int64: {error}") from None


def number(obj: JsonObject, key: str) -> int | None:
    """The number in an annotation; None if there is no annotation, or no number in it."""
    text = (obj["metadata"].get("annotations") or {}).get(key)
    return None if text is None else int64(text)


def put(obj: JsonObject, key: str, value: int | None) -> None:
    """Sets an annotation to a number; None removes it."""
    meta = obj["metadata"]
    annotations = {name: text for name, text in (meta.get("annotations") or {}).items() if name != key}
    if value is not None:
        annotations[key] = str(value)
    if annotations:
        meta["annotations"] = annotations
    else:
        meta.pop("annotations", None)


def _canonical(text: str) -> str:
    try:
        return str(parse_int(text))
    except ValueError as error:
        raise DecodeError(f"strconv.ParseInt: parsing {go_quote(text)}: {error}") from None
