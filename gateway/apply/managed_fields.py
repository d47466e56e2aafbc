"""Updates metadata.managedFields for all writes but applies (API Concepts, "Server Side Apply").

managedFields tell which manager last changed which field.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from functools import lru_cache
from typing import Protocol

from gateway.apply import entries as managers
from gateway.apply.comparison import Comparison, compare, unset
from gateway.apply.entries import ManagerIdentity, identity_of, new_entry
from gateway.apply.field_set import LEAF, FieldSet, difference, of_paths, recursive_difference, union
from gateway.apply.in_versions import InVersions, ToVersion
from gateway.apply.nonconformity import nonconformity
from gateway.apply.plain_creates import known_of, plain_names, size_of
from gateway.apply.reconcile import reconciled
from gateway.jsontypes import JsonObject, identical
from gateway.schema.types import Type, compiled


class KnownMember(Protocol):
    """A member of a new object whose field set may be known."""

    member: str  # its name
    fields: FieldSet | None  # the field set below it; None: it is not known yet, and is to be set

    def whole(self, names: Hashable, make: Callable[[], FieldSet]) -> FieldSet:
        """The field set of an object that has this member and members with these names, which `make` makes."""


NEVER_OWNED = frozenset(
    {
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    }
)
"""Fields of the metadata that have no managers."""

NOBODYS = of_paths(("apiVersion",), ("kind",), ("metadata",), *(("metadata", name) for name in sorted(NEVER_OWNED)))
"""The field set of all fields without managers: those in NEVER_OWNED, metadata itself, apiVersion and kind."""


def update_managed(
    new: JsonObject,
    old: JsonObject | None,
    type_: Type,
    *,
    manager: str,
    operation: str = "Update",
    api_version: str,
    subresource: str = "",
    now: str,
    reset: tuple[tuple[str, ...], ...] = (),
    resets_in: Collection[str] = (),
    convert: ToVersion | None = None,
    known_member: KnownMember | None = None,
    emptied: FieldSet = LEAF,
) -> None:
    """Sets `new["metadata"]["managedFields"]` in place for a create (`old` is None), update or patch.

    On entry, `new` has the managedFields that the client sent, if any. `reset`: the paths that a write through this
    resource can't change; `resets_in`: the other versions of a custom resource in which it can't, too. `known_member`:
    a member of a new object whose field set is kept. `emptied`: fields that count as changed, although the objects are
    equal in them. An update of an object without managed fields does not add them. Raises ValueError if the object does
    not conform to its schema, or can't be converted to the version of a manager; then `new` has no managedFields.
    """
    metadata = new["metadata"]
    sent = metadata.pop("managedFields", None)
    writer = ManagerIdentity(manager or "unknown", operation, api_version, subresource)
    if old is None and sent is None and (fields := _fields_of_plain(new, type_, reset, known_member)):
        metadata["managedFields"] = [new_entry(writer, api_version, now, fields)]
        return
    live = (old["metadata"].get("managedFields") or []) if old is not None else []
    known = _starting_point(sent, live, bool(subresource))
    if old is not None and not known:
        return
    if known is not live:
        known = [entry for entry in known if entry.get("fieldsV1")]  # a manager without fields has no entry
    if old is not None and type_.structural:  # its CRD may have changed since the last write
        known = _fitting(known, type_, api_version)
    before = None if old is None else InVersions(old, type_, api_version, convert)
    after = InVersions(new, type_, api_version, convert)
    differences = Differences(before, after, type_, api_version, reset, known_member, emptied, resets_in=resets_in)
    known = (before or after).remembered(known)
    own = differences.in_version(api_version)
    if own is None or not (own.changed or own.removed):
        return _set(metadata, known, in_order=known is live)
    left = _remaining(known, differences, type_, writer)
    if own.changed:
        left = _with_changes(left, writer, own.changed, now)
    _set(metadata, managers.capped(left))


def _set(metadata: JsonObject, entries: list[JsonObject], *, in_order: bool = False) -> None:
    """Sets the entries, if there are any; sorted, unless they are `in_order`."""
    if entries:
        metadata["managedFields"] = entries if in_order else managers.in_order(entries)


def keep_timestamps(new: JsonObject, old: JsonObject) -> None:
    """Restores the old managedFields of `new`, in place, if `new` and `old` differ only in the times of managedFields.

    Then the write changes nothing, and is not stored. The resourceVersions must be equal or absent.
    """
    after, before = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if not after or not before or after == before or len(after) != len(before):
        return
    if {**new["metadata"], "managedFields": None} != {**old["metadata"], "managedFields": None}:
        return
    if [_timeless(entry) for entry in after] != [_timeless(entry) for entry in before]:
        return
    if new.keys() != old.keys() or any(not identical(new[name], old[name]) for name in new if name != "metadata"):
        return
    new["metadata"]["managedFields"] = before


class Nonconforming(ValueError):
    """An object, converted to the version of a manager, does not conform to that version."""


class Differences:
    """The fields that a write changes, in each version in which managers own fields. Each version is compared once."""

    def __init__(
        self,
        old: InVersions | None,
        new: InVersions,
        type_: Type,
        api_version: str,
        reset: tuple[tuple[str, ...], ...],
        known_member: KnownMember | None = None,
        emptied: FieldSet = LEAF,
        *,
        resets_in: Collection[str] = (),
    ) -> None:
        self._old, self._new = old, new
        self._reset, self._resets_in = reset_set(reset), resets_in
        if known_member is None:
            found = _compared(None if old is None else old.obj, new.obj, type_)
        else:
            found = _compared_new(new.obj, type_, known_member)
        if emptied:
            found = Comparison(union(found.changed, emptied), found.removed)
        self._own = self._filtered(found)
        self._by_version: dict[str, Comparison | None] = {api_version: self._own}

    def in_version(self, version: str) -> Comparison | None:
        """The changes in a version; None if the version does not exist any more. Raises Nonconforming."""
        if version not in self._by_version:
            self._by_version[version] = self._converted(version)
        return self._by_version[version]

    def _converted(self, version: str) -> Comparison | None:
        if self._new.of_one_version:
            return self._own
        old = _seen(self._old, version, "old") if self._old is not None else None
        new = _seen(self._new, version, "new")
        if new is None or (old is None and self._old is not None):
            return None
        found = _compared(old[0] if old else None, new[0], new[1])
        # of a custom resource, not every version has `reset`
        return found if new[1].structural and version not in self._resets_in else self._filtered(found)

    def _filtered(self, found: Comparison) -> Comparison:
        if not self._reset:
            return found
        changed, removed = found
        return Comparison(recursive_difference(changed, self._reset), recursive_difference(removed, self._reset))


def _seen(obj: InVersions, version: str, which: str) -> tuple[JsonObject, Type] | None:
    try:
        return obj.at(version)
    except ValueError as error:
        raise Nonconforming(f"failed to convert {which} object: {error}") from None


def _compared(old: JsonObject | None, new: JsonObject, type_: Type) -> Comparison:
    """The changes between two objects. Raises ValueError for custom objects that do not conform to their schema.

    Built-in kinds always conform, because they are decoded by their type.
    """
    if type_.structural:
        for value in (old, new):
            if value is not None and (problem := nonconformity(value, type_, duplicates=True)):
                raise ValueError(problem)
    return compare(_owned(old, type_), _owned(new, type_), type_)


def _compared_new(new: JsonObject, type_: Type, known: KnownMember) -> Comparison:
    """The fields of a new object. Those of its known member are taken from `known`, or set there."""
    empty, bare, member = _owned(None, type_), _owned(new, type_), known.member
    if known.fields is None:
        found = compare(empty, bare, type_)
        if f"f:{member}" not in found.removed:
            known.fields = found.changed.get(f"f:{member}")
        return found
    bare.pop(member, None)
    found = compare({name: given for name, given in empty.items() if name != member}, bare, type_)
    return Comparison(union(found.changed, {f"f:{member}": known.fields}), found.removed)


def _fields_of_plain(
    new: JsonObject, type_: Type, reset: tuple[tuple[str, ...], ...], member: KnownMember | None
) -> FieldSet | None:
    """The fields of a new object that follow from its names (see plain_creates.py); None for another object."""
    if member is not None and member.fields is None:
        return None
    if (beside := _uncounted(reset, "" if member is None else member.member)) is None:
        return None
    if (names := plain_names(new, type_, NEVER_OWNED, beside)) is None:
        return None
    known = known_of(type_)
    fields = known.get(names)
    if fields is None:
        empty, given = ({n: each for n, each in _owned(v, type_).items() if n not in beside} for v in (None, new))
        fields = compare(empty, given, type_).changed
        known.keep(names, fields, size_of(names))
    if member is None:
        return fields
    beside_it, below = fields, {f"f:{member.member}": member.fields}
    return member.whole(names, lambda: union(beside_it, below))


@lru_cache(256)
def _uncounted(reset: tuple[tuple[str, ...], ...], member: str) -> frozenset[str] | None:
    """The members of a new object that do not count beside its known `member` ("": there is none); None if `reset`
    has parts of members, or the known one.
    """
    names = {path[0] for path in reset}
    if member in names or any(len(path) > 1 for path in reset):
        return None
    return frozenset({*names, member} if member else names)


@lru_cache(256)
def reset_set(paths: tuple[tuple[str, ...], ...]) -> FieldSet:
    """The field set of paths, cached."""
    return of_paths(*paths)


def _starting_point(sent: object, live: list[JsonObject], is_subresource: bool) -> list[JsonObject]:
    """The entries before the write: the client's if they are valid, else the live ones.

    Entries that are sent to a subresource are ignored.
    """
    if not is_subresource and sent is not None and sent != live:
        if managers.is_reset(sent):
            return []
        try:
            entries = managers.read(sent) if isinstance(sent, list) else []
        except (ValueError, AttributeError):
            entries = []
        if entries:
            return entries
    return _last_of_each(live)


def _last_of_each(live: list[JsonObject]) -> list[JsonObject]:
    """The last entry of each identity. A write to a Scale may have stored two; kube-apiserver drops the first."""
    if len(live) < 2:
        return live
    last = {identity_of(entry): entry for entry in live}
    return live if len(last) == len(live) else list(last.values())


def _fitting(known: list[JsonObject], type_: Type, api_version: str) -> list[JsonObject]:
    """The entries, adapted to types that have become atomic (see `reconciled`); the same list if nothing changes."""
    found = []
    for entry in known:
        fields: FieldSet = entry.get("fieldsV1") or {}
        fitting = reconciled(fields, type_) if entry["apiVersion"] == api_version else fields
        found.append(entry if fitting is fields else {**entry, "fieldsV1": fitting})
    return known if all(one is other for one, other in zip(known, found, strict=True)) else found


def _owned(value: JsonObject | None, type_: Type) -> JsonObject:
    """The object without the fields that have no managers. For None, the empty object to compare new ones with."""
    if value is None:
        return _unowned(type_)
    bare = value.copy()
    for name in ("apiVersion", "kind"):
        bare.pop(name, None)
    metadata = bare.get("metadata")
    if metadata:
        bare["metadata"] = {name: m for name, m in metadata.items() if name not in NEVER_OWNED}
    elif type_.structural:
        bare["metadata"] = {}  # so that metadata itself gets no owner; in built-in types it has none anyway
    return bare


_unowned = compiled(lambda type_: _owned(unset(type_), type_))
"""The empty object to compare new objects with. It must not be changed."""


def _remaining(
    known: list[JsonObject], differences: Differences, type_: Type, writer: ManagerIdentity
) -> list[JsonObject]:
    """The entries without the fields that the write changes or removes. Entries that lose all fields are dropped.

    The writer's own entry keeps the fields that the write changes: the writer owns them afterwards, too.
    """
    left: list[JsonObject] = []
    for entry in known:
        version = entry["apiVersion"]
        found = differences.in_version(version)
        if found is None:
            continue
        fields: FieldSet = entry.get("fieldsV1") or {}
        if version == writer.api_version:
            fields = reconciled(fields, type_, found.changed)
            if found.removed:
                fields = reconciled(fields, type_, found.removed)
        if identity_of(entry) != writer:
            fields = difference(fields, found.changed)
        if found.removed:
            fields = difference(fields, found.removed)
        if fields:
            left.append(entry if fields is entry.get("fieldsV1") else {**entry, "fieldsV1": fields})
    return left


def _with_changes(entries: list[JsonObject], writer: ManagerIdentity, changed: FieldSet, now: str) -> list[JsonObject]:
    others = []
    for entry in entries:
        if identity_of(entry) == writer:
            changed = union(entry["fieldsV1"], changed)
        else:
            others.append(entry)
    others.append(new_entry(writer, writer.api_version, now, changed))
    return others


def _timeless(entry: JsonObject) -> JsonObject:
    return {name: member for name, member in entry.items() if name != "time"}
