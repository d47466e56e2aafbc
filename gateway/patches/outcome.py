"""The 422 for a patch whose result is no valid object of its kind: it quotes the patched document or the patch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.http.status import StatusError, invalid
from gateway.jsontypes import JsonObject, dumps
from gateway.patches import strategic_merge_patch
from gateway.patches.go_text import go_print, go_type
from gateway.schema.types import Kind, Type
from gateway.validation import field as errors

_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def undecodable(document: JsonObject, result: Any, type_: Type, message: str) -> StatusError:
    """For JSON and merge patches: `result`, which patching `document` gave, was refused with `message`."""
    text = dumps(_as_patched(result, document, type_)).decode().translate(_HTML)
    return _refused(text, message)


def unconvertible(
    document: JsonObject, patch: JsonObject, type_: Type, message: str, strict: bool = False
) -> StatusError:
    """For strategic merge patches; quotes what merging left of the patch.

    `message` is the decoder's. Unless it is about strict errors, the wording of Go's map-to-struct converter, which
    kube-apiserver uses for these patches, comes before it.
    """
    rest = strategic_merge_patch.copied(patch)
    result = strategic_merge_patch.merged(document, rest, type_)
    own = None if strict else _mismatch(result, type_)
    return _refused(go_print(rest), own or message)


def _refused(text: str, message: str) -> StatusError:
    return invalid("", "", "", [errors.invalid("patch", text, message)])


def _as_patched(value: Any, original: Any, type_: Type | None) -> Any:
    """Members of objects in the order that kube-apiserver shows: sorted where patched, else as the type has them."""
    if isinstance(value, list):
        element = type_.elem if type_ else None
        before = original if isinstance(original, list) else []
        return [_as_patched(v, before[i] if i < len(before) else None, element) for i, v in enumerate(value)]
    if not isinstance(value, dict):
        return value
    old = original if isinstance(original, dict) else {}
    fields = type_.fields if type_ and type_.kind is Kind.STRUCT else {}
    keys: list[str] = list(value)
    if value is original and fields:
        keys = [*(name for name in fields if name in value), *(key for key in value if key not in fields)]
    elif value is original or isinstance(original, dict):
        keys.sort()
    map_element = type_.elem if type_ and type_.kind is Kind.MAP else None
    return {
        key: _as_patched(value[key], old.get(key), fields[key].type if key in fields else map_element) for key in keys
    }


def _mismatch(value: Any, type_: Type) -> str | None:
    """The first thing that keeps Go's converter from turning `value` into the type, or None."""
    if value is None:
        return None
    members: Iterator[tuple[Any, Type]]
    match type_.kind:
        case Kind.STRUCT:
            if not isinstance(value, dict):
                return f"cannot restore struct from: {_kind(value)}"
            members = ((value.get(name), field.type) for name, field in type_.fields.items())
        case Kind.MAP:
            if not isinstance(value, dict):
                return f"cannot restore map from {_kind(value)}"
            members = ((member, type_.elem) for member in value.values()) if type_.elem else iter(())
        case Kind.LIST:
            if not isinstance(value, list):
                return f"cannot restore slice from {_kind(value)}"
            members = ((member, type_.elem) for member in value) if type_.elem else iter(())
        case Kind.BYTES:
            return None if isinstance(value, str) else f"cannot restore slice from {_kind(value)}"
        case Kind.STRING | Kind.BOOL | Kind.INT32 | Kind.INT64 | Kind.FLOAT:
            return _scalar_mismatch(value, type_)
        case _:
            return None
    return next((message for message in (_mismatch(v, t) for v, t in members) if message), None)


def _scalar_mismatch(value: Any, type_: Type) -> str | None:
    source, target = go_type(value), type_.name
    match type_.kind:
        case Kind.STRING:
            fits, related = isinstance(value, str), source == "int64"
        case Kind.BOOL:
            fits, related = isinstance(value, bool), False
        case Kind.FLOAT:
            fits, related = source in ("int64", "float64"), False
        case _:
            fits = source == "int64" or (source == "float64" and float(value).is_integer())
            related = source == "float64"
    if fits:
        return None
    return f"cannot convert {source} to {target}" if related else f"unrecognized type: {type_.kind.value}"


def _kind(value: Any) -> str:
    match value:
        case dict():
            return "map"
        case list():
            return "slice"
        case _:
            return go_type(value)
