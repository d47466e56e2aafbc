"""ClusterTrustBundles: trust anchors, with or without a signer (KEP-3257)."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import immutable
from gateway.validation.field import FieldError
from gateway.validation.names import name_is_path_segment
from gateway.validation.objectmeta import validate_object_meta
from gateway.validation.signers import validate_signer_name
from gateway.validation.trust_bundle import name_rule, validate_anchors


def _spec(obj: JsonObject) -> JsonObject:
    spec: JsonObject = obj.get("spec") or {}
    return spec


def _judged(obj: JsonObject, parse: bool) -> list[FieldError]:
    spec = _spec(obj)
    signer = spec.get("signerName", "")
    found = validate_object_meta(obj["metadata"], False, name_rule(signer))
    if signer:
        found += validate_signer_name(signer, "spec.signerName")
    if parse:
        found += validate_anchors(spec.get("trustBundle", ""), "spec.trustBundle")
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return _judged(obj, parse=True)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    """Unchanged anchors are not parsed again, so that a stricter parser does not refuse stored objects."""
    new, before = _spec(obj), _spec(old)
    found = _judged(obj, parse=new.get("trustBundle", "") != before.get("trustBundle", ""))
    return found + immutable("spec.signerName", new.get("signerName", ""), before.get("signerName", ""))


STRATEGIES = {
    "": Strategy(
        validate=_validate,
        validate_update=_validate_update,
        validate_name=name_is_path_segment,
        metadata_last=True,
        allow_unconditional_update=False,
    )
}
