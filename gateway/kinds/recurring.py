"""New objects whose specification has come before: the pods that a controller makes of one template.

They differ in their metadata. What follows from the specification alone is made of the second of them and remembered by
its bytes: what decoding and defaulting make of it, which fields it sets, that it is valid, what is warned of, and its
bytes in Go's order. Whatever changes it on the way, as admission may, shows in its bytes; then it is checked anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.apply.field_set import FieldSet
from gateway.jsontypes import JsonObject, dumps
from gateway.schema.body import Body
from gateway.schema.order import in_go_order
from gateway.schema.types import Type

LONGEST = 64 << 10  # bytes of a specification; longer ones hardly come again
SEEN = 4096  # specifications that are known to have come once
RULES = 32  # that are remembered to take a specification
BUDGET = 16 << 20  # bytes of all that is remembered
_SHARE = 16  # bytes of the budget that one byte of a specification takes, about
_OVERHEAD = 1 << 10

_MEMBER = "spec"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A specification that was found to be valid, as it was when it was checked."""

    content: bytes
    ordered: bytes  # the same in Go's order
    warnings: tuple[str, ...]
    admitted: set[Hashable] = field(default_factory=set)  # which rules were found to take it, by what names them


class Template:
    """What is remembered of one specification as clients send it."""

    __slots__ = ("accepted", "fields", "settled", "token_volume")

    member = _MEMBER

    def __init__(self) -> None:
        self.settled: bytes | None = None  # decoded and defaulted
        self.fields: FieldSet | None = None  # which it sets in a new object
        self.accepted: Accepted | None = None
        self.token_volume = ""  # the name of the volume that admission adds


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
        """What is remembered of the specification of a body; None for one that comes for the first time."""
        if not isinstance(sent, dict) or (type(sent) is Body and sent.duplicates):
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
        self._free -= len(content) * _SHARE + _OVERHEAD
        if self._free < 0:
            self._templates.clear()
            self._free = BUDGET
        return self._templates.setdefault(content, Template())


class Recurrence:
    """A write of an object whose specification has come before."""

    __slots__ = ("_content", "accepted", "template", "valid", "warnings")

    def __init__(self, template: Template) -> None:
        self.template = template
        self.accepted: Accepted | None = None  # once it is prepared: what is known of exactly that
        self.valid = False  # whether it was found to be, by rules that look at nothing else
        self.warnings: tuple[str, ...] | None = None  # those that follow from nothing else
        self._content = b""

    def prepared(self, specification: JsonObject) -> None:
        """Looks whether a specification as it is to be stored was accepted before; it must not change any more."""
        self._content = dumps(specification)
        known = self.template.accepted
        self.accepted = known if known is not None and known.content == self._content else None
        self.valid, self.warnings = False, None

    def is_admitted(self, rule: Hashable) -> bool:
        """Whether a rule that looks at nothing but the specification was found to take exactly that."""
        return self.accepted is not None and rule in self.accepted.admitted

    def admit(self, rule: Hashable) -> None:
        """Remembers that it does."""
        if self.accepted is not None:
            if len(self.accepted.admitted) >= RULES:
                self.accepted.admitted.clear()
            self.accepted.admitted.add(rule)

    def spliced(self, obj: JsonObject, type_: Type) -> JsonObject:
        """The object with the bytes of its specification in its place; for the encoder, which copies them."""
        accepted = self.accepted
        if accepted is None:
            ordered = dumps(in_go_order(type_.fields[_MEMBER].type, obj[_MEMBER]))
            if self.valid and self.warnings is not None:
                self.template.accepted = Accepted(self._content, ordered, self.warnings)
        else:
            ordered = accepted.ordered
        return {**obj, _MEMBER: orjson.Fragment(ordered)}
