"""Updates of pods: only a few fields of the spec may change; ephemeral containers have rules of their own."""

from __future__ import annotations

from functools import partial
from typing import Any

from gateway.jsontypes import JsonObject, by_name
from gateway.validation.containers import validate_image_spacing
from gateway.validation.field import FieldError, forbidden, go_quote, invalid, required, reworded
from gateway.validation.internal_form import difference, internal_json, internal_list_json, pod_difference
from gateway.validation.names import range_message
from gateway.validation.pod_options import PodOptions
from gateway.validation.scheduling import REQUIRED_TERMS, validate_tolerations

_MAX_INT32 = 2**31 - 1
_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def validate_pod_update(new: JsonObject, old: JsonObject, errors: list[FieldError], options: PodOptions) -> None:
    """Adds the errors of the change to `errors`. `new` and `old` are specs of pods."""
    for key in ("containers", "initContainers"):
        if not _containers(new.get(key) or [], old.get(key) or [], f"spec.{key}", errors):
            return
    if not _deadline(new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds"), errors):
        return
    _tolerations(new.get("tolerations") or [], old.get("tolerations") or [], errors, options)
    _gates(new.get("schedulingGates") or [], old.get("schedulingGates") or [], errors)
    if new == old:
        return
    munged = _with_old_values(new, old)
    if old.get("schedulingGates"):
        _gated(munged, old, errors)
    if munged != old:
        errors.append(reworded("SchedulingGroupShown", _fixed(old, munged, False), partial(_fixed, old, munged, True)))


def _fixed(old: JsonObject, munged: JsonObject, grouped: bool) -> FieldError:
    text = f"pod updates may not change fields other than {_UPDATABLE}\n{pod_difference(old, munged, grouped)}"
    return forbidden("spec", text)


def _containers(new: list[JsonObject], old: list[JsonObject], path: str, errors: list[FieldError]) -> bool:
    if len(new) != len(old):
        errors.append(forbidden(path, "pod updates may not add or remove containers"))
        return False
    for i, container in enumerate(new):
        if not container.get("image"):
            errors.append(required(f"{path}[{i}].image"))
        validate_image_spacing(container, f"{path}[{i}]", errors)
    return True


def _deadline(new: int | None, old: int | None, errors: list[FieldError]) -> bool:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            errors.append(invalid(path, None, "must not update from a positive integer to nil value"))
        return True
    if not 0 <= new <= _MAX_INT32:
        errors.append(invalid(path, new, range_message(0, _MAX_INT32)))
        return False
    if old is not None and old < new:
        errors.append(invalid(path, new, "must be less than or equal to previous value"))
        return False
    return True


def _tolerations(new: list[JsonObject], old: list[JsonObject], errors: list[FieldError], options: PodOptions) -> None:
    def without_seconds(toleration: JsonObject) -> frozenset[tuple[str, Any]]:
        return frozenset((key, value) for key, value in toleration.items() if key != "tolerationSeconds")

    kept = set(map(without_seconds, new))
    if any(without_seconds(toleration) not in kept for toleration in old):
        text = "existing toleration can not be modified except its tolerationSeconds"
        errors.append(forbidden("spec.tolerations", text))
    else:
        validate_tolerations(new, "spec.tolerations", errors, options)


def _gates(new: list[JsonObject], old: list[JsonObject], errors: list[FieldError]) -> None:
    known = {gate.get("name", "") for gate in old}
    added = {gate.get("name", ""): i for i, gate in enumerate(new) if gate.get("name", "") not in known}
    for name, i in added.items():
        text = f"only deletion is allowed, but found new scheduling gate '{name}'"
        errors.append(forbidden(f"spec.schedulingGates[{i}].name", text))


def _with_old_values(new: JsonObject, old: JsonObject) -> JsonObject:
    """The new spec with the old values of all fields that may change."""
    munged = dict(new)
    for key in ("containers", "initContainers"):
        if key in new:
            pairs = zip(new[key] or (), old.get(key) or (), strict=True)
            munged[key] = [{**container, "image": before.get("image", "")} for container, before in pairs]
    for key in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _put(munged, key, old.get(key))
    grace = old.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and munged.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = grace
    return munged


def _put(holder: JsonObject, key: str, value: Any) -> None:
    if value is None:
        holder.pop(key, None)
    else:
        holder[key] = value


def _gated(munged: JsonObject, old: JsonObject, errors: list[FieldError]) -> None:
    """A pod with scheduling gates may be restricted to fewer nodes (KEP-3838).

    Adds errors about other changes of its node selector and affinity, and restores both in `munged`.
    """
    new_selector, old_selector = munged.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if new_selector != old_selector:
        if any(new_selector.get(key) != value for key, value in old_selector.items()):
            text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            shown = by_name(new_selector) if "nodeSelector" in munged else None
            errors.append(invalid("spec.nodeSelector", shown, text))
        _put(munged, "nodeSelector", old.get("nodeSelector"))
    affinity, old_affinity = munged.get("affinity"), old.get("affinity")
    new_node, old_node = (affinity or {}).get("nodeAffinity"), (old_affinity or {}).get("nodeAffinity")
    if new_node == old_node:
        return
    _node_affinity(new_node, old_node, errors)
    if affinity is None:
        munged["affinity"] = {"nodeAffinity": old_node}
        return
    kept = {key: value for key, value in affinity.items() if key != "nodeAffinity"}
    if old_node is not None:
        kept["nodeAffinity"] = old_node
    _put(munged, "affinity", None if not kept and old_affinity is None else kept)


def _node_affinity(new: JsonObject | None, old: JsonObject | None, errors: list[FieldError]) -> None:
    selector = (old or {}).get(REQUIRED_TERMS)
    if selector is None:
        return
    path = f"spec.affinity.nodeAffinity.{REQUIRED_TERMS}.nodeSelectorTerms"
    old_terms = selector.get("nodeSelectorTerms") or []
    new_terms = ((new or {}).get(REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or []
    if old_terms and len(old_terms) != len(new_terms):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        shown = internal_list_json("NodeSelectorTerm", new_terms or None)
        errors.append(invalid(path, shown, text))
        return
    for i, (term, before) in enumerate(zip(new_terms, old_terms, strict=False)):
        if not _only_additions(term, before):
            text = "only additions are allowed (no mutations or deletions)"
            errors.append(invalid(f"{path}[{i}]", internal_json("NodeSelectorTerm", term), text))


def _only_additions(new: JsonObject, old: JsonObject) -> bool:
    lists = [(new.get(key) or [], old.get(key) or []) for key in ("matchExpressions", "matchFields")]
    if not any(before for _, before in lists):
        return not any(after for after, _ in lists)
    return all(after[: len(before)] == before for after, before in lists)


def validate_ephemeral_containers_update(new: JsonObject, old: JsonObject, errors: list[FieldError]) -> None:
    """Ephemeral containers can only be added. `new` and `old` are specs of pods."""
    path = "spec.ephemeralContainers"
    present = {container.get("name", ""): container for container in new.get("ephemeralContainers") or ()}
    for container in old.get("ephemeralContainers") or ():
        name = container.get("name", "")
        if name not in present:
            text = f"existing ephemeral containers {go_quote(name)} may not be removed\n"
            errors.append(forbidden(path, text))
        elif present[name] != container:
            text = f"existing ephemeral containers {go_quote(name)} may not be changed\n"
            errors.append(forbidden(path, text + difference("EphemeralContainer", container, present[name])))
