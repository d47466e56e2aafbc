"""JSON patch, RFC 6902, with the dialect and the limits that kube-apiserver has."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.types import Type


def parse(body: bytes, strict: bool) -> tuple[Any, list[str]]:
    """Reads a patch document once: the operations, and the strict errors (duplicate and unknown fields) if `strict`.

    Raises StatusError 400 (not a patch document) or 413 (more than 10 000 operations). `strict` is fieldValidation
    other than Ignore.
    """
    raise NotImplementedError


def apply(document: JsonObject, patch: Any, type_: Type) -> Any:
    """Returns `document` with the operations applied, sharing what they left alone; raises StatusError 422."""
    raise NotImplementedError
