"""The 422 for a patch whose result is no valid object of its kind: it quotes the patched document or the patch."""

from __future__ import annotations

from typing import Any

from gateway.http.status import StatusError, invalid
from gateway.jsontypes import GO_ESCAPES, JsonObject, dumps
from gateway.patches import strategic_merge_patch
from gateway.patches.go_text import go_print
from gateway.patches.unstructured import mismatch
from gateway.schema.types import Type, TypeKind
from gateway.validation import field as errors


def undecodable(document: JsonObject, result: Any, type_: Type, message: str) -> StatusError:
    """For JSON and merge patches: `result`, which patching `document` gave, was refused with `message`."""
    shown = _sorted(result) if type_.structural else _as_patched(result, document, type_)
    text = dumps(shown).decode().translate(GO_ESCAPES)
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
    own = None if strict else mismatch(result, type_)
    return _refused(go_print(rest), own or message)


def _refused(text: str, message: str) -> StatusError:
    return invalid("", "", "", [errors.invalid("patch", text, message)])


def _sorted(value: Any) -> Any:
    """A custom object is a map to Go."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


def _as_patched(value: Any, original: Any, type_: Type | None) -> Any:
    """Members of objects in the order that kube-apiserver shows: sorted where patched, else as the type has them."""
    if isinstance(value, list):
        element = type_.elem if type_ else None
        before = original if isinstance(original, list) else []
        return [_as_patched(v, before[i] if i < len(before) else None, element) for i, v in enumerate(value)]
    if not isinstance(value, dict):
        return value
    old = original if isinstance(original, dict) else {}
    fields = type_.fields if type_ and type_.kind is TypeKind.STRUCT else {}
    keys: list[str] = list(value)
    if value is original and fields:
        keys = [*(name for name in fields if name in value), *(key for key in value if key not in fields)]
    elif value is original or isinstance(original, dict):
        keys.sort()
    map_element = type_.elem if type_ and type_.kind is TypeKind.MAP else None
    return {
        key: _as_patched(value[key], old.get(key), fields[key].type if key in fields else map_element) for key in keys
    }
