"""Object metadata (API Conventions "Metadata", API Concepts "Object names", "Owners and dependents", "Finalizers")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.memo import memo
from gateway.validation.field import (
    FieldError,
    bounded,
    forbidden,
    go_quote,
    invalid,
    not_supported,
    required,
    reworded,
    too_long,
)
from gateway.validation.internal_form import go_json
from gateway.validation.labels import validate_annotations, validate_labels
from gateway.validation.names import byte_length, is_dns1123_label, is_qualified_name, name_is_dns_subdomain

NameRule = Callable[[str, bool], Sequence[str]]  # (name, is a generateName prefix) -> messages
IMMUTABLE = "field is immutable"
_MOST_TOLD = 8  # errors about several controllers: each shows the whole list
STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


@bounded
def validate_object_meta(
    meta: JsonObject,
    namespaced: bool,
    validate_name: NameRule | None = None,
    path: str = "metadata",
    *,
    standard_finalizers: bool = True,
) -> list[FieldError]:
    """Checks the metadata of a new object. `validate_name` is the name rule of the kind, by default DNS subdomains.

    With `standard_finalizers` (built-in kinds), an unqualified finalizer must be one of STANDARD_FINALIZERS.
    """
    rule = validate_name or name_is_dns_subdomain
    found: list[FieldError] = []
    name, prefix, namespace = meta.get("name"), meta.get("generateName"), meta.get("namespace")
    if prefix:
        found += [invalid(f"{path}.generateName", prefix, message) for message in rule(prefix, True)]
    if not name:
        found.append(required(f"{path}.name", "name or generateName is required"))
    else:
        found += [invalid(f"{path}.name", name, message) for message in rule(name, False)]
    if namespaced:
        if not namespace:
            found.append(required(f"{path}.namespace"))
        else:
            found += [invalid(f"{path}.namespace", namespace, message) for message in is_dns1123_label(namespace)]
    elif namespace:
        found.append(forbidden(f"{path}.namespace", "not allowed on this type"))
    if "generation" in meta and meta["generation"] < 0:
        found.append(invalid(f"{path}.generation", meta["generation"], "must be greater than or equal to 0"))
    found += _common(meta, path, finalizers=True)
    return found + _unqualified_finalizers(meta, path) if standard_finalizers and "finalizers" in meta else found


def _common(meta: JsonObject, path: str, finalizers: bool) -> list[FieldError]:
    found: list[FieldError] = []
    if "labels" in meta and (labels := meta["labels"]):
        found += validate_labels(labels, f"{path}.labels")
    if "annotations" in meta and (annotations := meta["annotations"]):
        found += validate_annotations(annotations, f"{path}.annotations")
    if "ownerReferences" in meta and (owners := meta["ownerReferences"]):
        found += validate_owner_references(owners, f"{path}.ownerReferences")
    if finalizers and "finalizers" in meta and (names := meta["finalizers"]):
        found += validate_finalizers(names, f"{path}.finalizers")
    if "managedFields" in meta and (managed := meta["managedFields"]):
        found += validate_managed_fields(managed, f"{path}.managedFields")
    return found


def validate_owner_references(references: list[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    controller, shown, told = "", "", 0
    for i, reference in enumerate(references):
        found += _owner_reference(reference, path, f"{path}[{i}]")
        if reference.get("controller"):
            current = f"{reference.get('kind', '')}/{reference.get('name', '')}"
            if controller:
                told += 1
                if told > _MOST_TOLD:
                    continue
                shown = shown or go_json([_in_order(each) for each in references])
                text = 'Only one reference can have Controller set to true. Found "true" in references for '
                found.append(invalid(path, shown, f"{text}{controller} and {current}"))
            else:
                controller = current
    return found


def _owner_reference(reference: JsonObject, path: str, place: str) -> list[FieldError]:
    """`path` is the list's path, and `place` has the index, too. In releases with a change, errors name `place`."""
    api_version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
    # Go cannot parse an apiVersion with more than one slash: it then counts as empty
    parses = api_version.count("/") <= 1
    found: list[FieldError] = []
    if not parses or not api_version.rpartition("/")[2]:
        error = invalid(f"{path}.apiVersion", api_version, "version must not be empty")
        found.append(reworded("OwnerReferencesIndexed", error, lambda: _no_version(api_version, place)))
    for key in ("kind", "name", "uid"):
        if not reference.get(key):
            error = invalid(f"{path}.{key}", "", _EMPTY)
            found.append(reworded("OwnerReferencesIndexed", error, partial(required, f"{place}.{key}", _EMPTY)))
    if api_version == "v1" and kind == "Event":
        shown = go_json(_in_order(reference))
        error = invalid(path, shown, "/v1, Kind=Event is disallowed from being an owner")
        found.append(reworded("OwnerReferencesIndexed", error, partial(error.at, place)))
    return found


_EMPTY = "must not be empty"


def _no_version(given: str, place: str) -> FieldError:
    path = f"{place}.apiVersion"
    return invalid(path, given, "must be <group>/<version> or <version>") if given else required(path, _EMPTY)


def _in_order(reference: JsonObject) -> JsonObject:
    """The owner reference with its fields in Go's order."""
    shown = {key: reference.get(key, "") for key in ("apiVersion", "kind", "name", "uid")}
    return shown | {key: reference[key] for key in ("controller", "blockOwnerDeletion") if key in reference}


def validate_finalizers(names: list[str], path: str) -> list[FieldError]:
    found = [error for name in names for error in validate_finalizer_name(name, path)]
    if "orphan" in names and "foregroundDeletion" in names:
        found.append(invalid(path, names, "finalizer orphan and foregroundDeletion cannot be both set"))
    return found


def validate_finalizer_name(name: str, path: str) -> list[FieldError]:
    return [invalid(path, name, message) for message in is_qualified_name(name)]


def validate_managed_fields(entries: list[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for i, entry in enumerate(entries):
        operation, fields_type = entry.get("operation", ""), entry.get("fieldsType", "")
        if operation not in ("Apply", "Update"):
            found.append(_operation(operation, f"{path}[{i}].operation"))
        if fields_type not in ("", "FieldsV1"):
            found.append(invalid(f"{path}[{i}].fieldsType", fields_type, "must be `FieldsV1`"))
        if (manager := entry.get("manager")) and not _is_field_manager(manager):
            found += validate_field_manager(manager, f"{path}[{i}].manager")
        if "subresource" in entry and byte_length(entry["subresource"]) > 256:
            found.append(too_long(f"{path}[{i}].subresource", 256))
    return found


def _operation(given: str, path: str) -> FieldError:
    """The error of an entry of managedFields with an operation that there is not."""
    error = invalid(path, given, "must be `Apply` or `Update`")
    later = partial(not_supported, path, given, ("Apply", "Update")) if given else partial(required, path, _EMPTY)
    return reworded("ManagersOperationsNamed", error, later)


@memo()
def _is_field_manager(manager: str) -> bool:
    return not validate_field_manager(manager, "")


def validate_field_manager(manager: str, path: str) -> list[FieldError]:
    """Checks the name of a field manager: at most 128 bytes, and only printable characters."""
    found = [too_long(path, 128)] if byte_length(manager) > 128 else []
    if manager.isprintable():
        return found
    position = 0
    for char in manager:
        if not char.isprintable():
            shown = f"U+{ord(char):04X}"
            found.append(invalid(path, manager, f"invalid character {shown} (at position {position})"))
        position += byte_length(char)
    return found


@bounded
def validate_object_meta_update(
    new: JsonObject,
    old: JsonObject,
    path: str = "metadata",
    *,
    built_in: bool = True,
    standard_finalizers: bool = True,
    checked: bool = False,
) -> list[FieldError]:
    """Checks the metadata of an update. `new` must have its resourceVersion filled in.

    kube-apiserver runs this check for all kinds, and again in the rules of each built-in kind. So with `built_in`, each
    error comes twice. `checked` says that `validate_object_meta` found no error in `new`: then only the change itself
    is checked.
    """
    found = _changed_errors(new, old, path) if checked else _update_errors(new, old, path)
    if built_in:
        found += found
        return found + _unqualified_finalizers(new, path) if standard_finalizers and "finalizers" in new else found
    return found


@bounded
def recheck_object_meta_update(
    new: JsonObject, old: JsonObject, path: str = "metadata", *, standard_finalizers: bool = True
) -> list[FieldError]:
    """Only the second of both checks of a built-in kind, for kinds that report other errors between them."""
    found = _update_errors(new, old, path)
    return found + _unqualified_finalizers(new, path) if standard_finalizers else found


def _unqualified_finalizers(meta: JsonObject, path: str) -> list[FieldError]:
    """Errors about finalizers that are neither standard ones nor qualified with a domain."""
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"{path}.finalizers[{i}]", name, text)
        for i, name in enumerate(meta.get("finalizers") or ())
        if "/" not in name and name not in STANDARD_FINALIZERS
    ]


def _update_errors(new: JsonObject, old: JsonObject, path: str) -> list[FieldError]:
    return _changed_errors(new, old, path) + _common(new, path, finalizers=False)


def _changed_errors(new: JsonObject, old: JsonObject, path: str) -> list[FieldError]:
    """Errors about the change from `old` to `new`, and not about `new` itself."""
    found: list[FieldError] = []
    if old.get("deletionTimestamp") and (extra := set(new.get("finalizers") or ()) - set(old.get("finalizers") or ())):
        listed = ", ".join(go_quote(name) for name in sorted(extra))
        text = "no new finalizers can be added if the object is being deleted, found new finalizers "
        found.append(forbidden(f"{path}.finalizers", f"{text}[]string{{{listed}}}"))
    if not new.get("resourceVersion"):
        found.append(invalid(f"{path}.resourceVersion", "", "must be specified for an update"))
    if ("generation" in new or "generation" in old) and new.get("generation", 0) < old.get("generation", 0):
        found.append(invalid(f"{path}.generation", new.get("generation", 0), "must not be decremented"))
    for key, absent in _IMMUTABLE.items():
        if new.get(key) != old.get(key) or (key == "deletionTimestamp" and key in new and key not in old):
            found.append(invalid(f"{path}.{key}", new.get(key, absent), IMMUTABLE))
    return found


_IMMUTABLE: dict[str, Any] = {
    "name": "",
    "namespace": "",
    "uid": "",
    "creationTimestamp": None,
    "deletionTimestamp": None,
    "deletionGracePeriodSeconds": None,
}
