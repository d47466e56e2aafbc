"""Namespaces (pages "Namespaces" and "Working with Objects: Finalizers")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import keep_spec, keep_status
from gateway.kinds.strategy import Strategy, Termination
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError, invalid
from gateway.validation.names import name_is_dns_label
from gateway.validation.objectmeta import (
    STANDARD_FINALIZERS,
    recheck_object_meta_update,
    validate_finalizer_name,
    validate_object_meta,
)

NAME_LABEL = "kubernetes.io/metadata.name"
_FINALIZER = "kubernetes"


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    obj["status"] = {"phase": "Active"}
    finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
    if _FINALIZER not in finalizers:
        finalizers.append(_FINALIZER)


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keep_spec(obj, old, context)
    keep_status(obj, old, context)


def _canonicalize(obj: JsonObject) -> None:
    obj["metadata"].setdefault("labels", {})[NAME_LABEL] = obj["metadata"].get("name", "")


def _finalizer(name: str, path: str) -> list[FieldError]:
    found = validate_finalizer_name(name, path)
    if "/" not in name and name not in STANDARD_FINALIZERS:
        found.append(invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified"))
    return found


def _finalizers(obj: JsonObject) -> list[str]:
    names: list[str] = (obj.get("spec") or {}).get("finalizers") or []
    return names


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return [error for name in _finalizers(obj) for error in _finalizer(name, "spec.finalizers")]


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], False, name_is_dns_label) + _validate(obj, context)
    return errors + recheck_object_meta_update(obj["metadata"], old["metadata"])


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    phase = (obj.get("status") or {}).get("phase", "")
    if not obj["metadata"].get("deletionTimestamp"):
        text = "may only be 'Active' if `deletionTimestamp` is empty"
        return [] if phase == "Active" else [invalid("status.Phase", phase, text)]
    text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
    return [] if phase == "Terminating" else [invalid("status.Phase", phase, text)]


def _validate_finalize(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return [e for i, name in enumerate(_finalizers(obj)) for e in _finalizer(name, f"spec.finalizers[{i}]")]


def _begin_termination(obj: JsonObject, now: str) -> None:
    obj["metadata"].setdefault("deletionTimestamp", now)
    obj.setdefault("status", {})["phase"] = "Terminating"


STRATEGIES = {
    "": Strategy(
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        canonicalize=_canonicalize,
        rechecks_metadata=False,
        validate_name=name_is_dns_label,
        reset_fields=(("status",),),
        returns_deleted=True,
        in_its_own_namespace=True,
        termination=Termination(begin=_begin_termination, finalizers=_finalizers),
    ),
    "status": Strategy(
        prepare_for_update=keep_spec,
        validate_update=_validate_status,
        canonicalize=_canonicalize,
        reset_fields=(("spec",),),
    ),
    "finalize": Strategy(
        prepare_for_update=keep_status,
        validate_update=_validate_finalize,
        canonicalize=_canonicalize,
        reset_fields=(("status",),),
    ),
}
