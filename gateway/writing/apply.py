"""Server-side apply as a patch: the configuration is merged by field ownership, and the result read as the type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.apply import server_side_apply
from gateway.apply.repetitions import digest_of
from gateway.http import status
from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource
from gateway.kinds.write_context import WriteOptions
from gateway.patches.raw_values import rewritten
from gateway.patches.unstructured import converted, mismatch
from gateway.schema.decode import DecodeError, DecodeReport
from gateway.schema.empty_lists import null_empty_lists
from gateway.schema.errors import EmbeddedError, YamlError
from gateway.schema.outside import read_yaml
from gateway.schema.refusals import json_kind
from gateway.validation.field import FieldError
from gateway.writing.body import complete, warning_lines
from gateway.writing.field_tracking import told_apart, versions_reset
from gateway.writing.make import Made, Present
from gateway.writing.patch_body import APPLY, APPLY_CBOR
from gateway.writing.patch_steps import MakePatched, Parsed, read_internal, read_once
from gateway.writing.write import Write, invalid


def by_apply(write: Write, media_type: bytes, body: bytes) -> MakePatched:
    """Applies the configuration in a body. An apply that is repeated and changes nothing is recognised by a digest,
    and not merged again; admission and validation judge it as every write."""

    parse = read_once(write, lambda: CONFIGURATIONS[media_type](body))
    options, repeated = write.options, write.endpoint.repeated
    asked = f"{media_type!r} {options.validation} {options.force} {options.manager}".encode()

    def make(present: Present, told: list[str]) -> Made:
        if present.obj is None:
            return applied(write, parse(), present, told)
        digest = digest_of(present.value, present.revision, body, asked)
        if digest in repeated:
            return Made(present.obj)
        made = applied(write, parse(), present, told)
        if made.obj is present.obj and not told:  # with warnings, the next apply must give them again
            repeated.add(digest)
        return made

    return make


def applied(write: Write, parsed: Parsed, present: Present, told: list[str]) -> Made:
    """Applies a configuration to the present object. Adds warnings to `told`. Raises StatusError."""
    endpoint, resource = write.endpoint, write.resource
    configuration, duplicates = parsed
    merged = server_side_apply(
        present.obj,
        configuration,
        endpoint.type,
        manager=write.options.manager,
        force=bool(write.options.force),
        api_version=resource.api_version,
        subresource=resource.subresource,
        now=write.context.now,
        reset=endpoint.strategy.reset_fields,
        resets_in=versions_reset(write),
        convert=present.convert,
    )
    told += _about_duplicates(write.options, duplicates)
    if merged is present.obj:
        return Made(merged)
    report = DecodeReport()
    new = _typed(write, configuration, merged, report)
    null_empty_lists(endpoint.type, new)
    complete(new, None, resource, applied=True)
    return Made(new, unstored=told_apart(endpoint.type, merged, new, report)[0])


def _typed(write: Write, configuration: JsonObject, merged: JsonObject, report: DecodeReport) -> JsonObject:
    """The merged value as an object of the type. Raises StatusError."""
    type_, resource = write.endpoint.type, write.resource
    try:
        new = converted(type_, rewritten(type_, merged), report)
    except EmbeddedError as error:  # for an apply, kube-apiserver finds this only in validation
        raise invalid(write, [FieldError("FieldValueInvalid", error.path, error.body)], merged) from None
    except DecodeError as error:
        raise _unconvertible(resource, configuration, mismatch(merged, type_) or str(error)) from None
    read_internal(resource, new, lambda message, _: _not_unversioned(resource, configuration, message))
    return new


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


def _about_duplicates(options: WriteOptions, duplicates: list[str]) -> list[str]:
    """The warnings of duplicate keys in an applied configuration. Raises StatusError 400 with Strict."""
    if not duplicates or options.validation == "Ignore":
        return []
    lines = "".join(f"\n  {text}" for text in duplicates)
    problem = f"error converting YAML to JSON: yaml: unmarshal errors:{lines}"
    if options.validation == "Strict":
        raise status.bad_request(f"error strict decoding YAML: {problem}")
    return warning_lines([problem])


def _yaml_config(body: bytes) -> Parsed:
    try:
        config, duplicates = read_yaml(body)
    except YamlError as error:
        raise status.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    return _checked_config(config), duplicates


def _cbor_config(body: bytes) -> Parsed:
    from gateway.encodings.cbor import CborError, decode

    try:
        return _checked_config(decode(body)), []
    except CborError as error:
        raise status.bad_request(f"error decoding YAML: {error}") from None  # kube-apiserver says YAML here, too


def _checked_config(config: Any) -> JsonObject:
    """Returns an applied configuration. Raises StatusError 400 if it is not an object."""
    if config is None:
        raise status.bad_request("invalid object type: /, Kind=")
    if not isinstance(config, dict):
        raise status.bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{json_kind(config)} into Go value of type map[string]interface {{}}"
        )
    return config


CONFIGURATIONS: dict[bytes, Callable[[bytes], Parsed]] = {APPLY: _yaml_config, APPLY_CBOR: _cbor_config}
"""Parse a body to a configuration and its duplicate keys, by media type. They raise StatusError 400."""
