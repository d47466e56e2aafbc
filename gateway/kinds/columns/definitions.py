"""Columns of CustomResourceDefinitions."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import CREATED_AT, NAME, NAME_AND_TIME, Cell, Column, Columns, name_and_time, part


def _definition(obj: JsonObject) -> list[Cell]:
    spec = part(obj, "spec")
    names, conditions = part(obj, "spec", "names"), part(obj, "status").get("conditions") or ()
    served = [
        each.get("name", "") + ("(storage)" if each.get("storage") else "")
        for each in spec.get("versions") or ()
        if each.get("served")
    ]
    name, time = name_and_time(obj)
    return [
        name,
        spec.get("scope", ""),
        ",".join(sorted(served)),
        time,
        spec.get("group", ""),
        names.get("kind", ""),
        ",".join(names.get("shortNames") or ()),
        any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions),
    ]


_KEY = ("apiextensions.k8s.io", "CustomResourceDefinition")
COLUMNS = {
    _KEY: Columns(
        (
            NAME,
            Column("Scope", description="Cluster/Namespaced"),
            Column("Versions", description="Served versions"),
            CREATED_AT,
            Column("Group", priority=1, description="API group"),
            Column("Kind", priority=1, description="CustomResource kind"),
            Column("ShortNames", priority=1, description="Short names"),
            Column("Established", type="boolean", priority=1, description="Established status"),
        ),
        _definition,
    )
}
BEFORE = {_KEY: ("DefinitionColumns", NAME_AND_TIME)}
"""By kind: the name of a change (gateway.release.changes), and the columns before it."""
