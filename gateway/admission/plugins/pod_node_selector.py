"""PodNodeSelector: pods get the node selector of their namespace (page "Admission Control in Kubernetes").

kube-apiserver answers an invalid annotation of the namespace with 500, and so does this.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from gateway.admission.chain import Plugin, PluginParts, PluginReviews, on
from gateway.admission.configuration import Document, InvalidConfiguration
from gateway.admission.kinds import NAMESPACES
from gateway.admission.record import Admission
from gateway.http.status import StatusError, forbidden, not_found
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.objects import Objects
from gateway.validation.field import go_quote
from gateway.validation.names import is_label_value, is_qualified_name

NAME = "PodNodeSelector"
_ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
_LONGEST = 32 << 10  # characters of a selector
_DEFAULT = "clusterDefaultNodeSelector"
_CONFLICT = "pod node label selector conflicts with its namespace node label selector"
_NOT_LISTED = "pod node label selector labels conflict with its namespace whitelist"


@dataclass(frozen=True, slots=True)
class NodeSelectors:
    """`default` is the node selector of pods in namespaces without the annotation. `allowed` has, by namespace, the
    labels that pods may select; without labels they may select any.
    """

    default: dict[str, str]
    allowed: dict[str, dict[str, str]]


def parse_selector(text: str) -> dict[str, str]:
    """The labels of "a=b,c=d". Raises ValueError."""
    if len(text) > _LONGEST:
        raise ValueError("invalid selector: it is too long")
    labels = {}
    for part in text.split(",") if text else ():
        pieces = [piece.strip() for piece in part.split("=")]
        if len(pieces) != 2:
            raise ValueError(f"invalid selector: [{' '.join(part.split('='))}]")
        key, value = pieces
        if problems := is_qualified_name(key):
            raise ValueError(f"<nil>: Invalid value: {go_quote(key)}: {'; '.join(problems)}")
        if problems := is_label_value(value):
            raise ValueError(f"[{key}]: Invalid value: {go_quote(value)}: {'; '.join(problems)}")
        labels[pieces[0]] = pieces[1]
    return labels


def _refused(pod: JsonObject, reason: str) -> StatusError:
    """A 403 for a pod, by its name if it has one already."""
    return forbidden("", "pods", pod["metadata"].get("name", ""), reason)


async def _of_namespace(
    selectors: NodeSelectors, objects: Objects, admission: Admission, pod: JsonObject
) -> dict[str, str]:
    """The node selector of the pod's namespace. Raises StatusError 403 if that of the pod conflicts with it."""
    namespace = await objects.get(NAMESPACES, "", admission.namespace)
    if namespace is None:
        raise not_found("", "namespaces", admission.namespace)
    text = (namespace["metadata"].get("annotations") or {}).get(_ANNOTATION)
    try:
        found = selectors.default if text is None else parse_selector(text)
    except ValueError as error:
        raise StatusError(500, "", str(error)) from None
    own = pod["spec"].get("nodeSelector") or {}
    if any(own.get(key, value) != value for key, value in found.items()):
        raise _refused(pod, _CONFLICT)
    return found


async def _admit(selectors: NodeSelectors, objects: Objects, admission: Admission) -> Admission:
    pod = admission.obj
    assert pod is not None
    merged = {**await _of_namespace(selectors, objects, admission, pod), **(pod["spec"].get("nodeSelector") or {})}
    after = admission.with_spec(nodeSelector=merged) if merged else admission
    assert after.obj is not None
    _check_allowed(selectors, admission, after.obj)
    return after


async def _validate(selectors: NodeSelectors, objects: Objects, admission: Admission) -> None:
    pod = admission.obj
    assert pod is not None
    await _of_namespace(selectors, objects, admission, pod)
    _check_allowed(selectors, admission, pod)


def _check_allowed(selectors: NodeSelectors, admission: Admission, pod: JsonObject) -> None:
    allowed = selectors.allowed.get(admission.namespace)
    selected = pod["spec"].get("nodeSelector") or {}
    if allowed and not selected.items() <= allowed.items():
        raise _refused(pod, _NOT_LISTED)


def configure(document: Document) -> NodeSelectors:
    """Parses `podNodeSelectorPluginConfig`. Raises InvalidConfiguration."""
    given = (document or {}).get("podNodeSelectorPluginConfig") or {}
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise InvalidConfiguration("podNodeSelectorPluginConfig must map namespaces to selectors such as env=test")
    try:
        found = {namespace: parse_selector(text) for namespace, text in given.items()}
    except ValueError as error:
        raise InvalidConfiguration(f"podNodeSelectorPluginConfig: {error}") from None
    return NodeSelectors(found.get(_DEFAULT, {}), found)


def _make(parts: PluginParts) -> PluginReviews:
    selectors = parts.configured[NAME]
    assert isinstance(selectors, NodeSelectors)
    return PluginReviews(partial(_admit, selectors, parts.objects), partial(_validate, selectors, parts.objects))


PLUGIN = Plugin(NAME, on("/pods", operations=(Operation.CREATE,)), _make, configure=configure)
