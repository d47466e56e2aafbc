"""The uid beside the selectable fields of an object, for shard selectors (API Concepts, "The shardSelector field").

Each uid is another one, so it is beside the fields that many objects share. It takes memory only while the feature gate
is on.
"""

from __future__ import annotations

from typing import Any

from gateway.selectors.fields import UID_FIELD
from storage.entry import LabelsAndFields, LabelsAndFieldsOf, Texts


class UidFields:
    """The selectable fields of an object, and its uid."""

    __slots__ = ("_fields", "_uid")

    def __init__(self, uid: str, fields: Texts) -> None:
        self._uid, self._fields = uid, fields

    def get(self, field: str, default: str, /) -> str:
        """The value of a field, else the default."""
        return self._uid if field == UID_FIELD else self._fields.get(field, default)


def with_uid(labels_and_fields_of: LabelsAndFieldsOf) -> LabelsAndFieldsOf:
    """As the function, whose fields also have the uid."""

    def read(obj: dict[str, Any]) -> LabelsAndFields:
        found = labels_and_fields_of(obj)
        return LabelsAndFields(found.labels, UidFields(obj.get("metadata", {}).get("uid", ""), found.fields))

    return read
