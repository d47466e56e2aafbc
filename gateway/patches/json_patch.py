"""JSON patch, RFC 6902, with the dialect and the limits of kube-apiserver.

kube-apiserver is laxer than the RFC. For a key that an object lacks, `replace` adds it, a `test` for null holds, and
`copy` copies null. Array indexes may count from the end. Text before the first slash of a path is ignored.
Each operation is rewritten as the RFC has it, for the document at hand; the jsonpatch library then applies it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from copy import copy, deepcopy
from typing import Any

import jsonpatch
from jsonpointer import JsonPointer

from gateway.http.status import StatusError, bad_request, request_too_large
from gateway.jsontypes import JsonObject, TooDeep, dumps, identical, loads
from gateway.patches import document as documents
from gateway.patches import member_order
from gateway.patches.array_index import INDEX, BadIndex, index_of
from gateway.patches.copies import size_of_copy
from gateway.patches.spelling import as_spelt, same_spelling, written
from gateway.schema.body import parse_exactly, plain
from gateway.schema.errors import DecodeError
from gateway.schema.problems import examine
from gateway.schema.types import Type

MAX_OPERATIONS = 10_000
MAX_COPIED = 3 << 20  # bytes of JSON that all copies of one patch may have together; kube-apiserver's limit

_MEMBERS = ("op", "path", "from", "value")
_PLACE = re.compile(r'"\[([0-9]+)\]\.', re.ASCII)  # the index of an operation, in a message about it


class Operations(list[Any]):
    """The operations of a patch. `spelt` has the same with `Spelt` strings; None unless a `test` needs the spelling.
    `exact` has them as `parse_exactly` reads them, with repeated members; None unless a member is repeated.
    """

    spelt: list[Any] | None = None
    exact: list[Any] | None = None


def parse(body: bytes, strict: bool) -> tuple[Operations, list[str]]:
    """Returns the operations of a patch document, and if `strict` the errors about duplicate and unknown fields.

    `strict` is true for a fieldValidation other than Ignore. Raises StatusError 400 if the body is not a patch
    document, and 413 for more than 10 000 operations.
    """
    operations, errors = _parsed(body, strict)
    found = Operations(operations)
    found.spelt = as_spelt(body)
    if any(text.startswith("json patch duplicate") for text in errors):
        found.exact = parse_exactly(body)
    return found, errors


def _parsed(body: bytes, strict: bool) -> tuple[list[JsonObject], list[str]]:
    if not strict:
        value, _ = documents.parse(body, list, "jsonpatch.Patch")
        return _checked(value, "jsonpatch.Operation"), []
    value, duplicates = documents.parse(
        body, list, "[]handlers.jsonPatchOp", "error decoding patch: ", "struct field jsonPatchOp.value"
    )
    operations = _checked(value, "handlers.jsonPatchOp", "error decoding patch: ")
    for operation in operations:
        _check_members(operation)
    return operations, _strict_errors(operations, duplicates)


def apply(document: JsonObject, patch: Any, type_: Type) -> Any:
    """Returns the patched object, which shares unchanged parts with `document`. Raises StatusError 422."""
    try:
        if isinstance(patch, Operations) and patch.spelt is not None:
            applied(document, patch.spelt, spelt=True)  # fails where a `test` does; the result has `Spelt` strings
        return applied(document, patch)
    except PatchFailed:
        message = "the server rejected our request due to an error in our request"
        raise StatusError(422, "Invalid", message, {}) from None


def applied(document: JsonObject, operations: Sequence[JsonObject | None], *, spelt: bool = False) -> Any:
    """The patched document. Raises PatchFailed, in the words of the Go library that kube-apiserver uses.

    With `spelt`, a `test` also compares how strings are escaped in JSON.
    """
    return _carried_out(operations, _Patched(document, spelt)).root


def shown(document: JsonObject, operations: Sequence[JsonObject | None], type_: Type) -> Any:
    """As `applied`, with members in the order of error messages. `parse_exactly` may have read the operations."""
    patched = _carried_out(operations, _Shown(document))
    return member_order.patched(patched.root, type_, patched.looked_into, member_order.containers(document))


def repeated(document: JsonObject, operations: Operations, type_: Type) -> list[str]:
    """The duplicate-field errors of strict decoding about the patched object: for repeated members in patch values."""
    if operations.exact is None:
        return []
    problems: list[str] = []
    with suppress(DecodeError, PatchFailed):  # the caller decodes the patched object and reports other errors
        examine(type_, shown(document, operations.exact, type_), problems)
    return [text for text in problems if text.startswith("duplicate")]


def _carried_out(operations: Sequence[JsonObject | None], patched: _Patched) -> _Patched:
    for operation in operations:
        kind = (operation or {}).get("op")
        act = _ACTIONS.get(kind) if isinstance(kind, str) else None
        if act is None or operation is None:
            raise PatchFailed(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
        try:
            act(patched, operation)
        except (TooDeep, jsonpatch.JsonPatchException) as error:
            raise PatchFailed(str(error)) from None
    return patched


def _checked(value: Any, go_type: str, prefix: str = "") -> list[JsonObject]:
    operations: list[Any] = value or []
    for operation in operations:
        if operation is not None and not isinstance(operation, dict):
            kind = documents.go_kind(operation)
            raise bad_request(f"{prefix}json: cannot unmarshal {kind} into Go value of type {go_type}")
    if len(operations) > MAX_OPERATIONS:
        count = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise request_too_large(count)
    return operations


def _check_members(operation: JsonObject | None) -> None:
    for member in _MEMBERS[:3]:
        value = (operation or {}).get(member)
        if value is not None and not isinstance(value, str):
            raise bad_request(
                f"error decoding patch: json: cannot unmarshal {documents.go_kind(value)} "
                f"into Go struct field jsonPatchOp.{member} of type string"
            )


def _strict_errors(operations: list[JsonObject], duplicates: list[str]) -> list[str]:
    """The errors in the order of the operations; for each operation, duplicates come before unknown fields."""
    errors, of = list[str](), dict[str, list[str]]()
    for place, message in ((place, text) for text in duplicates for place in dict.fromkeys(_PLACE.findall(text))):
        of.setdefault(place, []).append(f"json patch {message}")
    for i, operation in enumerate(operations):
        errors += of.get(str(i), ())
        errors += [f'json patch unknown field "[{i}].{key}"' for key in operation or () if key not in _MEMBERS]
    return errors


class PatchFailed(Exception):
    """An operation cannot be applied; the message says why. `test` is true for a `test` that does not hold."""

    def __init__(self, message: str, *, test: bool = False) -> None:
        super().__init__(message)
        self.test = test


class _Absent(Exception):
    """The container that a path leads to does not exist in the document, or the path is not a string."""


_MISSING = "missing value"


class _Patched:
    """A document while operations change it. Containers on the path of a change are copied once, others are shared."""

    def __init__(self, document: JsonObject, spelt: bool = False) -> None:
        self.root: Any = dict(document)
        self._spelt = spelt
        self._own: dict[int, Any] = {id(self.root): self.root}
        self._copied = 0

    @property
    def looked_into(self) -> Set[int]:
        """The `id()`s of the containers on the paths that operations changed or tested."""
        return self._own.keys()

    def copied(self, value: Any) -> Any:
        """A copy of a part of the document, which may be put inside itself. Raises PatchFailed beyond MAX_COPIED."""
        data = dumps(value)
        self._copied += size_of_copy(value, data)
        if self._copied > MAX_COPIED:
            raise PatchFailed(
                f"Unable to complete the copy, the accumulated size increase of copy is {self._copied}, "
                f"exceeding the limit {MAX_COPIED}"
            )
        return deepcopy(value) if self._spelt else loads(data)

    def holds(self, one: Any, other: Any) -> bool:
        """Whether two values are equal for a `test`. 3.0 and 3 are different."""
        return identical(one, other) and (not self._spelt or same_spelling(one, other))

    def find(self, path: Any) -> tuple[Any, str, tuple[str, ...]]:
        """Returns the container at the end of `path`, the last part, and the parts before it. Raises _Absent."""
        if not isinstance(path, str):
            raise _Absent
        parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")][1:]
        if not parts:
            raise _Absent
        container, way = self.root, []
        for part in parts[:-1]:
            try:
                key = _existing(container, part)
            except BadIndex:
                raise _Absent from None
            if key is None:
                raise _Absent
            way.append(str(key))
            container = self._owned(container, key)
        return container, parts[-1], tuple(way)

    def _owned(self, container: Any, key: Any) -> Any:
        child = container[key]
        if not isinstance(child, dict | list):
            raise _Absent
        if id(child) not in self._own:
            child = container[key] = child.copy()
            self._own[id(child)] = child
        return child

    def run(self, operation: type[jsonpatch.PatchOperation], way: tuple[str, ...], key: Any) -> None:
        """Carries out an operation. An operation with a value puts null."""
        pointer = JsonPointer.from_parts((*way, str(key)))
        self.root = operation({"path": pointer, "value": None}).apply(self.root)

    def put(
        self, operation: type[jsonpatch.PatchOperation], container: Any, way: tuple[str, ...], key: Any, value: Any
    ) -> None:
        """Carries out an operation that has a value. The document shares it with the patch; jsonpatch would copy it.

        `find` copies what a later operation changes.
        """
        self.run(operation, way, key)
        if isinstance(container, list):
            key = -1 if key == "-" else int(key)
        container[key] = value


class _Shown(_Patched):
    """Applies the operations again, for error messages: values stay as they are written, and each `test` holds.

    Repeated members can make copies exceed MAX_COPIED. Copies beyond it keep only the last of repeated members.
    """

    def copied(self, value: Any) -> Any:
        if self._copied <= MAX_COPIED:
            self._copied += len(written(value))
        return deepcopy(value) if self._copied <= MAX_COPIED else plain(value, digits=True)

    def holds(self, one: Any, other: Any) -> bool:
        return True


def _existing(container: Any, part: str) -> Any:
    """The key or index that `part` means in `container`; None for a key that an object lacks. Raises BadIndex."""
    if isinstance(container, dict):
        return part if part in container else None
    return index_of(part, len(container))


def _put(patched: _Patched, found: tuple[Any, str, tuple[str, ...]], value: Any) -> None:
    """Adds a value at a place that `find` has found. Raises BadIndex."""
    container, part, way = found
    if isinstance(container, list) and part != "-":
        if not INDEX.fullmatch(part):
            wrong = f'strconv.Atoi: parsing "{part}": invalid syntax'
            raise BadIndex(f"value was not a proper array index: '{part}': {wrong}")
        part = str(index_of(part, len(container) + 1))
    patched.put(jsonpatch.AddOperation, container, way, part, value)


def _taken(container: Any, part: str) -> Any:
    """The key or index of the value to remove. Raises BadIndex, also for a missing key."""
    key = _existing(container, part)
    if key is None:
        raise BadIndex(f"Unable to remove nonexistent key: {part}: {_MISSING}")
    return key


class _Refusing:
    """A context manager that turns _Absent and BadIndex into PatchFailed, in the words for one operation."""

    __slots__ = ("_bad_index", "_member", "_missing", "_operation")

    def __init__(self, operation: JsonObject, member: str, missing: str, bad_index: str) -> None:
        """`member` is "path" or "from", `missing` the words for an absent place, `bad_index` those for a bad index."""
        self._operation, self._member, self._missing, self._bad_index = operation, member, missing, bad_index

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _Absent):
            verb = self._operation["op"]
            text = f"{verb} operation does not apply: doc is {self._missing}: {_MISSING}"
            raise PatchFailed(_decoded(self._operation, self._member, verb) or text) from None
        if isinstance(error, BadIndex):
            raise PatchFailed(f"{self._bad_index}: {error}") from None


def _add(patched: _Patched, operation: JsonObject) -> None:
    path = operation.get("path")
    with _Refusing(operation, "path", f'missing path: "{path}"', f"error in add for path: '{path}'"):
        _put(patched, patched.find(path), operation.get("value"))


def _remove(patched: _Patched, operation: JsonObject) -> None:
    path = operation.get("path")
    with _Refusing(operation, "path", f'missing path: "{path}"', f"error in remove for path: '{path}'"):
        container, part, way = patched.find(path)
        patched.run(jsonpatch.RemoveOperation, way, _taken(container, part))


def _replace(patched: _Patched, operation: JsonObject) -> None:
    path, value = operation.get("path"), operation.get("value")
    if path == "":
        if not isinstance(value, dict | list):
            raise PatchFailed("replace operation value must be object or array")
        patched.root = copy(value)  # the next operations change the copy; the patch itself may be applied again
        return
    try:
        container, part, way = patched.find(path)
        key = _existing(container, part)
    except _Absent:
        text = f"replace operation does not apply: doc is missing path: {path}: {_MISSING}"
        raise PatchFailed(_decoded(operation, "path", "replace") or text) from None
    except BadIndex:
        raise PatchFailed(f"replace operation does not apply: doc is missing key: {path}: {_MISSING}") from None
    change = jsonpatch.AddOperation if key is None else jsonpatch.ReplaceOperation
    patched.put(change, container, way, part if key is None else key, value)


def _move(patched: _Patched, operation: JsonObject) -> None:
    source, path = operation.get("from"), operation.get("path")
    with _Refusing(operation, "from", f"missing from path: {source}", ""):
        container, part, way = patched.find(source)
    with _Refusing(operation, "from", "", f"error in move for path: '{part}'"):
        key = _taken(container, part)
        value = container[key]
        patched.run(jsonpatch.RemoveOperation, way, key)
    with _Refusing(operation, "path", f"missing destination path: {path}", f"error in move for path: '{path}'"):
        _put(patched, patched.find(path), value)


def _copy(patched: _Patched, operation: JsonObject) -> None:
    source, path = operation.get("from"), operation.get("path")
    with _Refusing(operation, "from", f"missing from path: {source}", f"error in copy for from: '{source}'"):
        container, part, _ = patched.find(source)
        key = _existing(container, part)
    value = None if key is None else patched.copied(container[key])
    with _Refusing(operation, "path", f"missing destination path: {path}", "error while adding value during copy"):
        _put(patched, patched.find(path), value)


def _test(patched: _Patched, operation: JsonObject) -> None:
    path, value = operation.get("path"), operation.get("value")
    failed = PatchFailed(f"testing value {path} failed: test failed", test=True)
    if path == "":
        if not patched.holds(patched.root, value):
            raise failed
        return
    try:
        container, part, _ = patched.find(path)
        key = _existing(container, part)
    except _Absent:
        text = f"test operation does not apply: is missing path: {path}: {_MISSING}"
        raise PatchFailed(_decoded(operation, "path", "test") or text) from None
    except BadIndex as error:
        raise PatchFailed(f"error in test for path: '{path}': {error}") from None
    if value is not None if key is None else not patched.holds(container[key], value):
        raise failed


def _decoded(operation: JsonObject, member: str, kind: str) -> str:
    """The message for an operation whose `member` ("path" or "from") is not a string; "" if it is one."""
    if isinstance(operation.get(member), str):
        return ""
    what = "" if member == "path" else f"operation, missing {member} field: "
    return f"{kind} operation failed to decode {member}: {what}{_MISSING}"


_ACTIONS: dict[Any, Callable[[_Patched, JsonObject], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
