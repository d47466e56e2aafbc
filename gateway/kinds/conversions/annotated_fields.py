"""Annotations that are fields of Go's own types: a version lacks the fields, and annotations keep what they said.

A text that is no number cannot be read as the kind; one that is comes back as Go writes it.
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
"""By kind: they are no metadata to Go, and answers of metadata alone lack them."""


def read_daemon_set(obj: JsonObject) -> None:
    """Makes the generation of a DaemonSet's template canonical. Raises DecodeError."""
    annotations = obj["metadata"].get("annotations") or {}
    if TEMPLATE_GENERATION in annotations:
        annotations[TEMPLATE_GENERATION] = _canonical(annotations[TEMPLATE_GENERATION])


def read_deployment(obj: JsonObject) -> None:
    """Makes the revision that a Deployment is to go back to canonical. Raises DecodeError."""
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
    """The number in an annotation; None where there is none."""
    text = (obj["metadata"].get("annotations") or {}).get(key)
    return None if text is None else int64(text)


def put(obj: JsonObject, key: str, value: int | None) -> None:
    """Sets the annotation, or takes it away."""
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
