"""Path elements of field sets in the form of fieldsV1: `f:name`, `k:{"name":"x"}`, `v:"x"`, `i:3`.

Source: structured-merge-diff's documentation of its serialisation. The canonical order is fields by name, then keys,
values and indexes, each sorted by value.
"""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import dumps, dumps_plain
from gateway.memo import memo
from gateway.schema.integers import int64
from gateway.schema.outside import read_json
from gateway.validation.field import go_quote

_RANKS = {"f": 0, "k": 1, "v": 2, "i": 3}


@memo()
def quoted(value: str) -> str:
    """A string as JSON, with the escapes that Go adds for HTML (`<`, `>`, `&`)."""
    return dumps(value).decode()


def scalar(value: Any) -> str:
    """The JSON text of a list item's key or of a set's member."""
    if isinstance(value, str):
        return quoted(value)
    return str(value) if type(value) is int else dumps(value).decode()


def key_element(members: dict[str, Any]) -> str:
    """The element of a list item with these keys and values. The keys must be sorted by name."""
    return "k:{" + ",".join([f"{quoted(name)}:{scalar(value)}" for name, value in members.items()]) + "}"


def value_element(value: Any) -> str:
    """The element of a member of a set."""
    return "v:" + scalar(value)


@memo(8 << 20, share=40)  # the parsed key takes much more memory than its text
def parsed(element: str) -> tuple[str, Any]:
    """The kind ("f", "k", "v" or "i") and the content of an element; ("", None) for an unknown kind.

    Raises ValueError for an invalid element.
    """
    if len(element) < 2:
        raise ValueError("key must be 2 characters long:")
    kind, colon, text = element[0], element[1], element[2:]
    if colon != ":":
        raise ValueError(f"missing colon: {element}")
    match kind:
        case "f":
            return kind, text
        case "v":
            return kind, read_json(text.encode())
        case "k":
            members = read_json(text.encode())
            if not isinstance(members, dict):
                raise ValueError(f"no object: {text}")
            return kind, dict(sorted(members.items()))
        case "i":
            if (index := int64(text)) is None:
                raise ValueError(f"no index: {text}")
            return kind, index
    return "", None


def canonical(element: str) -> str | None:
    """The element in canonical form; None for an unknown kind. Raises ValueError for an invalid element."""
    kind, content = parsed(element)
    match kind:
        case "k":
            return key_element(content)
        case "v":
            return value_element(content)
        case "i":
            return f"i:{content}"
        case "f":
            return element
    return None


def shown(element: str) -> str:
    """The element in error messages: `.spec`, `[name="x"]`, `[="x"]`, `[3]`."""
    kind, content = parsed(element)
    match kind:
        case "f":
            return f".{content}"
        case "k":
            return "[" + ",".join(f"{name}={_shown_value(value)}" for name, value in content.items()) + "]"
        case "v":
            return f"[={_shown_value(content)}]"
    return f"[{content}]"


def _shown_value(value: Any) -> str:
    match value:
        case str():
            return go_quote(value)
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case list():
            return f"[{','.join(map(_shown_value, value))}]"
        case dict():
            return "".join(f"{name}={_shown_value(member)}" for name, member in value.items())
    return str(value)


def order(element: str) -> Any:
    """The sort key of an element for the canonical order."""
    if element[:2] == "f:":
        return (0, element)
    if element == ".":
        return (-1, "")
    return _parsed_order(element)


@memo(8 << 20, share=40)  # see `parsed`
def _parsed_order(element: str) -> Any:
    kind, content = parsed(element)
    if kind == "k":
        return (1, [(name, value_order(value)) for name, value in content.items()])
    return (_RANKS.get(kind, 4), value_order(content))


def value_order(value: Any) -> tuple[int, Any]:
    """The sort key of a value of any type: first numbers, then strings, booleans, and others."""
    match value:
        case bool():
            return (2, value)
        case int() | float():
            return (0, value)
        case str():
            return (1, value)
    return (3, dumps_plain(value))
