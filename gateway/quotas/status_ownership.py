"""Managed fields of a quota's status: the API server owns the usage ("Server-Side Apply")."""

from __future__ import annotations

from collections.abc import Collection

from gateway.apply import update_managed
from gateway.jsontypes import JsonObject, loads
from gateway.schema.catalog import type_for

MANAGER = "kube-apiserver"


def own(new: JsonObject, old: bytes, names: Collection[str], now: str) -> None:
    """Makes kube-apiserver the field manager of these names in the `used` of `new`, in place.

    `old` is the stored JSON.
    """
    if is_owner(new["metadata"].get("managedFields") or (), names):
        return
    try:
        update_managed(
            new,
            loads(old),
            type_for("", "v1", "ResourceQuota"),
            manager=MANAGER,
            api_version="v1",
            subresource="status",
            now=now,
            reset=(("spec",),),
        )
    except ValueError:  # a manager's fields can't be parsed
        new["metadata"].pop("managedFields", None)


def is_owner(managers: Collection[JsonObject], names: Collection[str]) -> bool:
    """Whether kube-apiserver is the only field manager of all these names. True if there are no managedFields."""
    if not managers:
        return True
    owned = False
    for each in managers:
        used = ((each.get("fieldsV1") or {}).get("f:status") or {}).get("f:used") or {}
        has = sum(f"f:{name}" in used for name in names)
        if each.get("manager") == MANAGER and each.get("subresource") == "status" and each.get("operation") == "Update":
            owned = has == len(names)
        elif has:
            return False
    return owned
