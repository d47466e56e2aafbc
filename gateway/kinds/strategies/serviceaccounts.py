"""ServiceAccounts: of secret references only the name is kept."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError
from gateway.validation.objectmeta import validate_object_meta

_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_WARNING = (
    f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to "
    "mounted secrets"
)


def _clean(obj: JsonObject, context: WriteContext) -> None:
    if secrets := obj.get("secrets"):
        obj["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in secrets]


def _clean_on_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    _clean(obj, context)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_object_meta(obj["metadata"], True)


def _annotated(obj: JsonObject) -> bool:
    return _MOUNTABLE in (obj["metadata"].get("annotations") or {})


def _warnings(obj: JsonObject, context: WriteContext) -> list[str]:
    return [_WARNING] if _annotated(obj) else []


def _update_warnings(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[str]:
    return [_WARNING] if _annotated(obj) and not _annotated(old) else []


STRATEGIES = {
    "": Strategy(
        prepare_for_create=_clean,
        prepare_for_update=_clean_on_update,
        validate_update=_validate_update,
        warnings_on_create=_warnings,
        warnings_on_update=_update_warnings,
        returns_deleted=True,
    )
}
