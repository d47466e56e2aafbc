"""Memory of specifications that come again, as those of the pods that a controller makes of one template.

The first object with a specification leaves a hash. From the second one on, what follows from the specification alone
is remembered by its bytes: what decoding and defaulting make of it, which fields it sets, that it is valid, its
warnings and its bytes in Go's order. Where admission changes a specification, it has other bytes and is checked anew.

The body's reader looks a specification up (`Templates.of`), creation says when it does not change any more
(`Specification.prepared`), and the encoder copies its bytes (`Specification.spliced`). Rules in between only ask
`Specification.once` and `has_passed`, and do not know whether anything is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import orjson

from gateway.apply.field_set import FieldSet
from gateway.jsontypes import JsonObject, dumps
from gateway.schema.body import Body
from gateway.schema.order import in_go_order
from gateway.schema.types import Type

LONGEST = 64 << 10  # bytes of a specification; longer ones hardly come again
SEEN = 4096  # specifications that are known to have come once
FACTS = 32  # that are remembered of one specification
BUDGET = 16 << 20  # bytes of all that is remembered; then all is forgotten
_SHARE = 8  # bytes that decoding and field sets make of one byte of a specification, about
_OVERHEAD = 1 << 10
_EACH = 64  # bytes of a value besides its text

_MEMBER = "spec"

T = TypeVar("T")


Facts = dict[Hashable, Any]


class Template:
    """The memory of one specification in the form that clients send. `spend` is told of bytes that it keeps."""

    __slots__ = ("fields", "of_sent", "of_stored", "settled", "spend")

    member = _MEMBER

    def __init__(self, spend: Callable[[int], None]) -> None:
        self.spend = spend
        self.settled: bytes | None = None  # decoded and defaulted
        self.fields: FieldSet | None = None  # which it sets in a new object
        self.of_sent: Facts = {}
        self.of_stored: tuple[bytes, Facts] = (b"", {})  # of what was made of it last, by its bytes


class Templates:
    """The specifications of a kind that have come more than once."""

    def __init__(self, default_others: Callable[[JsonObject], None]) -> None:
        """`default_others` sets, in place, the defaults of all but the specification.

        Those of a specification have to follow from nothing else.
        """
        self.default_others = default_others
        self._seen: set[int] = set()
        self._templates: dict[bytes, Template] = {}
        self._free = BUDGET

    def of(self, sent: Any) -> Template | None:
        """The memory of a body's specification; None for one that comes for the first time."""
        if not isinstance(sent, dict) or (type(sent) is Body and (sent.duplicates or sent.too_large)):
            return None
        specification = sent.get(_MEMBER)
        if type(specification) is not dict:
            return None
        try:
            content = orjson.dumps(specification)
        except orjson.JSONEncodeError:  # too deep, or with numbers that are no JSON
            return None
        return self._templates.get(content) or self._noted(content)

    def _noted(self, content: bytes) -> Template | None:
        if len(content) > LONGEST:
            return None
        mark = hash(content)
        if mark not in self._seen:
            if len(self._seen) >= SEEN:
                self._seen.clear()
            self._seen.add(mark)
            return None
        self._spend(len(content) * _SHARE + _OVERHEAD)
        return self._templates.setdefault(content, Template(self._spend))

    def _spend(self, size: int) -> None:
        self._free -= size
        if self._free < 0:
            self._templates.clear()
            self._free = BUDGET - size


class Specification:
    """The specification of an object that is written, and what follows from it alone, worked out once.

    It is the one that was sent until it is `prepared`, and the one to be stored after that. Of one that has not come
    before (`template` is None) nothing is remembered.
    """

    __slots__ = ("_facts", "template")

    def __init__(self, template: Template | None = None) -> None:
        self.template = template
        self._facts = None if template is None else template.of_sent

    def once(self, fact: Hashable, make: Callable[[], T]) -> T:
        """What `make` makes of the specification and of nothing else; remembered under the name `fact`."""
        facts = self._facts
        if facts is None:
            return make()
        found: T | None = facts.get(fact)
        if found is None:
            found = make()
            assert self.template is not None
            self.template.spend(_size(fact) + _size(found))
            if len(facts) >= FACTS:
                facts.clear()
            facts[fact] = found
        return found

    def has_passed(self, rule: Hashable) -> bool:
        """Whether the specification is known to obey a rule that looks at nothing else."""
        return self._facts is not None and rule in self._facts

    def passes(self, rule: Hashable) -> None:
        """Remembers that it does."""
        self.once(rule, lambda: True)

    def prepared(self, obj: JsonObject) -> None:
        """The specification is as it is to be stored; it must not change any more."""
        if self.template is None:
            return
        content = dumps(obj[_MEMBER])
        if len(content) > LONGEST:  # what admission has made of it
            self._facts = None
            return
        known, facts = self.template.of_stored
        if known != content:
            facts = {}
            self.template.spend(len(content))
            self.template.of_stored = content, facts
        self._facts = facts

    def spliced(self, obj: JsonObject, type_: Type) -> JsonObject:
        """The object with the bytes of its specification, in Go's order, in its place: the encoder copies them."""
        ordered = self.once("in Go's order", lambda: dumps(in_go_order(type_.fields[_MEMBER].type, obj[_MEMBER])))
        return {**obj, _MEMBER: orjson.Fragment(ordered)}


def _size(value: Any) -> int:
    """How many bytes a fact takes, about."""
    if isinstance(value, str | bytes):
        return len(value) + _EACH
    if isinstance(value, dict):
        return sum(_size(key) + _size(each) for key, each in value.items()) + _EACH
    return (sum(map(_size, value)) if isinstance(value, list | tuple) else 0) + _EACH


ANY_SPECIFICATION = Specification()
"""One of which nothing is remembered."""
