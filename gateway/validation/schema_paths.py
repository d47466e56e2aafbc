"""Paths to fields of custom resources: `.spec.color`, `.metadata['name']`."""

from __future__ import annotations

import re

from gateway.jsontypes import JsonObject

_tokens = re.compile(r"'.+?(?<!\\)'|'.*\Z|[.\[\]]|[^.\[\]]+", re.DOTALL).findall
_END = "unexpected end of JSON path"
_NOWHERE = "does not refer to a valid field"


class FieldPathError(ValueError):
    """A path is malformed or leads to no field; the message is kube-apiserver's."""


def follow(path: str, schema: JsonObject, *, brackets: bool = True) -> tuple[list[str], JsonObject]:
    """Returns the steps of a path and the schema at its end. Raises FieldPathError. `brackets` allows `['name']`."""
    steps, tokens = list[str](), iter(_tokens(path))
    for token in tokens:
        if token == "." or (token == "[" and brackets):
            step = next(tokens, None)
            if step is None:
                raise FieldPathError(_END)
            if token == "[":
                step = _quoted(step)
            schema = _below(schema, step)
            steps.append(step)
            if token == "[" and (closing := next(tokens, None)) != "]":
                raise FieldPathError(_END if closing is None else f"expected ] but got {closing}")
        elif token == "[":
            raise FieldPathError("array notation is not allowed")
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
    return steps, schema


def _quoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {token}")
    return token[1:-1].replace("\\'", "'").replace("\\\\", "\\")


def _below(schema: JsonObject, name: str) -> JsonObject:
    properties, additional = schema.get("properties"), schema.get("additionalProperties")
    below = properties.get(name) if properties else additional
    if not isinstance(below, dict):
        raise FieldPathError(_NOWHERE)
    return below
