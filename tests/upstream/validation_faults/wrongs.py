"""Makes an object invalid: patches of a valid one, made from the types of its fields.

A patch is a list of (path, value) pairs. A path is a tuple of member names and indices. The value replaces what is
there; `ABSENT` removes the member. Types are those of the catalog, which is made from the published OpenAPI.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from gateway.schema.types import Type, TypeKind

Path = tuple[str | int, ...]
Patch = list[tuple[Path, Any]]

ABSENT = {"absent": True}  # instead of a value: the member is removed

_DEPTH = 4  # how many levels of types are filled in an added object
_MOST = 2_000  # bytes of an item that is repeated in a list

NAMES = ("", " ", "Bad_Name", "-a", "a/b", "/a", "../a", "a:b", "é", "a" * 64, "a" * 254, "a.b", "1", "*", "a=b", "%")
ADDRESSES = (
    "10.0.0.1",
    "010.0.0.1",
    "2001:db8::1",
    "::ffff:1.2.3.4",
    "127.0.0.1",
    "10.0.0.0/8",
    "http://a b",
    "@every",
)
STRINGS = (*NAMES, *ADDRESSES)
FEW_STRINGS = ("", "changed", "Bad_Name")
SCALARS: dict[TypeKind, tuple[Any, ...]] = {
    TypeKind.INT32: (-1, 0, 1, 2, 101, 65536, 2**31 - 1),
    TypeKind.INT64: (-1, 0, 1, 2, 101, 65536, 2**40),
    TypeKind.FLOAT: (-1, 0, 1.5),
    TypeKind.BOOL: (True, False),
    TypeKind.QUANTITY: ("0", "-1", "1m", "1500m", "7"),
    TypeKind.INT_OR_STRING: (-1, 0, 1, 65536, "0%", "150%", "50%", "x", "Bad_Name", ""),
    TypeKind.DURATION: ("-1s", "0s", "1h"),
    TypeKind.TIME: ("2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"),
    TypeKind.MICROTIME: ("2020-01-01T00:00:00.000000Z",),
    TypeKind.BYTES: ("", "eA==", "MTIzNA=="),
    TypeKind.ANY: ({}, {"a": 1}),
}
KEYS = ("", "Bad key", "a/b/c", "-a", "a" * 64, "kubernetes.io/a", "example.com/a", "cpu")


class Wrongs:
    """The patches that make one object invalid.

    A field that occurs again, in another list item or container, gets fewer patches than the first one.
    """

    def __init__(self, *, few: bool = False) -> None:
        self._few = few
        self._met: Counter[tuple[str, str]] = Counter()  # (type, field) -> how often it occurred

    def of(
        self, type_: Type, value: Any, path: Path = (), *, few: bool = False, added: bool = False
    ) -> Iterator[Patch]:
        """Patches for the value at a path. `few` strings are tried; a value that was `added` gets no more members."""
        match type_.kind:
            case TypeKind.STRUCT if isinstance(value, dict):
                yield from self._struct(type_, value, path, added)
            case TypeKind.LIST if isinstance(value, list):
                yield from self._list(type_, value, path, few, added)
            case TypeKind.MAP if isinstance(value, dict):
                yield from self._map(type_, value, path, few, added)
            case _:
                for other in scalars(type_.kind, few or self._few):
                    if other != value or type(other) is not type(value):
                        yield [(path, other)]

    def _struct(self, type_: Type, value: dict[str, Any], path: Path, added: bool) -> Iterator[Patch]:
        for name, each in type_.fields.items():
            here = (*path, name)
            if not path and name in ("apiVersion", "kind", "metadata", "status"):
                continue
            if path and each.type.name == "v1.ObjectMeta":
                yield from ([((*here, part), other)] for part, other in METADATA)
                continue
            if name in value:
                yield from self._present(type_, name, value[name], here, added)
            elif not added:
                yield from self._absent(type_, name, here)

    def _present(self, type_: Type, name: str, value: Any, here: Path, added: bool) -> Iterator[Patch]:
        each = type_.fields[name]
        self._met[type_.name, name] += 1
        yield [(here, ABSENT)]
        if each.type.kind is TypeKind.STRUCT:
            yield [(here, {})]
        yield from ([(here, other)] for other in each.enum if other != value)
        yield from self.of(each.type, value, here, few=self._met[type_.name, name] > 1, added=added)

    def _absent(self, type_: Type, name: str, here: Path) -> Iterator[Patch]:
        each = type_.fields[name]
        self._met[type_.name, f"+{name}"] += 1
        times = self._met[type_.name, f"+{name}"]
        if times > 2:
            return
        given = plausible(each.type)
        yield [(here, given)]
        if each.type.kind is TypeKind.STRUCT:
            yield [(here, {})]
        yield from ([(here, other)] for other in each.enum)
        if times == 1 and not self._few and len(json.dumps(given)) < _MOST:
            for patch in self.of(each.type, given, here, few=True, added=True):
                yield [(here, given), *patch]

    def _list(self, type_: Type, value: list[Any], path: Path, few: bool, added: bool) -> Iterator[Patch]:
        assert type_.elem is not None
        yield [(path, [])]
        if value:
            yield [(path, [*value, value[0]])]
            if not few and not added and not self._few and len(json.dumps(value[0])) < _MOST // 10:
                yield from ([(path, [value[0]] * number)] for number in (17, 33, 65, 130))
        for index, each in enumerate(value):
            yield from self.of(type_.elem, each, (*path, index), few=few or index > 0, added=added)

    def _map(self, type_: Type, value: dict[str, Any], path: Path, few: bool, added: bool) -> Iterator[Patch]:
        assert type_.elem is not None
        yield [(path, {})]
        sample = next(iter(value.values()), None)
        if sample is None:
            sample = plausible(type_.elem)
        for key in KEYS[:3] if few else KEYS:
            yield [(path, {key: sample})]
        for key in value:
            yield [((*path, key), ABSENT)]
            yield from self.of(type_.elem, value[key], (*path, key), few=few, added=added)


def scalars(kind: TypeKind, few: bool) -> tuple[Any, ...]:
    """The values to try for a scalar type."""
    if kind is TypeKind.STRING:
        return FEW_STRINGS if few else STRINGS
    return SCALARS.get(kind, ())


METADATA: tuple[tuple[str, Any], ...] = (
    ("labels", {"Bad key": "a"}),
    ("labels", {"a": "Bad value!"}),
    ("annotations", {"Bad key": "a"}),
    ("name", "Bad_Name"),
    ("namespace", "other"),
    ("finalizers", ["a"]),
)

WHOLE_METADATA: tuple[tuple[str, Any], ...] = (
    *METADATA[:3],
    ("finalizers", ["a"]),
    ("finalizers", ["a/b/c"]),
    ("generateName", "Bad_Name"),
    ("generation", -1),
    ("ownerReferences", [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]),
    ("ownerReferences", [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "b"}]),
    (
        "ownerReferences",
        [{"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n, "controller": True} for n in ("a", "b")],
    ),
    ("annotations", {"a": "x" * 262_145}),
    ("uid", "other"),
    ("creationTimestamp", "2001-01-01T00:00:00Z"),
    ("deletionTimestamp", "2001-01-01T00:00:00Z"),
    ("deletionGracePeriodSeconds", -1),
    ("labels", {"a": "b"}),
)

_OBJECT_NAMES = ("Bad_Name", "a.b", "a_b", "a:b", "a" * 64, "a" * 254, "1", "v1.b", "system:a", "..", "a%b", "10.0.0.1")


def of_metadata(update: bool) -> Iterator[Patch]:
    """Patches of the metadata of any kind."""
    yield from ([(("metadata", name), value)] for name, value in WHOLE_METADATA)
    if not update:
        yield from ([(("metadata", "name"), name)] for name in _OBJECT_NAMES)
        yield [(("metadata", "name"), ABSENT)]


def plausible(type_: Type, outer: tuple[str, ...] = ()) -> Any:
    """A plausible value of a type, with all fields filled some levels deep."""
    match type_.kind:
        case TypeKind.STRUCT:
            if len(outer) >= _DEPTH or type_.name in outer:
                return {}
            inner = (*outer, type_.name)
            fields = type_.fields.items()
            return {name: each.enum[0] if each.enum else plausible(each.type, inner) for name, each in fields}
        case TypeKind.LIST | TypeKind.MAP:
            assert type_.elem is not None
            each = plausible(type_.elem, outer)
            return [each] if type_.kind is TypeKind.LIST else {"a": each}
        case TypeKind.STRING:
            return "a"
        case TypeKind.INT32 | TypeKind.INT64 | TypeKind.FLOAT | TypeKind.INT_OR_STRING:
            return 1
        case TypeKind.BOOL:
            return True
        case kind:
            return _PLAUSIBLE[kind]


_PLAUSIBLE: dict[TypeKind, Any] = {
    TypeKind.QUANTITY: "1",
    TypeKind.DURATION: "1s",
    TypeKind.TIME: "2020-01-01T00:00:00Z",
    TypeKind.MICROTIME: "2020-01-01T00:00:00.000000Z",
    TypeKind.BYTES: "YQ==",
    TypeKind.ANY: {"a": 1},
}


def patched(obj: Any, patch: Patch) -> Any:
    """A patched copy of an object. Raises LookupError if the path does not exist."""
    for path, value in patch:
        obj = _with(obj, path, value)
    return obj


def _with(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    here, rest = path[0], path[1:]
    if isinstance(here, int):
        made: Any = list(value)
        made[here] = _with(value[here], rest, new)
        return made
    made = dict(value or {})
    if not rest and new == ABSENT:
        made.pop(here, None)
    else:
        made[here] = _with(made.get(here), rest, new)
    return made


def dotted(changes: dict[str, Any]) -> Patch:
    """A patch in its written form: {"spec.containers.0.name": …}; null removes the member; ~1 stands for a dot."""
    patch: Patch = []
    for written, value in changes.items():
        parts = (part.replace("~1", ".") for part in written.split("."))
        path = tuple(int(part) if part.isdigit() else part for part in parts)
        patch.append((path, ABSENT if value is None else value))
    return patch
