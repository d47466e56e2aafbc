"""The 422 for a patch whose result is no valid object of its kind: the text that it quotes is the patched document."""

from __future__ import annotations

from typing import Any

from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject
from gateway.schema.types import Type


def undecodable(document: JsonObject, result: Any, type_: Type, message: str) -> StatusError:
    """For JSON and merge patches: `result` of patching `document` did not decode, with `message`."""
    raise NotImplementedError


def unconvertible(patch: Any, result: JsonObject, type_: Type, message: str) -> StatusError:
    """For strategic merge patches; `message` (JSON decoding's) is replaced by the converter's own wording."""
    raise NotImplementedError
