"""PodTolerationRestriction: pods get the tolerations of their namespace and may have no others than it allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gateway.admission.chain import Parts, Plugin, Reviews, on
from gateway.admission.configuration import Document, InvalidConfiguration, Leaf, checked, of_kind
from gateway.admission.kinds import NAMESPACES
from gateway.admission.record import Admission, Operation
from gateway.admission.refusal import refused
from gateway.http.status import not_found
from gateway.jsontypes import JsonObject, loads
from gateway.kinds.objects import Objects
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
_OPERATORS, _EFFECTS = ("", "Equal", "Exists"), ("", "NoSchedule", "PreferNoSchedule", "NoExecute")
_MOST_PAIRS = 50_000  # of tolerations that are compared: what takes longer would hold others up


@dataclass(frozen=True, slots=True)
class Tolerations:
    """Those of the cluster: what pods get, and what they may have (nothing: anything)."""

    default: Sequence[JsonObject]
    allowed: Sequence[JsonObject]


def covers(wide: JsonObject, narrow: JsonObject) -> bool:
    """Whether one toleration tolerates all that another does."""
    if wide == narrow:
        return True
    operator, key = wide.get("operator", ""), wide.get("key", "")
    if narrow.get("key", "") != key and (key or operator != "Exists"):
        return False
    effect = wide.get("effect", "")
    if effect and narrow.get("effect", "") != effect:
        return False
    longest = wide.get("tolerationSeconds")
    if effect == "NoExecute" and longest is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > longest:
            return False
    if operator in ("", "Equal"):
        return bool(narrow.get("operator") == "Equal" and narrow.get("value", "") == wide.get("value", ""))
    return bool(operator == "Exists")


def merged(first: Sequence[JsonObject], second: Sequence[JsonObject]) -> list[JsonObject]:
    """Both, without those that another covers; of equal ones the first stays."""
    everything = [*first, *second]
    found: list[JsonObject] = []
    for index, each in enumerate(everything):
        later = everything[index + 1 :]
        if any(covers(kept, each) for kept in found) or any(each != other and covers(other, each) for other in later):
            continue
        found.append(each)
    return found


async def _annotated(objects: Objects, admission: Admission, key: str) -> list[JsonObject] | None:
    """The tolerations in an annotation of the namespace; None where it has none. Raises StatusError."""
    namespace = await objects.get(NAMESPACES, "", admission.namespace)
    if namespace is None:
        raise not_found("", "namespaces", admission.namespace)
    text = (namespace["metadata"].get("annotations") or {}).get(key)
    if not text:
        return None if text is None else []
    try:
        return _checked(loads(text))
    except ValueError as error:
        raise refused(admission, admission.obj, f"annotation {key} of its namespace is wrong: {error}") from None


def _checked(given: Any) -> list[JsonObject]:
    """The tolerations in what JSON holds, without what they have no members for. Raises ValueError."""
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise ValueError("it is no list of tolerations")
    known = [{key: each[key] for key in _TOLERATION if each.get(key) is not None} for each in given]
    return [checked(each, _TOLERATION) for each in known]


async def _admit(cluster: Tolerations, objects: Objects, admission: Admission) -> None:
    pod = admission.obj
    assert pod is not None
    spec = pod["spec"]
    extra: list[JsonObject] = []
    if admission.old is None:
        given = await _annotated(objects, admission, _DEFAULTS)
        extra = list(cluster.default if given is None else given)
    if ((pod.get("status") or {}).get("qosClass") or qos_class(spec)) != "BestEffort":
        extra.append(_MEMORY_PRESSURE)
    if extra:
        own = spec.get("tolerations") or []
        comparable = (len(own) + len(extra)) ** 2 <= _MOST_PAIRS
        spec["tolerations"] = [dict(each) for each in (merged(own, extra) if comparable else [*own, *extra])]
    await _validate(cluster, objects, admission)


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
    if len(tolerations) * len(allowed) > _MOST_PAIRS or not all(
        any(covers(each, toleration) for each in allowed) for toleration in tolerations
    ):
        subject = "pod tolerations (possibly merged with namespace default tolerations)"
        raise refused(admission, pod, f"{subject} conflict with its {scope} whitelist")


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


def _make(parts: Parts) -> Reviews:
    cluster = parts.configured[NAME]
    assert isinstance(cluster, Tolerations)
    return Reviews(partial(_admit, cluster, parts.objects), partial(_validate, cluster, parts.objects))


PLUGIN = Plugin(
    NAME,
    on("/pods", operations=(Operation.CREATE, Operation.UPDATE)),
    _make,
    default_on=False,
    configure=configure,
)
