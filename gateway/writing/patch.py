"""The four kinds of patches, by their content type: functions that make the patched object from the present one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.http import status
from gateway.jsontypes import JsonObject, sorted_by_name
from gateway.kinds import metadata
from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import Version
from gateway.kinds.resource import Resource
from gateway.kinds.write_context import WriteOptions
from gateway.patches.raw_values import rewritten
from gateway.patches.unstructured import converted
from gateway.schema.body import parse_exactly
from gateway.schema.decode import DecodeError, DecodeReport, decode
from gateway.schema.types import Type
from gateway.writing.apply import applied, by_apply
from gateway.writing.body import complete
from gateway.writing.field_tracking import told_apart, track_fields
from gateway.writing.make import Made, MakeObject, Present
from gateway.writing.offload import BIG, YAML
from gateway.writing.other_kinds import unknown_by_name
from gateway.writing.patch_body import APPLIES, APPLY, APPLY_CBOR, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from gateway.writing.patch_steps import Fail, MakePatched, Parsed, read_anew, read_internal, read_once
from gateway.writing.patched_type_meta import check_type_meta, named_version, read_as
from gateway.writing.unchanged_members import UnchangedMembers, holds_zero_time, kept
from gateway.writing.write import Write

Read = Callable[[Type, Any, DecodeReport], JsonObject]


def size_of(media_type: bytes, body: bytes) -> int:
    """The size of a patch, for an estimate of the time that it takes."""
    if media_type == JSON_PATCH and (b"copy" in body or b"\\u" in body):
        return len(body) + BIG  # with "copy", the result may be much larger than the patch
    return len(body) * YAML if media_type in APPLIES else len(body)


def maker_of(write: Write, media_type: bytes, body: bytes) -> MakeObject:
    """The function that makes the patched object from the present one. That function raises StatusError."""
    return _checked(write, _MAKERS[media_type](write, body))


def _checked(write: Write, make: MakePatched) -> MakeObject:
    """Adds the checks of all patches: of name, namespace and uid of the result. Its warnings go with it, or with the
    refusal.
    """

    def checked(present: Present) -> Made:
        told: list[str] = []
        try:
            made = make(present, told)
            if made.obj is not present.obj:
                _check_identity(write, made.obj["metadata"], created=present.obj is None)
        except status.StatusError as error:
            error.warnings = told
            raise
        return made._replace(warnings=told) if told else made

    return checked


def _check_identity(write: Write, meta: JsonObject, *, created: bool) -> None:
    context, resource = write.context, write.resource
    if created and meta.get("uid"):
        cause = f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing object was found"
        raise status.conflict(resource.group, resource.resource, context.name, cause)
    metadata.match_namespace(meta, metadata.expected_namespace(resource, context.namespace))
    metadata.match_name(meta, context.name)


def _by_json(write: Write, body: bytes, module: Any) -> MakePatched:
    """JSON patches and merge patches: their result is decoded like a body."""
    endpoint, options, resource = write.endpoint, write.options, write.resource
    parse = read_once(write, lambda: module.parse(body, options.validation != "Ignore"))

    def make(present: Present, told: list[str]) -> Made:
        old = present.obj
        assert old is not None  # a missing object gets 404 before the patch is parsed
        document, strict = parse()
        result = module.apply(old, document, endpoint.type)
        strict = strict + module.repeated(old, document, endpoint.type)

        def fail(message: str, strict: bool) -> status.StatusError:
            from gateway.patches.outcome import undecodable
            from gateway.patches.spelling import as_quoted

            shown = module.shown(old, parse_exactly(body), endpoint.type)
            quoted = module.shown(old, as_quoted(body), endpoint.type) if b"\\" in body else None
            return undecodable(shown, message, None if strict else read_as(result, resource), quoted)

        return _decoded(write, result, present, told, strict, fail)

    return make


def _by_strategic_merge(write: Write, body: bytes) -> MakePatched:
    endpoint, options = write.endpoint, write.options

    def parsed() -> Parsed:
        from gateway.patches import strategic_merge_patch

        return strategic_merge_patch.parse(body, options.validation != "Ignore")

    parse = read_anew(write, parsed)

    def make(present: Present, told: list[str]) -> Made:
        from gateway.patches import strategic_merge_patch

        old = present.obj
        assert old is not None
        document, strict = parse()
        result = rewritten(endpoint.type, strategic_merge_patch.apply(old, document, endpoint.type))

        def fail(message: str, strict: bool) -> status.StatusError:
            from gateway.patches.outcome import unconvertible

            return unconvertible(old, parse()[0], endpoint.type, message, strict)

        return _decoded(write, result, present, told, strict, fail, converted)

    return make


def applying(write: Write, configuration: JsonObject) -> MakeObject:
    """The function that applies a configuration to the present object. That function raises StatusError."""
    return _checked(write, lambda present, told: applied(write, (configuration, []), present, told))


def _decoded(
    write: Write,
    result: Any,
    present: Present,
    told: list[str],
    strict: list[str],
    fail: Fail,
    read: Read = decode,
) -> Made:
    """Decodes a patch's result, with checks of kind, types and unknown fields; then sets defaults and managed fields.

    kind and apiVersion are not checked for a strategic merge patch, whose result is not decoded like a body.
    """
    resource, options = write.resource, write.options
    report = DecodeReport()
    try:
        if read is decode:
            check_type_meta(result, resource)
            if not resource.defined and (nameless := _unknown_without_version(resource, result)) is not None:
                told += _strictness(options, [*strict, *nameless], fail)
                metadata.match_name({}, write.context.name)
        new, members = _read(write, read, result, present, report)
    except DecodeError as error:
        raise fail(str(error), False) from None
    read_internal(resource, new, fail if read is decode else None)
    problems = report.problems
    if problems and options.validation != "Ignore":
        by_name = _reported_by_name(write, read, result)
        unknown = unknown_by_name(result, resource, by_name)
        problems = by_name.problems if unknown is None else unknown
    told += _strictness(options, [*strict, *problems], fail)
    default = None if members is None else write.endpoint.object_strategy.default_beside(members)
    if resource.custom:  # empty managedFields mean nothing here, and validation checks kind and apiVersion
        complete(new, None, resource, str(new["kind"]), default=default)["apiVersion"] = result["apiVersion"]
    else:
        complete(new, result, resource, default=default)
    lost, emptied = told_apart(write.endpoint.type, result, new, report)
    track_fields(write, new, present, emptied)
    return Made(new, members, lost)


def _reported_by_name(write: Write, read: Read, result: Any) -> DecodeReport:
    """The unknown fields in a patch's result, sorted by name: Go patches maps, and encodes them sorted."""
    report = DecodeReport()
    other = named_version(result, write.resource) if read is decode else None
    read(write.endpoint.type if other is None else other.type, sorted_by_name(result), report)
    return report


def _read(
    write: Write, read: Read, result: Any, present: Present, report: DecodeReport
) -> tuple[JsonObject, UnchangedMembers | None]:
    """Decodes a patch's result. Members that the patch did not change are shared with the present object, and are
    returned, too. Raises DecodeError.
    """
    if read is decode and (other := named_version(result, write.resource)) is not None:
        return _converted(write.resource, other, result, report), None
    shares = present.shares and not holds_zero_time(write.endpoint.type, present.value)
    members = kept(present.obj, result) if shares else None
    if members is None:
        return read(write.endpoint.type, result, report), None
    new = read(write.endpoint.type, members.apart_from(result), report)
    members.put_into(new)
    return new, members


def _converted(resource: Resource, version: Version, result: JsonObject, report: DecodeReport) -> JsonObject:
    """Decodes a patch's result in another version of its kind, and converts it. Raises DecodeError."""
    obj = version.decode(result, report)
    version.default(obj)
    own = GroupVersion(resource.group, resource.version)
    return resource.model.convert(obj, version.gvk.group_version, own)


def _strictness(options: WriteOptions, problems: list[str], fail: Fail) -> list[str]:
    """The warnings of problems. Raises the error that `fail` makes with Strict."""
    if not problems or options.validation == "Ignore":
        return []
    if options.validation == "Strict":
        raise fail(f"strict decoding error: {', '.join(problems)}", True)
    return problems


def _unknown_without_version(resource: Resource, result: Any) -> list[str] | None:
    """The problems of a patch's result without an apiVersion, or with Go's internal one; None if it has another one.

    As in kube-apiserver, all its fields are unknown then, the name too: the internal Go type has no JSON names.
    """
    version = result.get("apiVersion") if isinstance(result, dict) else None
    if not isinstance(result, dict) or (version and not resource.is_internal(version)):
        return None
    return [f'unknown field "{key}"' for key in sorted(result) if key not in ("apiVersion", "kind")]


def _json_patch(write: Write, body: bytes) -> MakePatched:
    from gateway.patches import json_patch

    return _by_json(write, body, json_patch)


def _merge_patch(write: Write, body: bytes) -> MakePatched:
    from gateway.patches import merge_patch

    return _by_json(write, body, merge_patch)


_MAKERS: dict[bytes, Callable[[Write, bytes], MakePatched]] = {
    JSON_PATCH: _json_patch,
    MERGE_PATCH: _merge_patch,
    STRATEGIC_MERGE_PATCH: _by_strategic_merge,
    APPLY: lambda write, body: by_apply(write, APPLY, body),
    APPLY_CBOR: lambda write, body: by_apply(write, APPLY_CBOR, body),
}
