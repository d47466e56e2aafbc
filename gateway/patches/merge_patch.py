"""JSON merge patch, RFC 7396."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.types import Type


def parse(body: bytes, strict: bool) -> tuple[Any, list[str]]:
    """Reads a patch document: its value, and the strict errors if `strict`; raises StatusError 400."""
    raise NotImplementedError


def apply(document: JsonObject, patch: Any, type_: Type) -> Any:
    """Returns `document` merged with `patch`, sharing what the patch left alone."""
    raise NotImplementedError
