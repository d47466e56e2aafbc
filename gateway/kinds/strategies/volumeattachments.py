"""VolumeAttachments: the spec is immutable; the attacher writes the status."""

from __future__ import annotations

from functools import partial

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import empty_status, keep_spec_and_metadata, keep_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import each, same
from gateway.validation.field import FieldError, forbidden, invalid, required, reworded, too_long
from gateway.validation.go_structs import verbatim
from gateway.validation.names import byte_length, is_dns1123_subdomain, range_message
from gateway.validation.objectmeta import IMMUTABLE, validate_object_meta
from gateway.validation.persistent_volume import validate_volume_spec
from gateway.validation.volume_sources import validate_csi_driver_name

MAX_METADATA, MAX_MESSAGE = 256 * 1024, 1024


def _source(source: JsonObject, path: str) -> list[FieldError]:
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    message = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if inline is None and name is None:
        return [required(path, message)]
    if inline is not None and name is not None:
        return [forbidden(path, message)]
    if inline is not None:
        return validate_volume_spec(inline, f"{path}.inlineVolumeSpec", "", inline=True)
    if not name:
        return [required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName")]
    return []


def _error(error: JsonObject | None, path: str) -> list[FieldError]:
    if error is None:
        return []
    found, at = list[FieldError](), f"{path}.message"
    if byte_length(error.get("message", "")) > MAX_MESSAGE:
        later = partial(too_long, at, MAX_MESSAGE)
        found.append(reworded("VolumeErrorLimitShown", too_long(at, MAX_METADATA), later))
    if (code := error.get("errorCode")) is not None and code < 0:
        found.append(invalid(f"{path}.errorCode", code, range_message(0, 2**31 - 1)))
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    found = _attachment(obj, context)
    return found if context.enabled("AttachmentUpdatesJudged") else found + _attacher(obj) + _volume(obj)


def _attacher(obj: JsonObject) -> list[FieldError]:
    return validate_csi_driver_name(obj.get("spec", {}).get("attacher", ""), "spec.attacher")


def _volume(obj: JsonObject) -> list[FieldError]:
    name = obj.get("spec", {}).get("source", {}).get("persistentVolumeName")
    return [] if name is None else each("spec.source.persistentVolumeName", name, is_dns1123_subdomain(name))


def _attachment(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    """The errors of creates and updates."""
    spec, status, whole = obj.get("spec", {}), obj.get("status") or {}, context.enabled("AttachmentUpdatesJudged")
    found = _attacher(obj) if whole else [] if spec.get("attacher") else [required("spec.attacher")]
    found += _source(spec.get("source", {}), "spec.source")
    found += each("spec.nodeName", spec.get("nodeName", ""), is_dns1123_subdomain(spec.get("nodeName", "")))
    metadata = status.get("attachmentMetadata") or {}
    if sum(byte_length(key) + byte_length(value) for key, value in metadata.items()) > MAX_METADATA:
        found.append(too_long("status.attachmentMetadata", MAX_METADATA))
    for key in ("attachError", "detachError"):
        found += _error(status.get(key), f"status.{key}")
    return found + _volume(obj) if whole else found


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_object_meta(obj["metadata"], False) + _attachment(obj, context)
    if not same(obj.get("spec"), old.get("spec")):
        found.append(
            invalid("spec", verbatim("io.k8s.api.storage.v1.VolumeAttachmentSpec", obj.get("spec")), IMMUTABLE)
        )
    return found


STRATEGIES = {
    "": Strategy(
        prepare_for_create=empty_status({"attached": False}),
        prepare_for_update=keep_status,
        validate=_validate,
        validate_update=_validate_update,
        rechecks_metadata=False,
        allow_unconditional_update=False,
        reset_fields=(("status",),),
        returns_deleted=True,
    ),
    "status": Strategy(
        prepare_for_update=keep_spec_and_metadata,
        validate_update=_validate_update,
        rechecks_metadata=False,
        allow_unconditional_update=False,
        reset_fields=(("metadata",), ("spec",)),
    ),
}
