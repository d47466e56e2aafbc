"""Server-side apply: merges an applied configuration into the live object (API Concepts, "Server Side Apply")."""

from __future__ import annotations

from gateway.apply.managed_fields import Convert
from gateway.jsontypes import JsonObject
from gateway.schema.types import Type


def server_side_apply(
    live: JsonObject | None,
    config: JsonObject,
    type_: Type,
    *,
    manager: str,
    force: bool,
    api_version: str,
    subresource: str = "",
    now: str,
    reset: tuple[tuple[str, ...], ...] = (),
    convert: Convert | None = None,
) -> JsonObject:
    """Returns the merged object with its managedFields; raises StatusError (400, 409 conflicts, 500 as kube-apiserver).

    The result still has to be decoded and defaulted. When the apply changes nothing, the live object itself is returned.
    """
    raise NotImplementedError
