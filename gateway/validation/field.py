"""Field errors: what validation returns, in the form and wording of apimachinery's `field.Error`.

A validator takes a decoded object: a dict in its versioned JSON form, with defaults. It returns a list of `FieldError`
in kube-apiserver's order. Paths are plain strings: `f"{path}.name"`, `f"{path}[{i}]"`, `f"{path}[{key}]"` for map keys.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, ParamSpec

from gateway.jsontypes import identical
from gateway.time_limits import look
from gateway.validation.go_print import go_number

P = ParamSpec("P")

MOST_PATH = 4 << 10
"""The most characters of a path in an error. Names of members may be long, and each item below has its own path."""


def path_to(path: str, part: str) -> str:
    """A path with one more part; cut after MOST_PATH characters."""
    longer = path + part
    return longer if len(longer) <= MOST_PATH else f"{longer[:MOST_PATH]}..."


REQUIRED = ("FieldValueRequired", "Required value")
INVALID = ("FieldValueInvalid", "Invalid value")
NOT_SUPPORTED = ("FieldValueNotSupported", "Unsupported value")
DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
FORBIDDEN = ("FieldValueForbidden", "Forbidden")
NOT_FOUND = ("FieldValueNotFound", "Not found")
TOO_LONG = ("FieldValueTooLong", "Too long")
TOO_SHORT = ("FieldValueTooShort", "Too short")
TOO_MANY = ("FieldValueTooMany", "Too many")
TOO_FEW = ("FieldValueTooFew", "Too few")
INTERNAL = ("InternalError", "Internal error")
TYPE_INVALID = ("FieldValueTypeInvalid", "Invalid value")

_NO_VALUE = object()
_SHORT = (str, int, float, bool, type(None))
_LONGEST_SHORT = 200  # characters of a string value


MOST_ERRORS = 2_000
"""The most errors that a rule makes: more are useless to a reader, and making them would delay other requests."""


class FieldError:
    """One cause of a 422: `reason` is machine-readable, `body` the message without the field's path.

    The message is built when it is read. So an error that the response leaves out costs little, whatever its value is.
    """

    __slots__ = ("_detail", "_head", "_value", "field", "reason")

    def __init__(self, reason: str, field: str, body: str, value: Any = _NO_VALUE, detail: Detail = "") -> None:
        """`body` is the beginning of the message; the value and the detail follow, if there are any."""
        self.reason, self.field, self._head, self._value, self._detail = reason, field, body, value, detail

    @property
    def body(self) -> str:
        head = self._head if self._value is _NO_VALUE else f"{self._head}: {go_value(self._value)}"
        return f"{head}: {detail}" if (detail := self.detail) else head

    @property
    def detail(self) -> str:
        """The part of the message after the value."""
        return self._detail if isinstance(self._detail, str) else self._detail()

    def as_told(self, enabled: Callable[[str], bool]) -> FieldError:
        """The error in the words of a release. `enabled` says of the name of a change whether the release has it."""
        return self

    def at(self, field: str) -> FieldError:
        """The same error, for another field."""
        return FieldError(self.reason, field, self._head, self._value, self._detail)

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"

    def __repr__(self) -> str:
        return f"FieldError({self.reason!r}, {self.field!r}, {self.body!r})"

    def __hash__(self) -> int:
        return hash((self.reason, self.field, self._short_body))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FieldError) or (self.reason, self.field) != (other.reason, other.field):
            return False
        if (short := self._short_body) or other._short_body:
            return short == other._short_body
        if (self._head, self._detail) == (other._head, other._detail) and identical(self._value, other._value):
            return True
        return self.body == other.body

    @property
    def _short_body(self) -> str:
        """The message if it is cheap to build, else "". Hashes use it, to find equal errors of one field among many."""
        value, detail = self._value, self._detail
        if not isinstance(detail, str) or not (value is _NO_VALUE or type(value) in _SHORT):
            return ""
        return "" if type(value) is str and len(value) > _LONGEST_SHORT else self.body


class Reworded(FieldError):
    """An error that has other words, or another field, in releases with a change."""

    __slots__ = ("_change", "_later")

    def __init__(self, error: FieldError, change: str, later: Callable[[], FieldError]) -> None:
        super().__init__(error.reason, error.field, error._head, error._value, error._detail)
        self._change, self._later = change, later

    def as_told(self, enabled: Callable[[str], bool]) -> FieldError:
        return self._later() if enabled(self._change) else self


def reworded(change: str, error: FieldError, later: Callable[[], FieldError]) -> FieldError:
    """An error, which is `later()` in releases with the change of this name."""
    return Reworded(error, change, later)


Detail = str | Callable[[], str]


_SOME = 64  # errors; making them takes less than a millisecond


class _Enough(Exception):
    """A rule has made MOST_ERRORS errors; `judged` catches it."""


class _Making(threading.local):
    """The errors that the running rule has made in this thread; None outside of `judged`."""

    errors: list[FieldError] | None = None


_making = _Making()


def judged(rule: Callable[[], Sequence[FieldError]]) -> Sequence[FieldError]:
    """Runs a rule and returns its errors. A rule that makes MOST_ERRORS errors is ended, and these are returned.

    The rule itself need not count: each new error is counted when it is made.
    """
    before, _making.errors = _making.errors, []
    try:
        return rule()
    except _Enough:
        return _making.errors
    finally:
        _making.errors = before


def bounded(rule: Callable[P, list[FieldError]]) -> Callable[P, list[FieldError]]:
    """Decorates a rule so that it ends after MOST_ERRORS errors."""

    @wraps(rule)
    def found(*args: P.args, **named: P.kwargs) -> list[FieldError]:
        before, _making.errors = _making.errors, []
        try:
            return rule(*args, **named)
        except _Enough:
            return _making.errors
        finally:
            _making.errors = before

    return found


class Verbatim(str):
    """A bad value that a message shows without quoting it: the JSON of a Go struct in the order of its fields."""

    __slots__ = ()


def go_quote(value: str) -> str:
    """Quotes a string as Go's %q does."""
    if value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    return f'"{value.translate(_QUOTED)}"'


class _Quoted(dict[int, str | int]):
    """Maps a code point to the text that Go writes for it between quotes. Caches the first _ESCAPES_LIMIT of them."""

    def __missing__(self, code: int) -> str | int:
        found = _quoted(code)
        if len(self) < _ESCAPES_LIMIT:
            self[code] = found
        return found


def _quoted(code: int) -> str | int:
    if chr(code).isprintable():
        return code
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_ESCAPES_LIMIT = 4096


_NAMED = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
}
_QUOTED = _Quoted()
_QUOTED.update({code: _quoted(code) for code in range(0x80)} | {ord(char): text for char, text in _NAMED.items()})


def go_value(value: Any) -> str:
    """Prints a value as Go's %v (numbers, bools), %q (strings) or its JSON (the rest)."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return go_number(value)
        case Verbatim():
            return str(value)
        case str():
            return go_quote(value)
        case None:
            return "null"
        case _:
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def _error(kind: tuple[str, str], path: str, value: Any, detail: Detail) -> FieldError:
    error = FieldError(kind[0], path, kind[1], value, detail)
    if (made := _making.errors) is not None:
        made.append(error)
        if len(made) >= MOST_ERRORS:
            raise _Enough
        if not len(made) % _SOME:
            look()
    return error


def required(path: str, detail: str = "") -> FieldError:
    return _error(REQUIRED, path, _NO_VALUE, detail)


def invalid(path: str, value: Any, detail: Detail) -> FieldError:
    return _error(INVALID, path, value, detail)


def valueless(path: str, detail: Detail) -> FieldError:
    """An "Invalid value" that does not show the value."""
    return _error(INVALID, path, _NO_VALUE, detail)


def type_invalid(path: str, value: Any, detail: str) -> FieldError:
    return _error(TYPE_INVALID, path, value, detail)


def not_supported(path: str, value: Any, supported: Iterable[str]) -> FieldError:
    """An "Unsupported value". `supported` has the order in which kube-apiserver lists it (usually sorted)."""
    return _error(NOT_SUPPORTED, path, value, _Supported(supported))


class _Supported:
    """The detail that lists the supported values, built when it is read."""

    __slots__ = ("_values",)

    def __init__(self, values: Iterable[str]) -> None:
        """A tuple is not copied: many errors may share a long one."""
        self._values = values if isinstance(values, tuple) else tuple(values)

    def __call__(self) -> str:
        values = ", ".join(map(go_quote, self._values))
        return f"supported values: {values}" if values else ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Supported) and self._values == other._values

    def __hash__(self) -> int:
        return hash(self._values)


def first_places(values: Sequence[str]) -> dict[str, int]:
    """The first index of each value. So a rule finds repeated values without a search through the earlier ones."""
    found: dict[str, int] = {}
    for place, value in enumerate(values):
        found.setdefault(value, place)
    return found


def duplicate(path: str, value: Any, detail: Detail = "") -> FieldError:
    return _error(DUPLICATE, path, value, detail)


def forbidden(path: str, detail: str) -> FieldError:
    return _error(FORBIDDEN, path, _NO_VALUE, detail)


def not_found(path: str, value: Any, detail: Detail = "") -> FieldError:
    return _error(NOT_FOUND, path, value, detail)


def too_long(path: str, max_length: int) -> FieldError:
    if max_length < 0:
        return _error(TOO_LONG, path, _NO_VALUE, "value is too long")
    unit = "byte" if max_length == 1 else "bytes"
    return _error(TOO_LONG, path, _NO_VALUE, f"may not be more than {max_length} {unit}")


def too_long_characters(path: str, max_length: int) -> FieldError:
    """A "Too long" of a limit that counts characters, and not bytes."""
    unit = "character" if max_length == 1 else "characters"
    return _error(TOO_LONG, path, _NO_VALUE, f"may not be more than {max_length} {unit}")


def too_many(path: str, actual: int, maximum: int) -> FieldError:
    if maximum < 0:
        return _error(TOO_MANY, path, actual, "has too many items")
    return _error(TOO_MANY, path, actual, f"must have at most {maximum} item" + ("" if maximum == 1 else "s"))


def internal(path: str, detail: str) -> FieldError:
    return _error(INTERNAL, path, _NO_VALUE, detail)
