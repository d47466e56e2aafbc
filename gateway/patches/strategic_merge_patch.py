"""Strategic merge patch: a merge patch that knows the merge keys and strategies of the schema."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.types import Type


def parse(body: bytes, strict: bool) -> tuple[Any, list[str]]:
    """Reads a patch document: its value, and the strict errors if `strict`; raises StatusError 400."""
    raise NotImplementedError


def apply(document: JsonObject, patch: Any, type_: Type) -> JsonObject:
    """Returns `document` merged with `patch`, sharing what the patch left alone; raises StatusError 400, 422 or 500."""
    raise NotImplementedError
