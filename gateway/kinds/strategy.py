"""The strategy of a kind: what its creates and updates do beyond the generic rules.

As `rest.RESTCreateStrategy` and `rest.RESTUpdateStrategy`: a module in `gateway/kinds/strategies/` exports
`STRATEGIES`, a dict from subresource name ("" for the resource itself, "status", "scale", …) to `Strategy`. Objects
are decoded, defaulted dicts in the resource's *storage* version; functions change `obj` in place and never `old`.
Object metadata is prepared and validated generically before these run (see `gateway.writing.write`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.validation.field import FieldError

WriteContext = Attributes


def _nothing(obj: JsonObject, context: WriteContext) -> None:
    return None


def _nothing_on_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    return None


def _valid(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return []


def _valid_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return []


@dataclass(frozen=True, slots=True)
class Strategy:
    """The rules of one resource or subresource."""

    prepare_for_create: Callable[[JsonObject, WriteContext], None] = _nothing
    prepare_for_update: Callable[[JsonObject, JsonObject, WriteContext], None] = _nothing_on_update
    validate: Callable[[JsonObject, WriteContext], list[FieldError]] = _valid
    validate_update: Callable[[JsonObject, JsonObject, WriteContext], list[FieldError]] = _valid_update
    warnings_on_create: Callable[[JsonObject, WriteContext], list[str]] | None = None
    warnings_on_update: Callable[[JsonObject, JsonObject, WriteContext], list[str]] | None = None
    canonicalize: Callable[[JsonObject], None] | None = None
    # (name, whether it is a generateName) -> messages; None: a DNS subdomain
    validate_name: Callable[[str, bool], Sequence[str]] | None = None
    allow_create_on_update: bool = False
    allow_unconditional_update: bool = True
    reset_fields: tuple[tuple[str, ...], ...] = ()  # paths that this (sub)resource's writers never own: (("status",),)
    rechecks_metadata: bool = True  # whether the kind checks the metadata of updates once more, and reports it twice
