"""Field selectors: apimachinery's `fields.ParseSelector`, and which fields each kind lets select."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gateway.selectors.labels import SelectorError
from gateway.validation.field import go_quote

FieldMatcher = Callable[[dict[str, str]], bool]

METADATA_FIELDS = ("metadata.name", "metadata.namespace")


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
        for at in range(len(part)):
            operator = next((op for op in ("!=", "==", "=") if part.startswith(op, at)), None)
            if operator:
                terms.append(Term(part[:at], _unescape(part[at + len(operator) :]), operator != "!="))
                break
        else:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
    return terms


def _split(text: str) -> list[str]:
    parts, start, escaped = [], 0, False
    for at, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == ",":
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _unescape(value: str) -> str:
    if not any(char in value for char in "\\,="):
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
    """The fields of a kind: what requests may name (and what each stands for), and how refusals read."""

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
        name = selectable.names.get(term.field)
        if name is None:
            raise SelectorError(selectable.refusal.format(label=term.field, quoted=go_quote(term.field)))
        found.append(term._replace(field=name))
    return found


def matcher(terms: list[Term]) -> FieldMatcher | None:
    """A predicate on an object's field set, None when it holds for all. A field that the set lacks counts as ""."""
    if not terms:
        return None
    checks = [(term.field, term.value, term.equal) for term in terms]
    return lambda fields: all((fields.get(name, "") == value) is equal for name, value, equal in checks)


def exact_name(terms: list[Term]) -> str | None:
    """The one name that `metadata.name=X` asks for."""
    return next((term.value for term in terms if term.field == "metadata.name" and term.equal), None)
