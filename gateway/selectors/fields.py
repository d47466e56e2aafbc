"""Field selectors: the grammar of apimachinery's `fields.ParseSelector`, and the selectable fields of a kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from gateway.selectors.labels import MOST_PARTS, SelectorError
from gateway.validation.field import go_quote
from storage.entry import Texts

FieldMatcher = Callable[[Texts], bool]

_TERM = re.compile(r",((?:[^,\\]+|\\.|\\\Z)*)", re.DOTALL)
_SPECIAL = re.compile(r"[\\,=]")
_FEW = 4  # a selector of at most so many terms is checked term by term

METADATA_FIELDS = ("metadata.name", "metadata.namespace")
UID_FIELD = "metadata.uid"  # only shard selectors look at it


class Term(NamedTuple):
    field: str
    value: str
    equal: bool


def parse_terms(text: str) -> list[Term]:
    """The terms of a selector. Raises SelectorError with kube-apiserver's message."""
    terms = []
    for part in sorted(_split(text)):
        if not part:
            continue
        field, operator, value = part.partition("=")
        if not operator:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
        if field.endswith("!"):
            terms.append(Term(field[:-1], _unescape(value), False))
        else:
            terms.append(Term(field, _unescape(value.removeprefix("=")), True))
    return terms


def _split(text: str) -> list[str]:
    if text.count(",") >= MOST_PARTS:
        raise SelectorError(f"selector has more than {MOST_PARTS} parts")
    return _TERM.findall("," + text)


def _unescape(value: str) -> str:
    if not _SPECIAL.search(value):
        return value
    out, escaped = [], False
    for char in value:
        if escaped:
            if char not in "\\,=":
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{char}")
            out.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            out.append(char)
    if escaped:
        raise SelectorError("invalid field selector: invalid escape sequence: \\")
    return "".join(out)


class Selectable(NamedTuple):
    """The selectable fields of a kind, and the message for a field that is none of them."""

    names: dict[str, str]  # accepted name -> name in the object's field set
    refusal: str  # with {label} and {quoted}


DEFAULT = Selectable(
    {name: name for name in METADATA_FIELDS},
    '{quoted} is not a known field selector: only "metadata.name", "metadata.namespace"',
)


def resolve(terms: list[Term], selectable: Selectable) -> list[Term]:
    """Terms with the names of the object's field set. Raises SelectorError for a field that can't be selected."""
    found = []
    for term in terms:
        if not term.field and not term.value:  # "=" and "!=" select everything
            continue
        name = selectable.names.get(term.field)
        if name is None:
            raise SelectorError(selectable.refusal.format(label=term.field, quoted=go_quote(term.field)))
        found.append(term if name == term.field else term._replace(field=name))
    return found


def matcher(terms: list[Term]) -> FieldMatcher | None:
    """A predicate on an object's field set, None when it holds for all. A field that the set lacks counts as ""."""
    if not terms:
        return None
    checks = list(dict.fromkeys((term.field, term.value, term.equal) for term in terms))
    if len(checks) <= _FEW:
        return lambda fields: all((fields.get(name, "") == value) is equal for name, value, equal in checks)
    wanted: dict[str, set[str]] = {}
    unwanted: dict[str, set[str]] = {}
    for name, value, equal in checks:
        (wanted if equal else unwanted).setdefault(name, set()).add(value)
    return lambda fields: (
        all(values == {fields.get(name, "")} for name, values in wanted.items())
        and not any(fields.get(name, "") in values for name, values in unwanted.items())
    )


def exact_name(terms: list[Term]) -> str | None:
    """X of the first `metadata.name=X`; None without one."""
    return next((term.value for term in terms if term.field == "metadata.name" and term.equal), None)


def exact_value(terms: list[Term]) -> tuple[str, str] | None:
    """Field and value of the first term that requires a value that is not empty; None without one.

    metadata.namespace does not count: it excludes few objects.
    """
    exact = (term for term in terms if term.equal and term.value and term.field != "metadata.namespace")
    return next(((term.field, term.value) for term in exact), None)
