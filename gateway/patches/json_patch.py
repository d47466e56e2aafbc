"""JSON patch, RFC 6902, with the dialect and the limits that kube-apiserver has.

kube-apiserver is laxer than the RFC: `replace` adds a key that an object lacks, a `test` for null holds for one, a
`copy` of one is null, array indexes may count from the end, and what stands before a path's first slash is ignored.
Each operation is brought into the RFC's form for the document at hand, then the jsonpatch library carries it out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jsonpatch
from jsonpointer import JsonPointer

from gateway.http.status import StatusError, bad_request, request_too_large
from gateway.jsontypes import JsonObject, TooDeep, dumps, identical, loads
from gateway.patches import document as documents
from gateway.schema.integers import clamped
from gateway.schema.types import Type

MAX_OPERATIONS = 10_000
MAX_COPIED = 3 << 20  # bytes of JSON that the copies of one patch come to, as kube-apiserver allows

_MEMBERS = ("op", "path", "from", "value")
_INDEX = re.compile(r"[+-]?[0-9]+", re.ASCII)


def parse(body: bytes, strict: bool) -> tuple[Any, list[str]]:
    """Reads a patch document once: the operations, and the strict errors (duplicate and unknown fields) if `strict`.

    Raises StatusError 400 (not a patch document) or 413 (more than 10 000 operations). `strict` is fieldValidation
    other than Ignore.
    """
    if not strict:
        value, _ = documents.parse(body, list, "jsonpatch.Patch")
        return _checked(value, "jsonpatch.Operation"), []
    value, duplicates = documents.parse(body, list, "[]handlers.jsonPatchOp", "error decoding patch: ")
    operations = _checked(value, "handlers.jsonPatchOp", "error decoding patch: ")
    for operation in operations:
        _check_members(operation)
    return operations, _strict_errors(operations, duplicates)


def apply(document: JsonObject, patch: Any, type_: Type) -> Any:
    """Returns `document` with the operations applied, sharing what they left alone; raises StatusError 422."""
    patched = _Patched(document)
    try:
        for operation in patch:
            act = _ACTIONS.get(operation.get("op") if operation else None)
            if act is None:
                raise _Failed
            act(patched, operation)
    except (_Failed, TooDeep, jsonpatch.JsonPatchException):
        message = "the server rejected our request due to an error in our request"
        raise StatusError(422, "Invalid", message, {}) from None
    return patched.root


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
    """In the order of the operations, duplicates before unknown fields."""
    errors: list[str] = []
    for i, operation in enumerate(operations):
        errors += [f"json patch {message}" for message in duplicates if f'"[{i}].' in message]
        errors += [f'json patch unknown field "[{i}].{key}"' for key in operation or () if key not in _MEMBERS]
    return errors


class _Failed(Exception):
    """An operation that does not apply."""


class _Patched:
    """A document under change: containers on the way to a change are copied once, all others stay shared."""

    def __init__(self, document: JsonObject) -> None:
        self.root: Any = dict(document)
        self._own: dict[int, Any] = {id(self.root): self.root}
        self._copied = 0

    def copied(self, value: Any) -> Any:
        """A copy of a part of the document, which may become part of itself; raises _Failed beyond the limit."""
        data = dumps(value)
        self._copied += len(data)
        if self._copied > MAX_COPIED:
            raise _Failed
        return loads(data)

    def find(self, path: Any) -> tuple[Any, str, tuple[str, ...]]:
        """The container that `path` ends in, the last part, and the parts leading to the container."""
        if not isinstance(path, str):
            raise _Failed
        parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")][1:]
        if not parts:
            raise _Failed
        container, way = self.root, []
        for part in parts[:-1]:
            key = _existing(container, part)
            if key is None:
                raise _Failed
            way.append(str(key))
            container = self._owned(container, key)
        return container, parts[-1], tuple(way)

    def _owned(self, container: Any, key: Any) -> Any:
        child = container[key]
        if not isinstance(child, dict | list):
            raise _Failed
        if id(child) not in self._own:
            child = container[key] = child.copy()
            self._own[id(child)] = child
        return child

    def run(self, operation: type[jsonpatch.PatchOperation], way: tuple[str, ...], key: Any, value: Any = None) -> None:
        pointer = JsonPointer.from_parts((*way, str(key)))
        self.root = operation({"path": pointer, "value": value}).apply(self.root)


def _index(container: list[Any], part: str, size: int) -> int:
    """The position that `part` means in an array with `size` of them; raises _Failed if there is none."""
    if not _INDEX.fullmatch(part):
        raise _Failed
    index = clamped(part)
    if index < 0:
        index += size
    if not 0 <= index < size:
        raise _Failed
    return index


def _existing(container: Any, part: str) -> Any:
    """`part` as a key of `container`; None when an object has no such key; raises _Failed for a bad index."""
    if isinstance(container, dict):
        return part if part in container else None
    return _index(container, part, len(container))


def _add_at(patched: _Patched, path: Any, value: Any) -> None:
    container, part, way = patched.find(path)
    if isinstance(container, list) and part != "-":
        part = str(_index(container, part, len(container) + 1))
    patched.run(jsonpatch.AddOperation, way, part, value)


def _add(patched: _Patched, operation: JsonObject) -> None:
    _add_at(patched, operation.get("path"), operation.get("value"))


def _remove(patched: _Patched, operation: JsonObject) -> None:
    container, part, way = patched.find(operation.get("path"))
    key = _existing(container, part)
    if key is None:
        raise _Failed
    patched.run(jsonpatch.RemoveOperation, way, key)


def _replace(patched: _Patched, operation: JsonObject) -> None:
    path, value = operation.get("path"), operation.get("value")
    if path == "":
        if not isinstance(value, dict | list):
            raise _Failed
        patched.root = jsonpatch.ReplaceOperation({"path": "", "value": value}).apply(patched.root)
        return
    container, part, way = patched.find(path)
    key = _existing(container, part)
    change = jsonpatch.AddOperation if key is None else jsonpatch.ReplaceOperation
    patched.run(change, way, part if key is None else key, value)


def _move(patched: _Patched, operation: JsonObject) -> None:
    container, part, way = patched.find(operation.get("from"))
    key = _existing(container, part)
    if key is None:
        raise _Failed
    value = container[key]
    patched.run(jsonpatch.RemoveOperation, way, key)
    _add_at(patched, operation.get("path"), value)


def _copy(patched: _Patched, operation: JsonObject) -> None:
    container, part, _ = patched.find(operation.get("from"))
    key = _existing(container, part)
    value = None if key is None else patched.copied(container[key])
    _add_at(patched, operation.get("path"), value)


def _test(patched: _Patched, operation: JsonObject) -> None:
    path, value = operation.get("path"), operation.get("value")
    if path == "":
        jsonpatch.TestOperation({"path": "", "value": value}).apply(patched.root)
        return
    container, part, _ = patched.find(path)
    key = _existing(container, part)
    if key is not None:
        if not identical(container[key], value):  # 3.0 is not what an object has as 3
            raise _Failed
    elif value is not None:
        raise _Failed


_ACTIONS: dict[Any, Callable[[_Patched, JsonObject], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
