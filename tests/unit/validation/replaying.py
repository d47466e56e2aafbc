"""Validation of a write alone: decoded, defaulted, prepared and validated, without a server and admission."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from typing import Any

from gateway.allocation.carry_over import in_step, keep_allocated, needs_health_check_port
from gateway.allocation.families import fill_families
from gateway.http import status
from gateway.http.request_info import RequestInfo
from gateway.http.status import StatusError
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds import metadata
from gateway.kinds.attributes import Attributes
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.identity import GroupVersion
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.kinds.write_context import WriteContext
from gateway.release.minors import DEFAULT
from gateway.release.release import release_of
from gateway.schema.catalog import serving
from gateway.schema.decode import DecodeReport
from gateway.schema.empty_lists import unstored
from gateway.validation.declared_rules import errors_beside
from gateway.validation.field import FieldError
from gateway.validation.names import name_is_path_segment
from gateway.validation.objectmeta import validate_object_meta, validate_object_meta_update
from gateway.writing.body import complete

NOW = "2026-01-02T03:04:05Z"


@cache
def registry_of(minor: str) -> Registry:
    return builtin_registry(release=release_of(minor=minor))


Cause = dict[str, str]


def resource_of(written: str, subresource: str = "", minor: str = DEFAULT) -> Resource:
    """A resource as it is written: v1/pods, apps/v1/deployments."""
    group_version, _, plural = written.rpartition("/")
    group, _, version = group_version.rpartition("/")
    return registry_of(minor).resources[group, version, plural, subresource]


def judged(written: str, subresource: str, sent: JsonObject, old: JsonObject | None, minor: str) -> list[Cause]:
    """The causes for which a create of `sent`, or an update of `old` to `sent`, is refused; empty if it is accepted.

    Raises DecodeError if `sent` cannot be decoded, and StatusError for a refusal with another reason than Invalid.
    """
    resource = resource_of(written, subresource, minor)
    obj, stored = _stored(resource, sent), None if old is None else _stored(resource_of(written, "", minor), old)
    name, namespace = (old or sent)["metadata"].get("name", ""), "default" if resource.namespaced else ""
    request = RequestInfo("create" if old is None else "update", "", subresource=subresource)
    context = WriteContext(Attributes(User("admin"), request), resource, namespace, name, now=NOW)
    context = context._replace(release=release_of(minor=minor), unstored=unstored(resource.model_version.type, sent))
    errors = _created(obj, context) if stored is None else _updated(obj, stored, context)
    enabled, once = release_of(minor=minor).gates.enabled, resource.strategy.tells_once
    errors = [error.as_told(enabled) for error in errors]
    return [] if not errors else status.invalid("", resource.kind, name, errors, once=once).details["causes"]


def _stored(resource: Resource, sent: JsonObject) -> JsonObject:
    """An object as it comes to the strategy: of the storage version."""
    parsed = json.loads(json.dumps(sent))
    obj = complete(resource.model_version.decode(parsed, DecodeReport()), parsed, resource)
    if resource.storage_version == resource.api_version:
        return obj
    return resource.model.convert(obj, GroupVersion(resource.group, resource.version), resource.model.storage_version)


def _created(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    resource, strategy, meta = context.resource, context.resource.strategy, obj["metadata"]
    metadata.wipe_system_fields(meta)
    metadata.match_namespace(meta, metadata.expected_namespace(resource, context.namespace))
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = metadata.generated_name(meta["generateName"])
    metadata.fill_system_fields(meta, NOW)
    if resource.qualified == "services":
        _complete_service(obj, None)
    strategy.prepare_for_create(obj, context)
    context = context.prepared(obj)
    wrong = validate_object_meta(
        meta, resource.namespaced, strategy.validate_name, standard_finalizers=strategy.standard_finalizers
    )
    errors = strategy.validate(context.as_sent(obj), context.with_metadata_errors(wrong))
    return _beside(resource, errors if errors and strategy.metadata_last else wrong + errors, obj, None)


def _updated(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    resource, strategy = context.resource, context.resource.strategy
    old = deepcopy(old)
    metadata.match_name(obj["metadata"], old["metadata"]["name"])
    metadata.match_namespace(obj["metadata"], metadata.expected_namespace(resource, context.namespace))
    metadata.keep_generation(obj["metadata"], old["metadata"])
    if resource.qualified == "services" and not resource.subresource:
        _complete_service(obj, old)
    strategy.prepare_for_update(obj, old, context)
    meta, old_meta = obj["metadata"], old["metadata"]
    metadata.carry_over(meta, old_meta)
    errors = validate_object_meta(meta, resource.namespaced, name_is_path_segment, standard_finalizers=False)
    errors += validate_object_meta_update(
        meta, old_meta, built_in=strategy.rechecks_metadata, standard_finalizers=strategy.standard_finalizers
    )
    found = strategy.validate_update(context.as_sent(obj), old, context.with_metadata_errors(errors))
    return _beside(resource, errors + found, obj, old)


def _beside(resource: Resource, found: list[FieldError], obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    rules = resource.strategy.declared
    return errors_beside(rules, found, obj, old) if rules else found


def _complete_service(obj: JsonObject, old: JsonObject | None) -> None:
    """What a service gets before it is judged, apart from what has to be allocated. Raises StatusError."""
    spec = obj.setdefault("spec", {})
    before = None if old is None else deepcopy(old["spec"])
    if before is not None:
        keep_allocated(spec, before)
    in_step(spec, before)
    fill_families(obj, None if old is None else {**old, "spec": before}, ("IPv4",))
    if needs_health_check_port(spec):
        spec.setdefault("healthCheckNodePort", 32_000)


def told(written: str, subresource: str, sent: JsonObject, old: JsonObject | None, minor: str = DEFAULT) -> Any:
    """The same by the rules of a minor, with what stands for other refusals: their text."""
    try:
        with serving(minor):
            return judged(written, subresource, sent, old, minor)
    except StatusError as error:
        return (error.details or {}).get("causes") or f"{error.code} {error}"
    except ValueError as error:
        return f"{type(error).__name__}: {error}"


__all__ = ["Cause", "judged", "resource_of", "told"]
