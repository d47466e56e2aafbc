"""A cache for specs that recur, as those of the pods that a controller makes from one template.

The first object with a spec leaves a hash. From the second one on, results that depend on the spec alone are cached,
with the bytes of the spec as key. They are the decoded and defaulted spec, the fields that it sets, that it is valid,
its warnings, and its bytes in Go's order. A spec that admission changes has other bytes, and is checked anew.

The reader of the body looks up a spec (`SpecTemplates.of`). The WriteContext carries it: once the spec is final, the
context calls `Specification.prepared`, and `spliced` for the encoder. The rules in between call `of_spec` of the
WriteContext or the Admission with what depends on the spec alone. They do not know that specs recur.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable
from typing import Any, TypeVar

import orjson

from gateway.apply.field_set import FieldSet
from gateway.jsontypes import JsonObject, dumps
from gateway.schema.body import Body
from gateway.schema.order import in_go_order
from gateway.schema.types import Type

LONGEST = 64 << 10  # bytes of a spec; longer ones rarely come again
SEEN = 4096  # hashes of specs that have come once
FACTS = 32  # cached results of one spec
WHOLES = 32  # cached field sets of whole objects with one spec
BUDGET = 16 << 20  # bytes of the whole cache; when it is full, all entries are dropped
_SHARE = 8  # bytes, about, of the decoded spec and its field set for each byte of the spec
_OVERHEAD = 1 << 10
_EACH = 64  # bytes of a value in addition to its text
_WHOLE = 1 << 10  # bytes of a field set beside the spec's

_MEMBER = "spec"

T = TypeVar("T")


Facts = dict[Hashable, Any]


class SpecTemplate:
    """The cached results of one spec, as clients send it. `spend` is called with the bytes of each result."""

    __slots__ = ("_wholes", "fields", "of_sent", "of_stored", "settled", "spend")

    member = _MEMBER

    def __init__(self, spend: Callable[[int], None]) -> None:
        self.spend = spend
        self.settled: bytes | None = None  # decoded and defaulted
        self.fields: FieldSet | None = None  # the fields that the spec sets in a new object
        self.of_sent: Facts = {}
        self.of_stored: tuple[bytes, Facts] = (b"", {})  # bytes and results of the latest final spec
        self._wholes: dict[Hashable, FieldSet] = {}

    def whole(self, names: Hashable, make: Callable[[], FieldSet]) -> FieldSet:
        """The field set of a new object that has this spec and members with these names. It is made once."""
        found = self._wholes.get(names)
        if found is None:
            if len(self._wholes) >= WHOLES:
                self._wholes.clear()
            found = self._wholes[names] = make()
            self.spend(_size(names) + _WHOLE)
        return found


class SpecTemplates:
    """The specs of a kind that have come more than once."""

    def __init__(self, default_others: Callable[[JsonObject], None]) -> None:
        """`default_others` sets, in place, the defaults of all but the spec.

        The defaults of the spec must depend on the spec alone.
        """
        self.default_others = default_others
        self._seen: set[int] = set()
        self._templates: dict[bytes, SpecTemplate] = {}
        self._free = BUDGET

    def default_beside(self, members: Container[str]) -> Callable[[JsonObject], None] | None:
        """What sets the defaults of an object whose `members` have theirs; None if the spec still needs them."""
        return self.default_others if _MEMBER in members else None

    def of(self, sent: Any) -> SpecTemplate | None:
        """The cached results for a body's spec; None if the spec comes for the first time, or cannot be cached."""
        if not isinstance(sent, dict) or (type(sent) is Body and (sent.duplicates or sent.too_large)):
            return None
        specification = sent.get(_MEMBER)
        if type(specification) is not dict:
            return None
        try:
            content = orjson.dumps(specification)
        except orjson.JSONEncodeError:  # too deep, or a number that orjson cannot write
            return None
        return self._templates.get(content) or self._noted(content)

    def _noted(self, content: bytes) -> SpecTemplate | None:
        if len(content) > LONGEST:
            return None
        mark = hash(content)
        if mark not in self._seen:
            if len(self._seen) >= SEEN:
                self._seen.clear()
            self._seen.add(mark)
            return None
        self._spend(len(content) * _SHARE + _OVERHEAD)
        return self._templates.setdefault(content, SpecTemplate(self._spend))

    def _spend(self, size: int) -> None:
        self._free -= size
        if self._free < 0:
            self._templates.clear()
            self._free = BUDGET - size


class Specification:
    """The spec of an object that is written, with the results that depend on it alone.

    It is the spec as sent; `prepared` returns the spec to be stored. Without a `template`, as for a spec that has not
    come before, nothing is cached.
    """

    __slots__ = ("_facts", "template")

    def __init__(self, template: SpecTemplate | None = None, facts: Facts | None = None) -> None:
        """`facts` are the results so far; those of the spec as sent unless given."""
        self.template = template
        self._facts = template.of_sent if template is not None and facts is None else facts

    def once(self, fact: Hashable, make: Callable[[], T]) -> T:
        """The result of `make`, which must depend on the spec alone; cached under the name `fact` unless it is None."""
        facts = self._facts
        if facts is None:
            return make()
        found: T | None = facts.get(fact)
        if found is not None:
            return found
        made = make()
        if made is not None:
            assert self.template is not None
            self.template.spend(_size(fact) + _size(made))
            if len(facts) >= FACTS:
                facts.clear()
            facts[fact] = made
        return made

    def prepared(self, obj: JsonObject) -> Specification:
        """The spec of `obj`, which is final: it must not change any more."""
        if self.template is None:
            return self
        content = dumps(obj[_MEMBER])
        if len(content) > LONGEST:  # admission has made it longer
            return ANY_SPECIFICATION
        known, facts = self.template.of_stored
        if known != content:
            facts = {}
            self.template.spend(len(content))
            self.template.of_stored = content, facts
        return Specification(self.template, facts)

    def spliced(self, obj: JsonObject, type_: Type) -> JsonObject:
        """The object with its spec replaced by the spec's bytes in Go's order, which the encoder copies; the object
        itself if nothing is cached.
        """
        if self.template is None:
            return obj
        ordered = self.once("in Go's order", lambda: dumps(in_go_order(type_.fields[_MEMBER].type, obj[_MEMBER])))
        return {**obj, _MEMBER: orjson.Fragment(ordered)}


def _size(value: Any) -> int:
    """The size of a cached result in bytes, roughly."""
    if isinstance(value, str | bytes):
        return len(value) + _EACH
    if isinstance(value, dict):
        return sum(_size(key) + _size(each) for key, each in value.items()) + _EACH
    return (sum(map(_size, value)) if isinstance(value, list | tuple) else 0) + _EACH


ANY_SPECIFICATION = Specification()
"""A spec without a cache."""
