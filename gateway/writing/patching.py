"""The four kinds of patches, by their content type: functions that make the patched object from the present one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.apply import server_side_apply
from gateway.http import status
from gateway.jsontypes import JsonObject, dumps_sorted, loads
from gateway.kinds import metadata
from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import Version
from gateway.kinds.recurring import Template
from gateway.kinds.resource import Resource
from gateway.patches.raw_values import rewritten
from gateway.patches.unstructured import converted, mismatch
from gateway.schema.body import parse_exactly
from gateway.schema.decode import DecodeError, DecodeReport, decode
from gateway.schema.empty_lists import null_empty_lists, unstored
from gateway.schema.errors import EmbeddedError, YamlError
from gateway.schema.outside import read_yaml
from gateway.schema.refusals import json_kind
from gateway.schema.types import Type
from gateway.validation.field import FieldError
from gateway.writing.body import complete, warning_lines
from gateway.writing.offload import BIG, YAML
from gateway.writing.options import WriteOptions
from gateway.writing.patch_body import APPLIES, APPLY, APPLY_CBOR, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from gateway.writing.patched_type_meta import check_type_meta, named_version, read_as
from gateway.writing.tracking import track_fields
from gateway.writing.unchanged_members import kept
from gateway.writing.updating import MakeObject
from gateway.writing.write import Write, invalid

Read = Callable[[Type, Any, DecodeReport], JsonObject]
Fail = Callable[[str, bool], status.StatusError]  # (message, whether it is about unknown or duplicate fields)


def maker_of(write: Write, media_type: bytes, body: bytes) -> MakeObject:
    """The function that makes the patched object from the present one. That function raises StatusError."""
    write.size = len(body) * YAML if media_type in APPLIES else len(body)
    if media_type == JSON_PATCH and (b"copy" in body or b"\\u" in body):
        write.size += BIG  # with "copy", the result may be much larger than the patch
    return _checked(write, _MAKERS[media_type](write, body))


def _checked(write: Write, make: MakeObject) -> MakeObject:
    """Wraps `make` to check name, namespace and uid of the patch's result."""
    attributes, resource = write.attributes, write.resource
    namespace = metadata.expected_namespace(resource, attributes.namespace)

    def checked(old: JsonObject | None) -> JsonObject:
        new = make(old)
        if new is old:
            return new
        meta = new["metadata"]
        if old is None and meta.get("uid"):
            cause = f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing object was found"
            raise status.conflict(resource.group, resource.resource, attributes.name, cause)
        metadata.match_namespace(meta, namespace)
        metadata.match_name(meta, attributes.name)
        return new

    return checked


def _by_json(write: Write, body: bytes, module: Any) -> MakeObject:
    """JSON patches and merge patches: their result is decoded like a body."""
    endpoint, options, resource = write.endpoint, write.options, write.resource
    parse = _once(write, lambda: module.parse(body, options.validation != "Ignore"))

    def make(old: JsonObject | None) -> JsonObject:
        from gateway.patches.outcome import undecodable

        assert old is not None  # a missing object gets 404 before the patch is parsed
        document, strict = parse()
        result = module.apply(old, document, endpoint.type)
        strict = strict + module.repeated(old, document, endpoint.type)

        def fail(message: str, strict: bool) -> status.StatusError:
            shown = module.shown(old, parse_exactly(body), endpoint.type)
            return undecodable(shown, message, None if strict else read_as(result, resource))

        return _decoded(write, result, old, strict, fail)

    return make


def _by_strategic_merge(write: Write, body: bytes) -> MakeObject:
    endpoint, options = write.endpoint, write.options

    def parsed() -> tuple[Any, list[str]]:
        from gateway.patches import strategic_merge_patch

        return strategic_merge_patch.parse(body, options.validation != "Ignore")

    parse = _once(write, parsed)

    def make(old: JsonObject | None) -> JsonObject:
        from gateway.patches import strategic_merge_patch
        from gateway.patches.outcome import unconvertible

        assert old is not None
        document, strict = parse()
        result = rewritten(endpoint.type, strategic_merge_patch.apply(old, document, endpoint.type))

        def fail(message: str, strict: bool) -> status.StatusError:
            return unconvertible(old, document, endpoint.type, message, strict)

        return _decoded(write, result, old, strict, fail, converted)

    return make


def _yaml_config(body: bytes) -> tuple[Any, list[str]]:
    try:
        config, duplicates = read_yaml(body)
    except YamlError as error:
        raise status.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    return _checked_config(config), duplicates


def _cbor_config(body: bytes) -> tuple[Any, list[str]]:
    from gateway.encodings.cbor import CborError, decode

    try:
        return _checked_config(decode(body)), []
    except CborError as error:
        raise status.bad_request(f"error decoding YAML: {error}") from None  # kube-apiserver says YAML here, too


def _checked_config(config: Any) -> JsonObject:
    """Returns an applied configuration. Raises StatusError 400 if it is no object."""
    if config is None:
        raise status.bad_request("invalid object type: /, Kind=")
    if not isinstance(config, dict):
        raise status.bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{json_kind(config)} into Go value of type map[string]interface {{}}"
        )
    return config


def _by_apply(
    write: Write, body: bytes, media_type: bytes, read: Callable[[bytes], tuple[Any, list[str]]]
) -> MakeObject:
    """Server-side apply: merges the configuration by field ownership. An apply that is repeated and changes nothing is
    recognised by a digest.
    """
    from gateway.apply.repeated import digest_of

    apply = _applied(write, _once(write, lambda: read(body)))
    options, repeated = write.options, write.endpoint.repeated
    asked = f"{media_type!r} {options.validation} {options.force} {options.manager}".encode()

    def make(old: JsonObject | None) -> JsonObject:
        if old is None:
            return apply(None)
        digest = digest_of(*write.present, body, asked)
        if digest in repeated:
            return old
        new = apply(old)
        if new is old and not write.attributes.warnings:  # with warnings, the next apply must give them again
            repeated.add(digest)
        return new

    return make


def applying(write: Write, configuration: JsonObject) -> MakeObject:
    """The function that applies a configuration to the present object. That function raises StatusError."""
    return _checked(write, _applied(write, lambda: (configuration, [])))


def _applied(write: Write, parse: Callable[[], tuple[Any, list[str]]]) -> MakeObject:
    endpoint, resource, attributes = write.endpoint, write.resource, write.attributes

    def make(old: JsonObject | None) -> JsonObject:
        config, duplicates = parse()
        merged = server_side_apply(
            old,
            config,
            endpoint.type,
            manager=write.options.manager,
            force=bool(write.options.force),
            api_version=resource.api_version,
            subresource=resource.subresource,
            now=attributes.now,
            reset=endpoint.strategy.reset_fields,
            convert=write.convert,
        )
        _report_duplicates(write, duplicates)
        if merged is old:
            return merged
        try:
            new = converted(endpoint.type, rewritten(endpoint.type, merged), DecodeReport())
        except EmbeddedError as error:  # for an apply, kube-apiserver finds this only in validation
            raise invalid(write, [FieldError("FieldValueInvalid", error.path, error.body)], merged) from None
        except DecodeError as error:
            raise _unconvertible(resource, config, mismatch(merged, endpoint.type) or str(error)) from None
        _read_internal(resource, new, lambda message, _: _not_unversioned(resource, config, message))
        null_empty_lists(endpoint.type, new)
        attributes.unstored = unstored(endpoint.type, merged)
        return complete(new, None, resource, applied=True)

    return make


def _unconvertible(resource: Resource, config: JsonObject, message: str) -> status.StatusError:
    """The error 500 of kube-apiserver for a configuration that meets the schema, but not the Go type."""
    place, kind = _place_and_kind(resource, config)
    text = f"failed to convert new object ({place}; {kind}) to proper version: "
    return status.StatusError(500, "", f"{text}unable to convert unstructured object to {kind}: {message}")


def _not_unversioned(resource: Resource, config: JsonObject, message: str) -> status.StatusError:
    place, kind = _place_and_kind(resource, config)
    return status.StatusError(500, "", f"failed to convert to unversioned ({place}; {kind}): {message}")


def _place_and_kind(resource: Resource, config: JsonObject) -> tuple[str, str]:
    meta = config.get("metadata") or {}
    kind = f"{resource.kind_group}/{resource.kind_version}, Kind={resource.kind}"
    return f"{meta.get('namespace', '')}/{meta.get('name', '')}", kind


def _read_internal(resource: Resource, new: JsonObject, fail: Fail | None) -> None:
    """Runs the resource's `read_internal`. If it fails, raises the error that `fail` makes; without `fail`, a 500."""
    read = resource.read_internal
    if read is None or "metadata" not in new:
        return
    try:
        if annotations := new["metadata"].get("annotations"):
            new["metadata"] = {**new["metadata"], "annotations": dict(annotations)}  # the old object may share them
            read(new)
    except DecodeError as error:
        raise (fail(str(error), False) if fail else status.StatusError(500, "", str(error))) from None


def _report_duplicates(write: Write, duplicates: list[str]) -> None:
    """Reports duplicate keys in an applied configuration: as warnings, or with Strict as StatusError 400."""
    if not duplicates or write.options.validation == "Ignore":
        return
    lines = "".join(f"\n  {text}" for text in duplicates)
    problem = f"error converting YAML to JSON: yaml: unmarshal errors:{lines}"
    if write.options.validation == "Strict":
        raise status.bad_request(f"error strict decoding YAML: {problem}")
    write.attributes.warnings += warning_lines([problem])


def _decoded(
    write: Write, result: Any, old: JsonObject, strict: list[str], fail: Fail, read: Read = decode
) -> JsonObject:
    """Decodes a patch's result, with checks of kind, types and unknown fields; then sets defaults and managed fields.

    kind and apiVersion are not checked for a strategic merge patch, whose result is not decoded like a body.
    """
    resource, options = write.resource, write.options
    report = DecodeReport()
    try:
        if read is decode:
            check_type_meta(result, resource)
            if not resource.custom:
                _check_version_named(write, result, strict, fail)
        new = _read(write, read, result, old, report)
    except DecodeError as error:
        raise fail(str(error), False) from None
    _read_internal(resource, new, fail if read is decode else None)
    write.attributes.unstored = unstored(write.endpoint.type, result)
    if report.problems:
        report = _reported_by_name(write, read, result)
    _strictness(write, options, [*strict, *report.problems], fail)
    templates = write.endpoint.object_strategy.templates
    apart = write.kept is not None and templates is not None and Template.member in write.kept
    default = templates.default_others if apart and templates is not None else None
    if resource.custom:  # empty managedFields mean nothing here, and validation checks kind and apiVersion
        complete(new, None, resource, str(new["kind"]), default=default)["apiVersion"] = result["apiVersion"]
    else:
        complete(new, result, resource, default=default)
    track_fields(write, new, old)
    return new


def _reported_by_name(write: Write, read: Read, result: Any) -> DecodeReport:
    """The unknown fields in a patch's result, sorted by name: Go patches maps, and encodes them sorted."""
    report = DecodeReport()
    other = named_version(result, write.resource) if read is decode else None
    read(write.endpoint.type if other is None else other.type, loads(dumps_sorted(result)), report)
    return report


def _read(write: Write, read: Read, result: Any, old: JsonObject, report: DecodeReport) -> JsonObject:
    """Decodes a patch's result; members that the patch did not change are shared with `old`. Raises DecodeError."""
    if read is decode and (other := named_version(result, write.resource)) is not None:
        write.kept = None
        return _converted(write.resource, other, result, report)
    write.kept = kept(old, result) if write.shares else None
    if write.kept is None:
        return read(write.endpoint.type, result, report)
    new = read(write.endpoint.type, write.kept.apart_from(result), report)
    write.kept.put_into(new)
    return new


def _converted(resource: Resource, version: Version, result: JsonObject, report: DecodeReport) -> JsonObject:
    """Decodes a patch's result in another version of its kind, and converts it. Raises DecodeError."""
    obj = version.decode(result, report)
    version.default(obj)
    own = GroupVersion(resource.group, resource.version)
    return resource.model.convert(obj, version.gvk.group_version, own)


def _strictness(write: Write, options: WriteOptions, problems: list[str], fail: Fail) -> None:
    if not problems or options.validation == "Ignore":
        return
    if options.validation == "Strict":
        raise fail(f"strict decoding error: {', '.join(problems)}", True)
    write.attributes.warnings += problems


def _check_version_named(write: Write, result: Any, strict: list[str], fail: Fail) -> None:
    """Handles a patch's result without an apiVersion, or with Go's internal one. As in kube-apiserver, all its fields
    are unknown then, since the internal Go type has no JSON names. Raises StatusError 400, with Strict 422.
    """
    version = result.get("apiVersion") if isinstance(result, dict) else None
    if not isinstance(result, dict) or (version and not write.resource.is_internal(version)):
        return
    unknown = [f'unknown field "{key}"' for key in sorted(result) if key not in ("apiVersion", "kind")]
    _strictness(write, write.options, [*strict, *unknown], fail)
    metadata.match_name({}, write.attributes.name)


def _once(write: Write, parse: Callable[[], tuple[Any, list[str]]]) -> Callable[[], tuple[Any, list[str]]]:
    """Wraps `parse` to run at the first call only: the patch of a missing object is never parsed.

    The result is recorded for the audit log at once, before it is changed.
    """
    found: list[tuple[Any, list[str]]] = []

    def parsed() -> tuple[Any, list[str]]:
        if not found:
            found.append(parse())
            if write.patched is not None:
                write.patched(found[0][0])
        return found[0]

    return parsed


def _json_patch(write: Write, body: bytes) -> MakeObject:
    from gateway.patches import json_patch

    return _by_json(write, body, json_patch)


def _merge_patch(write: Write, body: bytes) -> MakeObject:
    from gateway.patches import merge_patch

    return _by_json(write, body, merge_patch)


_MAKERS: dict[bytes, Callable[[Write, bytes], MakeObject]] = {
    JSON_PATCH: _json_patch,
    MERGE_PATCH: _merge_patch,
    STRATEGIC_MERGE_PATCH: _by_strategic_merge,
    APPLY: lambda write, body: _by_apply(write, body, APPLY, _yaml_config),
    APPLY_CBOR: lambda write, body: _by_apply(write, body, APPLY_CBOR, _cbor_config),
}
CONFIGURATIONS = {APPLY: _yaml_config, APPLY_CBOR: _cbor_config}  # parse a body to a configuration and duplicate keys
