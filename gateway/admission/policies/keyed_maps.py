"""Finds the parts of a mutation's value that are not JSON and are refused: null, maps with keys other than strings,
lists and maps that the expression built inside others, and lists of strings that functions returned.

In Go, a list or map that an expression builds holds CEL values. Only a field of an Object, or `+` of two lists,
converts them. The result of `split` or `findAll` is a slice of strings, which nothing converts. Values that an
expression took from an object are JSON everywhere. A field with a map of other keys turns its whole Object into an
error, which is found when the Object is applied.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gateway.cel.patch_objects import ObjectValue
from gateway.cel.values import ConcatenatedList, StringList, TypeValue, Uint
from gateway.validation.field import go_quote

_TYPES = {bool: "Bool", int: "Int", Uint: "Uint", float: "Double"}


@dataclass(frozen=True, slots=True)
class Unfit:
    """Stands for such a value: how Go prints it (%v), how it writes it (%#v), and its type (%T)."""

    printed: str
    written: str
    type: str = "*types.Err"


_NULL = Unfit("NULL_VALUE", "0", "structpb.NullValue")


def fitting(value: ObjectValue, read: Iterable[Any]) -> ObjectValue | Unfit:
    """The value of an expression, with each such value, or the Object around it, replaced by an Unfit.

    `read` is the JSON that the expression could read.
    """
    return _Fitting(read).object(value)


class _Fitting:
    """Tells values that the expression built from those that it read, which are known by their identity."""

    __slots__ = ("_known", "_read")

    def __init__(self, read: Iterable[Any]) -> None:
        self._read, self._known = read, set[int]()

    def object(self, value: ObjectValue) -> ObjectValue | Unfit:
        made = dict[str, Any]()
        for name, each in value.items():
            if isinstance(each, dict | list) and _has_null(each) and self._was_read(each):
                made[name] = each
            elif isinstance(each, dict) and not isinstance(each, ObjectValue):
                wrong = next((key for key in each if type(key) is not str), None)
                if wrong is not None:
                    kind = f"types.{_TYPES.get(type(wrong), type(wrong).__name__)}"
                    text = f"fail to convert field {go_quote(name)}: map key {_quoted(wrong, kind)} is of type {kind}"
                    return Unfit(f"{text}, not string", f"(*types.Err)({text})")
                made[name] = {key: self._within(item) for key, item in each.items()}
            elif isinstance(each, list) and type(each) is not StringList:
                made[name] = [self._within(item) for item in each]
            else:
                made[name] = self._within(each)
        return ObjectValue(value.type, made)

    def _within(self, value: Any) -> Any:
        if isinstance(value, ObjectValue):
            return self.object(value)
        if value is None:
            return _NULL
        if type(value) is TypeValue:
            return value.name
        if type(value) is StringList:
            return _texts(value)
        if type(value) is ConcatenatedList:
            return [self._within(item) for item in value]
        if not isinstance(value, dict | list) or self._was_read(value):
            return value
        return _made_map(value) if isinstance(value, dict) else _made_list(value)

    def _was_read(self, value: Any) -> bool:
        found = [each for each in self._read if isinstance(each, dict | list)]  # at the first call
        self._read = ()
        while found:
            last = found.pop()
            self._known.add(id(last))
            found += [
                each for each in (last.values() if isinstance(last, dict) else last) if isinstance(each, dict | list)
            ]
        return id(value) in self._known


def _has_null(value: dict[Any, Any] | list[Any]) -> bool:
    return any(each is None for each in (value.values() if isinstance(value, dict) else value))


def _quoted(key: Any, kind: str) -> str:
    """A key as Go's %q has it: integers are code points."""
    if type(key) is bool or not isinstance(key, int):
        return f"%!q({kind}={_printed(key)})"
    character = chr(key) if 0 <= key < 0x110000 and not 0xD800 <= key < 0xE000 else "\ufffd"
    if character in "'\"":
        return "'\\''" if character == "'" else "'\"'"
    return f"'{go_quote(character)[1:-1]}'"


def _made_map(value: dict[Any, Any]) -> Unfit:
    items = sorted(value.items(), key=lambda item: (isinstance(item[0], str), item[0]))
    printed = " ".join(f"{_printed(key)}:{_printed(each)}" for key, each in items)
    written = ", ".join(f"{_written(key)}:{_written(each)}" for key, each in items)
    kind = "map[ref.Val]ref.Val"
    return Unfit(f"map[{printed}]", f"{kind}{{{written}}}", kind)


def _made_list(value: list[Any]) -> Unfit:
    kind = "[]ref.Val"
    printed, written = " ".join(map(_printed, value)), ", ".join(map(_written, value))
    return Unfit(f"[{printed}]", f"{kind}{{{written}}}", kind)


def _texts(value: StringList) -> Unfit:
    kind = "[]string"
    return Unfit(f"[{' '.join(value)}]", f"{kind}{{{', '.join(map(go_quote, value))}}}", kind)


def _printed(value: Any) -> str:
    if isinstance(value, dict):  # as cel-go prints its own values
        return "{" + ", ".join(f"{_printed(key)}: {_printed(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_printed, value))}]"
    if value is None:
        return "0"
    return str(value).lower() if type(value) is bool else str(value)


def _written(value: Any) -> str:
    return go_quote(value) if isinstance(value, str) else _printed(value)
