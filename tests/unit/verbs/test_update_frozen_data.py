"""Immutable Secrets and ConfigMaps: the data is compared as it was sent, before it is stored. So null and {} are
changes.
"""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http.status import StatusError
from tests.unit.verbs.conftest import Api

MERGE, STRATEGIC, JSON_PATCH, APPLY = (
    "application/merge-patch+json", "application/strategic-merge-patch+json",
    "application/json-patch+json", "application/apply-patch+yaml",
)  # fmt: skip
PUT = "application/json"
SECRET, CONFIG = ("secrets", "Secret", "data"), ("configmaps", "ConfigMap", "binaryData")
MEMBERS: dict[str, Any] = {"absent": None, "no": {}, "empty": {"a": ""}, "null": {"a": None}}


async def code_of(api: Api, kind: tuple[str, str, str], before: str, media_type: str, sent: dict[str, Any]) -> int:
    plural, name, member = kind
    path = f"/api/v1/namespaces/default/{plural}"
    body = {"apiVersion": "v1", "kind": name, "metadata": {"name": "it"}, "immutable": True}
    await api.send("POST", path, {**body, member: MEMBERS[before]})
    change: Any = {**body, **sent}
    if media_type == JSON_PATCH:
        change = [{"op": "add", "path": f"/{key}", "value": value} for key, value in sent.items()]
    query = "fieldManager=m&force=true" if media_type == APPLY else ""
    method = "PUT" if media_type == PUT else "PATCH"
    try:
        code, _ = await api.send(method, f"{path}/it", change, query=query, content_type=media_type)
    except StatusError as error:
        assert f"{member}: Forbidden: field is immutable when `immutable` is set" in error.message
        return error.code
    return code


@pytest.mark.parametrize("kind", [SECRET, CONFIG], ids=["secret", "configmap"])
@pytest.mark.parametrize(
    ("before", "sent", "media_type", "code"),
    [
        *(("empty", "null", media_type, 422) for media_type in (PUT, JSON_PATCH, APPLY)),
        *(("empty", "empty", media_type, 200) for media_type in (PUT, JSON_PATCH, APPLY, MERGE, STRATEGIC)),
        *(("absent", "no", media_type, 422) for media_type in (PUT, JSON_PATCH, APPLY, MERGE, STRATEGIC)),
        *(("absent", "absent", media_type, 200) for media_type in (PUT, JSON_PATCH, MERGE, STRATEGIC)),
        *(("absent", "null", media_type, 422) for media_type in (MERGE, STRATEGIC)),  # which makes an empty map
    ],
)
async def test_null_and_empty_are_changes(
    api: Api, kind: tuple[str, str, str], before: str, sent: str, media_type: str, code: int
) -> None:
    assert await code_of(api, kind, before, media_type, {kind[2]: MEMBERS[sent]}) == code


@pytest.mark.parametrize("media_type", [PUT, MERGE])
async def test_strings_stand_for_the_bytes_of_their_key(api: Api, media_type: str) -> None:
    sent = {"data": {"a": None}, "stringData": {"a": ""}}
    assert await code_of(api, SECRET, "empty", media_type, sent) == 200
