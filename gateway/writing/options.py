"""The options of a write: CreateOptions, UpdateOptions, PatchOptions and DeleteOptions (meta/v1).

They come as query parameters (DeleteOptions also as a body) and are validated before all other checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from gateway.http.parameters import boolean, integer
from gateway.http.status import invalid
from gateway.jsontypes import JsonObject
from gateway.kinds.write_context import NO_OPTIONS, WriteOptions
from gateway.validation import field as fields
from gateway.validation.field import FieldError
from gateway.validation.objectmeta import validate_field_manager

Query = Mapping[str, Sequence[str]]

MANAGER_MAX_LENGTH = 128
_LONGEST_AGENT = 64 * 1024  # bytes of a User-Agent that are read
META_GROUP = "meta.k8s.io"
_FIELD_VALIDATION = ("", "Ignore", "Strict", "Warn")
UNSAFE_DELETE = "ignoreStoreReadErrorWithClusterBreakingPotential"
_NOT_WITH_UNSAFE = ("propagationPolicy", "orphanDependents", "gracePeriodSeconds", "preconditions")
_TYPE_META = ("kind", "apiVersion")
_PROPAGATION = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """The options of delete and deletecollection; None means not set."""

    grace_period: int | None = None
    propagation: str | None = None
    orphan_dependents: bool | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False
    unsafe: bool = False  # whether an unreadable object may be deleted
    given: JsonObject = field(default_factory=dict)  # the members that the client has set


def write_options(query: Query, kind: str, *, apply: bool = False) -> WriteOptions:
    """Reads the options of `kind`, CreateOptions, UpdateOptions or PatchOptions, from a query.

    With `apply` a fieldManager is required. `force` counts only for PatchOptions. Raises StatusError 422.
    """
    if not query and not apply:
        return NO_OPTIONS
    errors: list[FieldError] = []
    manager = _first(query, "fieldManager")
    force = _bool(query, "force") if kind == "PatchOptions" else None
    if apply and not manager:
        errors.append(fields.required("fieldManager", "is required for apply patch"))
    if force is not None and not apply:
        errors.append(fields.forbidden("force", "may not be specified for non-apply patch"))
    dry_run = query.get("dryRun", ())
    validation = _first(query, "fieldValidation")
    if manager:
        errors += validate_field_manager(manager, "fieldManager")
    errors += _dry_run_errors(dry_run)
    if validation not in _FIELD_VALIDATION:
        errors.append(fields.not_supported("fieldValidation", validation, _FIELD_VALIDATION))
    if errors:
        raise invalid(META_GROUP, kind, "", errors)
    return WriteOptions(manager, validation or "Warn", bool(dry_run), force, len(dry_run), validation)


def options_document(options: WriteOptions, kind: str) -> JsonObject:
    """The options as JSON of `kind`, CreateOptions or UpdateOptions, with the members that are set."""
    document: JsonObject = {"kind": kind, "apiVersion": f"{META_GROUP}/v1"}
    if options.dry_run:
        document["dryRun"] = ["All"] * max(1, options.dry_run_values)
    if options.manager:
        document["fieldManager"] = options.manager
    if options.given_validation:
        document["fieldValidation"] = options.given_validation
    return document


def delete_options_document(options: DeleteOptions) -> JsonObject:
    """DeleteOptions as JSON, with the members that are set."""
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    own: JsonObject = {
        "gracePeriodSeconds": options.grace_period,
        "preconditions": {key: value for key, value in preconditions.items() if value is not None} or None,
        "orphanDependents": options.orphan_dependents,
        "propagationPolicy": options.propagation,
        "dryRun": ["All"] if options.dry_run else None,
    }
    head = {"kind": "DeleteOptions", "apiVersion": f"{META_GROUP}/v1"}
    return {**head, **{key: value for key, value in own.items() if value is not None}, **options.given}


def delete_options_of_query(query: Query, *, unsafe: bool = False) -> DeleteOptions:
    """Reads DeleteOptions from a query. Raises StatusError 400 for an invalid number, 422 for other invalid values.

    `unsafe` is as for `validated_delete_options`.
    """
    if not query:
        return DeleteOptions()
    values: JsonObject = {"dryRun": list(query.get("dryRun", ())) or None}
    if query.get("gracePeriodSeconds"):
        values["gracePeriodSeconds"] = integer(_first(query, "gracePeriodSeconds"))
    if query.get("propagationPolicy"):
        values["propagationPolicy"] = _first(query, "propagationPolicy")
    values["orphanDependents"] = _bool(query, "orphanDependents")
    values[UNSAFE_DELETE] = _bool(query, UNSAFE_DELETE)
    preconditions = {name: _first(query, name) for name in ("uid", "resourceVersion") if _first(query, name)}
    values["preconditions"] = preconditions or None
    return validated_delete_options(values, unsafe=unsafe)


def validated_delete_options(values: JsonObject, *, unsafe: bool = False) -> DeleteOptions:
    """Validates decoded DeleteOptions. Raises StatusError 422.

    `unsafe`: whether ignoreStoreReadErrorWithClusterBreakingPotential is refused together with most other options.
    """
    propagation: str | None = values.get("propagationPolicy")
    orphan: bool | None = values.get("orphanDependents")
    dry_run: list[str] = values.get("dryRun") or []
    errors: list[FieldError] = []
    if orphan is not None and propagation is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(fields.invalid("propagationPolicy", propagation, text))
    if propagation is not None and propagation not in _PROPAGATION:
        errors.append(fields.not_supported("propagationPolicy", propagation, (*_PROPAGATION, "nil")))
    errors += _dry_run_errors(dry_run)
    if unsafe and values.get(UNSAFE_DELETE):
        errors += beside_unsafe(values)
    if errors:
        raise invalid(META_GROUP, "DeleteOptions", "", errors)
    preconditions = values.get("preconditions") or {}
    return DeleteOptions(
        values.get("gracePeriodSeconds"),
        propagation,
        orphan,
        preconditions.get("uid"),
        preconditions.get("resourceVersion"),
        bool(dry_run),
        bool(values.get(UNSAFE_DELETE)),
        {key: value for key, value in values.items() if value is not None and key not in _TYPE_META},
    )


def beside_unsafe(given: JsonObject) -> list[FieldError]:
    """Errors for options that cannot be set together with the deletion of unreadable objects."""
    return [
        fields.invalid(UNSAFE_DELETE, True, f"cannot be set together with .{name}")
        for name in _NOT_WITH_UNSAFE
        if given.get(name) is not None
    ]


def manager_of(option: str, user_agent: bytes) -> str:
    """The field manager of a request: the option, else the part of the User-Agent before "/", else "unknown"."""
    if option:
        return option
    prefix = user_agent[:_LONGEST_AGENT].partition(b"/")[0].decode("utf-8", "replace")
    if len(prefix) > MANAGER_MAX_LENGTH or not prefix.isprintable():
        printable = "".join(islice(filter(str.isprintable, prefix), MANAGER_MAX_LENGTH))
        prefix = printable.encode()[:MANAGER_MAX_LENGTH].decode("utf-8", "ignore")
    return prefix or "unknown"


def _dry_run_errors(values: Sequence[str]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    return [fields.not_supported("dryRun", list(values), ("All",))]


def _first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _bool(query: Query, name: str) -> bool | None:
    """A boolean parameter; None if it is not set."""
    values = query.get(name)
    return boolean(values[0]) if values else None
