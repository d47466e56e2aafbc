"""Finds the errors of a value by its type, in the order and the words of sigs.k8s.io/json.

Go types with a JSON decoder of their own (times, quantities, int-or-string) end the decoding at their first error. All
other errors wait until the whole document was read; then the first of them is raised. Unknown and duplicate fields are
reported only if there is no error.
"""

from __future__ import annotations

import json
from typing import Any

from gateway.schema.body import Path, Problems, path_text, plain
from gateway.schema.errors import DecodeError, EmbeddedError, Marks, Mismatch
from gateway.schema.exact import Number, PairsObject, pairs
from gateway.schema.refusals import OWN_JSON, STRING, Refusal, plain_refusal
from gateway.schema.structural import as_go_numbers, item_of
from gateway.schema.types import Type, TypeKind
from gateway.time_limits import look

_UNKNOWN = "unknown field"
_DUPLICATE, _METADATA, _PRUNED, _INNER_METADATA = range(4)  # groups of a custom object's problems, in their order
_FREE = Type(TypeKind.ANY, "interface {}", structural=True)
_FREE_OBJECT = Type(TypeKind.STRUCT, "map[string]interface {}", elem=_FREE, structural=True)
_FREE_LIST = Type(TypeKind.LIST, "[]interface {}", elem=_FREE, structural=True)
_BARE_OBJECT = Type(TypeKind.STRUCT, "map[string]interface {}", structural=True)
_BARE_LIST = Type(TypeKind.LIST, "[]interface {}", elem=_BARE_OBJECT, structural=True)


def examine(type_: Type, value: Any, problems: list[str], keyless: bool = False) -> None:
    """Adds the unknown and duplicate fields of a value to `problems`. Raises DecodeError if it does not fit the type.

    `value` comes from `parse_exactly`, or is plain JSON. With `keyless`, paths leave out the keys of maps.
    """
    examiner = _Examiner()
    examiner.keyless = keyless
    examiner.custom = type_.structural
    try:
        if value is not None:
            examiner.value(type_, value)
    except Refusal as refusal:
        raise DecodeError(examiner.worded(refusal)) from None
    if examiner.saved:
        raise DecodeError(examiner.saved)
    found = examiner.problems.texts
    problems += sorted(found, key=examiner.unknown_last) if type_.structural else found


class _Examiner:
    def __init__(self) -> None:
        self.saved = ""
        self.problems = Problems()
        self.struct = ""
        self.fields: tuple[str, ...] = ()
        self.path: Path = None
        self.custom = False  # a custom object: duplicates are reported in unknown fields, too
        self.keyless = False
        self.group = _PRUNED
        self.groups: dict[str, int] = {}  # the group of each unknown field, by the text of the problem

    def unknown_last(self, problem: str) -> tuple[int, str]:
        """The sort key of a problem of a custom object. Duplicates come first, in the order of the document. Then come
        unknown fields of the object's metadata, pruned fields, and unknown fields of embedded metadata, each sorted."""
        group = self.groups.get(problem)
        return (_DUPLICATE, "") if group is None else (group, problem)

    def worded(self, refusal: Refusal) -> str:
        if not refusal.go_type:
            return refusal.text
        fields = (*self.fields, *refusal.fields)
        place = f"struct field {self.struct}.{'.'.join(fields)} of" if fields else "value of"
        return f"json: cannot unmarshal {refusal.text} into Go {place} type {refusal.go_type}"

    def value(self, type_: Type, value: Any) -> None:
        """Examines a value that is not null. Raises Refusal for an error that ends the decoding.

        Of the other errors, `saved` keeps the first.
        """
        kind = type_.kind
        if kind is TypeKind.STRUCT and isinstance(value, dict):
            look()
            self.members(type_, value)
        elif kind is TypeKind.MAP and isinstance(value, dict):
            self.entries(type_, value)
        elif kind is TypeKind.LIST and isinstance(value, list):
            self.items(type_, value)
        elif type_.structural:
            self.free(value, known=kind is TypeKind.ANY or type_.preserves)
        elif kind is TypeKind.ANY:
            if type_.elem is not None:
                _schema_or(type_, value)
            elif self.custom:
                self.free(value)
        elif kind in OWN_JSON:
            OWN_JSON[kind](value)
        else:
            refusal = plain_refusal(type_, value)
            if refusal and not self.saved:
                self.saved = self.worded(refusal)

    def members(self, type_: Type, value: dict[str, Any]) -> None:
        before = self.struct, self.fields, self.path
        name = type_.name.rpartition(".")[2]
        seen: set[str] = set()
        for key, item in pairs(value):
            field = type_.fields.get(key)
            path = (before[2], key)
            unknown = field is None and type_.elem is None and not type_.preserves
            if unknown:
                self.report(_UNKNOWN, path)
                if not self.custom:
                    continue
            if key in seen:
                self.report("duplicate field", path)
            seen.add(key)
            if field is None and type_.elem is None:
                member = _FREE
            else:
                member = type_.element() if field is None else field.type
            outer = self.group
            if type_.embedded and key == "metadata":
                item = _written_anew(item)
                self.group = _METADATA if before[2] is None else _INNER_METADATA
            if type_.embedded and before[2] is not None:
                _embedded(member, key, item, path_text(path))
            if item is not None:
                embedded = () if field is None else field.embedded
                # Go decodes the metadata of a custom object apart, so errors do not name fields outside of it
                within = () if type_.structural else (*before[1], *embedded, key)
                self.struct, self.fields, self.path = name, within, path
                self.value(member, item)
                self.struct, self.fields, self.path = before
            self.group = outer

    def entries(self, type_: Type, value: dict[str, Any]) -> None:
        before = self.path
        seen: set[str] = set()
        for key, item in pairs(value):
            path = (before, key)
            if key in seen:
                self.report("duplicate field", path)
            seen.add(key)
            if item is not None:
                self.path = before if self.keyless else path
                self.value(type_.element(), item)
                self.path = before

    def free(self, value: Any, known: bool = True) -> None:
        """Examines a value for which a structural schema has no members. Duplicate fields in it are problems.

        Without `known`, the value is of a type that validation will refuse, and all its members are unknown fields.
        """
        if isinstance(value, dict):
            self.members(_FREE_OBJECT if known else _BARE_OBJECT, value)
        elif isinstance(value, list):
            self.items(_FREE_LIST if known else _BARE_LIST, value)

    def items(self, type_: Type, value: list[Any]) -> None:
        before, elem = self.path, item_of(type_)
        for index, item in enumerate(value):
            if item is not None:
                self.path = (before, index)
                self.value(elem, item)
                self.path = before

    def report(self, what: str, path: Path) -> None:
        text = self.problems.add(what, path)
        if text and what == _UNKNOWN:
            self.groups[text] = self.group


def _embedded(type_: Type, key: str, value: Any, path: str) -> None:
    """Checks a member of an embedded object in a custom one: kind, apiVersion or metadata. Raises EmbeddedError."""
    if key in ("apiVersion", "kind") and not isinstance(value, str):
        raise EmbeddedError(path, f"Invalid value: {_json(value)}: must be a string")
    if key == "metadata":
        try:
            examine(type_, value, [])
        except DecodeError as error:
            raise EmbeddedError(path, f"Invalid value: {_json(value)}: {error}") from None


def _written_anew(value: Any) -> Any:
    """Metadata of a custom object, with numbers as Go writes them: 1e1 is 10, 1e30 is 1e+30.

    Go encodes such metadata again before it decodes it by its type, so errors show these numbers.
    """
    if isinstance(value, dict):
        made = PairsObject()
        for key, item in pairs(value):
            made.append(key, _written_anew(item))
        return made
    if isinstance(value, list):
        return [_written_anew(item) for item in value]
    number = float(value) if type(value) is Number else value
    try:
        return as_go_numbers(number, Marks())
    except Mismatch:  # a number beyond float64, for which there is another error
        return value


def _json(value: Any) -> str:
    return json.dumps(plain(value, digits=True), separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def _schema_or(type_: Type, value: Any) -> None:
    """Examines a JSONSchemaPropsOr*. Raises the first Refusal of its content, which names the fields inside."""
    inner: Type
    if isinstance(value, dict):
        inner = type_.element()
    elif type_.name.endswith("OrBool"):
        if isinstance(value, bool):
            return
        raise Refusal("boolean or JSON schema expected")
    elif not isinstance(value, list):
        return
    else:
        elem = STRING if type_.name.endswith("OrStringArray") else type_.element()
        inner = Type(TypeKind.LIST, f"[]{elem.name}", elem=elem)
    apart = _FirstRefusal()
    try:
        apart.value(inner, value)
    except Refusal as refusal:
        raise Refusal(refusal.text, refusal.go_type, (*apart.fields, *refusal.fields)) from None
    if apart.first:
        raise apart.first


class _FirstRefusal(_Examiner):
    """Keeps the first error as a Refusal, for the outer examiner to word."""

    first: Refusal | None = None

    def worded(self, refusal: Refusal) -> str:
        if self.first is None:
            self.first = Refusal(refusal.text, refusal.go_type, (*self.fields, *refusal.fields))
        return refusal.text


def refusal_of_choice(type_: Type, value: Any) -> str | None:
    """The error of Go's own decoder for a JSONSchemaPropsOr*; None if the value fits."""
    try:
        _schema_or(type_, value)
    except Refusal as refusal:
        apart = _Examiner()
        apart.struct = type_.element().name.rpartition(".")[2]
        return apart.worded(refusal)
    return None
