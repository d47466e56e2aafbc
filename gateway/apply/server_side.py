"""Server-side apply: merges an applied configuration into the live object (API Concepts, "Server Side Apply")."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from gateway.apply import entries as managers
from gateway.apply import last_applied
from gateway.apply.conflicts import ApplyConflict, conflict_error
from gateway.apply.entries import ManagerIdentity, identity_of, new_entry
from gateway.apply.field_set import FieldSet, difference, has, intersection, ordered, paths, recursive_difference
from gateway.apply.in_versions import InVersions, ToVersion
from gateway.apply.managed_fields import NOBODYS, Differences, Nonconforming, reset_set, update_managed
from gateway.apply.merge import merged
from gateway.apply.nonconformity import nonconformity
from gateway.apply.prune import pruned
from gateway.apply.reconcile import reconciled
from gateway.apply.walks import applied_paths
from gateway.http.status import StatusError, bad_request
from gateway.jsontypes import JsonObject, identical
from gateway.schema.types import Type


@dataclass(frozen=True, slots=True)
class _Apply:
    """The constant parameters of one apply."""

    type_: Type
    manager: str
    api_version: str
    subresource: str
    force: bool
    now: str
    reset: tuple[tuple[str, ...], ...]
    resets_in: Collection[str]
    convert: ToVersion | None

    @property
    def identity(self) -> ManagerIdentity:
        return ManagerIdentity(self.manager, "Apply", "", self.subresource)


def server_side_apply(
    live: JsonObject | None,
    config: JsonObject,
    type_: Type,
    *,
    manager: str,
    force: bool,
    api_version: str,
    kind: str = "",
    subresource: str = "",
    now: str,
    reset: tuple[tuple[str, ...], ...] = (),
    resets_in: Collection[str] = (),
    convert: ToVersion | None = None,
) -> JsonObject:
    """Merges the configuration into the live object (None for a create), and returns it with its managedFields.

    The caller must still decode and default the result. If the apply changes nothing, the result is the live object
    itself. `kind` is the type's name unless given. Raises StatusError: 400, 409 for conflicts, or 500 as kube-apiserver
    does.
    """
    _check(config, type_, api_version, kind or type_.name.rpartition(".")[2])
    request = _Apply(type_, manager, api_version, subresource, force, now, reset, resets_in, convert)
    if live is None:
        result = _created(config, request)
    else:
        _check_live(live, type_, api_version, kind or type_.name.rpartition(".")[2])
        seen = _in_versions(_tracked(live, request), request)
        try:
            result = _applied(seen, config, request)
        except ApplyConflict as conflict:
            result = _despite_conflicts(conflict, live, seen, config, request)
        except Nonconforming as error:
            raise StatusError(500, "", str(error)) from None
        except ValueError as error:  # the object does not conform in the version of a manager
            raise StatusError(500, "", f"failed to compare objects: {error}") from None
    if manager == last_applied.MANAGER:
        result = last_applied.refreshed(result, config)
    return live if live is not None and identical(result, live) else result


def _check(config: JsonObject, type_: Type, api_version: str, kind: str) -> None:
    version, given = _text(config.get("apiVersion")), _text(config.get("kind"))
    if (version, given) != (api_version, kind):
        raise bad_request(f"invalid object type: {_shown_kind(version, given)}")
    metadata = config.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    if isinstance(metadata.get("managedFields"), list):
        raise bad_request("metadata.managedFields must be nil")
    problem = nonconformity(config, type_)
    if problem:
        raise _untyped("patch", metadata, _shown_kind(version, given), problem)


def _check_live(live: JsonObject, type_: Type, api_version: str, kind: str) -> None:
    """Raises StatusError 500 for a custom object that does not conform to the present schema of its CRD."""
    if type_.structural and (problem := nonconformity(live, type_, duplicates=True)):
        raise _untyped("live", live["metadata"], _shown_kind(api_version, kind), problem)


def _in_versions(live: JsonObject, request: _Apply) -> InVersions:
    """The live object without the managers of versions that do not exist any more.

    Converts it to the version of each manager. Raises StatusError 500 if it does not conform to one of them.
    """
    seen = InVersions(live, request.type_, request.api_version, request.convert)
    entries = live["metadata"].get("managedFields") or []
    try:
        known = seen.remembered(entries)
    except ValueError as error:
        raise StatusError(500, "", str(error)) from None
    if len(known) == len(entries):
        return seen
    without = {**live, "metadata": {**live["metadata"], "managedFields": known}}
    return InVersions(without, request.type_, request.api_version, request.convert)


def _untyped(what: str, metadata: JsonObject, kind: str, problem: str) -> StatusError:
    subject = f"{_text(metadata.get('namespace'))}/{_text(metadata.get('name'))}; {kind}"
    return StatusError(500, "", f"failed to create typed {what} object ({subject}): {problem}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _shown_kind(api_version: str, kind: str) -> str:
    if api_version.count("/") > 1:  # not a valid apiVersion: Go prints an empty kind
        return "/, Kind="
    return f"{api_version if '/' in api_version else f'/{api_version}'}, Kind={kind}"


def _claims(config: JsonObject, request: _Apply) -> FieldSet:
    """The fields that a configuration sets, including those without managers, but without `reset`."""
    walk = applied_paths(request.type_)
    fields = (walk(config) if walk else None) or {}
    return recursive_difference(fields, reset_set(request.reset))


def _created(config: JsonObject, request: _Apply) -> JsonObject:
    metadata = {name: value for name, value in (config.get("metadata") or {}).items() if name != "managedFields"}
    fields = difference(_claims(config, request), NOBODYS)
    if fields:
        metadata["managedFields"] = [new_entry(request.identity, request.api_version, request.now, ordered(fields))]
    return {**config, "metadata": metadata}


def _tracked(live: JsonObject, request: _Apply) -> JsonObject:
    """The live object. If it has no managedFields, the manager before-first-apply gets all of its fields."""
    if live["metadata"].get("managedFields"):
        return live
    tracked: JsonObject = {**live, "metadata": dict(live["metadata"])}
    update_managed(
        tracked,
        None,
        request.type_,
        manager="before-first-apply",
        api_version=request.api_version,
        subresource=request.subresource,
        now=request.now,
        reset=request.reset,
        resets_in=request.resets_in,
        convert=request.convert,
    )
    return tracked


def _applied(seen: InVersions, config: JsonObject, request: _Apply) -> JsonObject:
    live = seen.obj
    entries = {identity_of(entry): entry for entry in live["metadata"].get("managedFields") or ()}
    previous = entries.pop(request.identity, None)
    named = _claims(config, request)
    fields = difference(named, NOBODYS)
    result: JsonObject = merged(live, config, request.type_)
    claimed = previous is not None and _is_same(previous, request.api_version, fields)
    if result is live and claimed:
        return live
    entries = {identity: _reconciled(entry, request) for identity, entry in entries.items()}
    if previous and not claimed:  # a manager that claims the same fields as before has given up none
        before, others = _reconciled(previous, request), _by_version(entries.values())
        try:
            result = pruned(result, before, named, others, request.type_, request.api_version, request.convert)
        except ValueError as error:
            raise Nonconforming(f"failed to prune fields: {error}") from None
    time = previous.get("time") if previous else None
    if not identical(result, live):
        _take_over(entries, seen, result, request)
        time = request.now
    if fields:
        kept = previous["fieldsV1"] if previous and claimed else ordered(fields)
        entries[request.identity] = new_entry(request.identity, request.api_version, time, kept)
    result = {**result, "metadata": dict(result.get("metadata") or {})}
    result["metadata"].pop("managedFields", None)
    if entries:
        result["metadata"]["managedFields"] = managers.in_order(list(entries.values()))
    return result


def _is_same(entry: JsonObject, api_version: str, fields: FieldSet) -> bool:
    return bool(entry["apiVersion"] == api_version and entry.get("fieldsV1") == fields)


def _by_version(entries: Iterable[JsonObject]) -> dict[str, list[FieldSet]]:
    found: dict[str, list[FieldSet]] = {}
    for entry in entries:
        found.setdefault(entry["apiVersion"], []).append(entry.get("fieldsV1") or {})
    return found


def _reconciled(entry: JsonObject, request: _Apply) -> JsonObject:
    if entry["apiVersion"] != request.api_version:
        return entry
    fields = entry.get("fieldsV1") or {}
    fitting = reconciled(fields, request.type_)
    return entry if fitting is fields else {**entry, "fieldsV1": fitting}


def _take_over(
    entries: dict[ManagerIdentity, JsonObject], live: InVersions, result: JsonObject, request: _Apply
) -> None:
    """Removes the fields that the apply changes from the other managers' entries, in place.

    Raises Conflict if there are such fields and the apply is not forced.
    """
    after = InVersions(result, request.type_, request.api_version, request.convert)
    reset, resets_in = request.reset, request.resets_in
    differences = Differences(live, after, request.type_, request.api_version, reset, resets_in=resets_in)
    conflicts: list[tuple[ManagerIdentity, tuple[str, ...]]] = []
    left: dict[ManagerIdentity, JsonObject] = {}
    for identity, entry in entries.items():
        found = differences.in_version(entry["apiVersion"])
        if found is None:
            continue
        fields = entry.get("fieldsV1") or {}
        conflicts += [(identity, path) for path in paths(intersection(fields, found.changed))]
        kept = difference(difference(fields, found.changed), found.removed)
        if kept:
            left[identity] = entry if kept is fields else {**entry, "fieldsV1": kept}
    if conflicts and not request.force:
        raise ApplyConflict(conflicts)
    entries.clear()
    entries.update(left)


def _despite_conflicts(
    conflict: ApplyConflict, live: JsonObject, seen: InVersions, config: JsonObject, request: _Apply
) -> JsonObject:
    """Applies with force if kubectl's client-side apply set all fields in conflict; else raises StatusError 409."""
    found = conflict.conflicts
    if request.manager == last_applied.MANAGER:
        allowed: Any = last_applied.unchanged_fields(live, request.type_, request.api_version)
        if allowed is not None:
            found = [(identity, path) for identity, path in found if not has(allowed, path)]
            if not found:
                return _applied(seen, config, replace(request, force=True))
    raise conflict_error(found) from None
