"""What an apply is told whose result is nothing in the version of another manager."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apply import server_side_apply
from gateway.customresources.schema_type import object_type
from gateway.http.status import StatusError

OWNED = {
    "manager": "other", "operation": "Update", "apiVersion": "e.com/v1", "time": "then", "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {"f:a": {}}},
}  # fmt: skip


@pytest.mark.parametrize("which", ["old", "new"])
def test_the_object_that_does_not_convert_is_named(which: str) -> None:
    type_ = object_type({"type": "object", "properties": {"spec": {"type": "object"}}}, "Thing")
    live = {"apiVersion": "e.com/v2", "kind": "Thing", "metadata": {"name": "a", "managedFields": [OWNED]}}
    config = {"apiVersion": "e.com/v2", "kind": "Thing", "metadata": {"name": "a"}, "spec": {}}

    def convert(obj: dict[str, Any], version: str) -> Any:
        if ("spec" in obj) is (which == "new"):
            raise ValueError(".spec: field not declared in schema")
        return obj, type_

    with pytest.raises(StatusError) as raised:
        server_side_apply(
            live, config, type_, manager="m", force=True, api_version="e.com/v2", now="now", convert=convert
        )
    told = ("failed to convert new object: " if which == "new" else "") + ".spec: field not declared in schema"
    assert (raised.value.code, raised.value.message) == (500, told)
