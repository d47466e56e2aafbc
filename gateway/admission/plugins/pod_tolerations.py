"""PodTolerationRestriction: pods get the tolerations of their namespace, and may have only those that it allows.

kube-apiserver answers both a pod that it refuses and an invalid annotation of the namespace with 500; so does this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gateway.admission.chain import Plugin, PluginParts, PluginReviews, on
from gateway.admission.configuration import Document, InvalidConfiguration, Leaf, of_kind
from gateway.admission.kinds import NAMESPACES
from gateway.admission.record import Admission
from gateway.admission.tolerations import MOST_PAIRS, covers, merged
from gateway.http.status import StatusError, not_found
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.objects import Objects
from gateway.schema.body import SLOWLY, parse_body
from gateway.schema.catalog import type_of
from gateway.schema.decode import DecodeError, DecodeReport, decode
from gateway.schema.types import Type, TypeKind
from gateway.validation.qos import qos_class

NAME = "PodTolerationRestriction"
_DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations"
_ALLOWED = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
_VERSIONS = ("podtolerationrestriction.admission.k8s.io/v1alpha1",)
_MEMORY_PRESSURE = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}
_TOLERATION = {
    "key": Leaf.TEXT,
    "operator": Leaf.TEXT,
    "value": Leaf.TEXT,
    "effect": Leaf.TEXT,
    "tolerationSeconds": Leaf.INTEGER,
}
_NAMES = {name.lower(): name for name in _TOLERATION}
_TOLERATIONS = Type(TypeKind.LIST, "[]v1.Toleration", elem=type_of("io.k8s.api.core.v1.Toleration"))
_OPERATORS, _EFFECTS = ("", "Equal", "Exists"), ("", "NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Tolerations:
    """The tolerations of the cluster: those that pods get, and those that they may have (any, if empty)."""

    default: Sequence[JsonObject]
    allowed: Sequence[JsonObject]


async def _annotated(objects: Objects, admission: Admission, key: str) -> list[JsonObject] | None:
    """The tolerations in an annotation of the namespace; None where it has none. Raises StatusError."""
    namespace = await objects.get(NAMESPACES, "", admission.namespace)
    if namespace is None:
        raise not_found("", "namespaces", admission.namespace)
    text = (namespace["metadata"].get("annotations") or {}).get(key)
    if not text:
        return None if text is None else []
    try:
        is_long = len(text) > SLOWLY  # finding an error in it takes too long for the event loop
        document, _ = await asyncio.to_thread(parse_body, text.encode()) if is_long else parse_body(text.encode())
        found: Any = decode(_TOLERATIONS, [] if document is None else _as_named(document), DecodeReport())
    except DecodeError as error:
        raise StatusError(500, "", str(error)) from None
    tolerations: list[JsonObject] = found
    return tolerations


def _as_named(document: Any) -> Any:
    """The document with members spelt as the fields are: Go's encoding/json takes them in upper or lower case."""
    if not isinstance(document, list):
        return document
    return [
        {_NAMES.get(name.lower(), name): value for name, value in each.items()} if isinstance(each, dict) else each
        for each in document
    ]


async def _admit(cluster: Tolerations, objects: Objects, admission: Admission) -> Admission:
    pod = admission.obj
    assert pod is not None
    spec = pod["spec"]
    extra: list[JsonObject] = []
    if admission.old is None:
        given = await _annotated(objects, admission, _DEFAULTS)
        extra = list(cluster.default if given is None else given)
    if ((pod.get("status") or {}).get("qosClass") or qos_class(spec)) != "BestEffort":
        extra.append(_MEMORY_PRESSURE)
    after = admission.with_spec(tolerations=merged(spec.get("tolerations") or [], extra)) if extra else admission
    await _validate(cluster, objects, after)
    return after


async def _validate(cluster: Tolerations, objects: Objects, admission: Admission) -> None:
    pod = admission.obj
    assert pod is not None
    tolerations = pod["spec"].get("tolerations") or ()
    if not tolerations:
        return
    given = await _annotated(objects, admission, _ALLOWED)
    allowed, scope = (cluster.allowed, "cluster") if given is None else (given, "namespace")
    if not allowed:
        return
    if len(tolerations) * len(allowed) > MOST_PAIRS or not all(
        any(covers(each, toleration) for each in allowed) for toleration in tolerations
    ):
        subject = "pod tolerations (possibly merged with namespace default tolerations)"
        raise StatusError(500, "", f"{subject} conflict with its {scope} whitelist")


def configure(document: Document) -> Tolerations:
    """The tolerations of a Configuration. Raises InvalidConfiguration."""
    given = of_kind(document, "Configuration", _VERSIONS, {"default": [_TOLERATION], "whitelist": [_TOLERATION]})
    for member, tolerations in given.items():
        for index, each in enumerate(tolerations):
            path = f"podtolerationrestriction.{member}[{index}]"
            for key, known in (("operator", _OPERATORS), ("effect", _EFFECTS)):
                if each.get(key, "") not in known:
                    raise InvalidConfiguration(f'{path}.{key}: Unsupported value: "{each[key]}"')
            if not each.get("key") and each.get("operator") != "Exists":
                raise InvalidConfiguration(f"{path}.operator: it must be Exists where key is empty")
    return Tolerations(given.get("default") or (), given.get("whitelist") or ())


def _make(parts: PluginParts) -> PluginReviews:
    cluster = parts.configured[NAME]
    assert isinstance(cluster, Tolerations)
    return PluginReviews(partial(_admit, cluster, parts.objects), partial(_validate, cluster, parts.objects))


PLUGIN = Plugin(
    NAME,
    on("/pods", operations=(Operation.CREATE, Operation.UPDATE)),
    _make,
    configure=configure,
)
