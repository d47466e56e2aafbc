"""Writes of objects with free-form JSON whose keys are not sorted."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http.status import StatusError
from tests.unit.verbs.conftest import Api

MERGE, STRATEGIC, APPLY = (
    "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml"
)  # fmt: skip
UNSORTED, SORTED = {"b": 1, "a": 2}, {"a": 2, "b": 1}
LABELS: dict[str, Any] = {"metadata": {"labels": {"l": "1"}}}


def revision(data: Any) -> dict[str, Any]:
    return {"metadata": {"name": "it"}, "revision": 1, "data": data}


def configured(parameters: Any) -> list[Any]:
    return [{"opaque": {"driver": "d.io", "parameters": parameters}}]


def claim(parameters: Any) -> dict[str, Any]:
    requests = [{"name": "r", "exactly": {"deviceClassName": "c"}}]
    devices = {"requests": requests, "config": configured(parameters)}
    return {"metadata": {"name": "it"}, "spec": {"devices": devices}}


REVISIONS = ("/apis/apps/v1/namespaces/default/controllerrevisions", "apps/v1", "ControllerRevision", revision)
CLAIMS = ("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", "resource.k8s.io/v1", "ResourceClaim", claim)


async def patched(api: Api, path: str, media_type: str, api_version: str, kind: str) -> int:
    body = {"apiVersion": api_version, "kind": kind, **LABELS} if media_type == APPLY else LABELS
    query = "fieldManager=m" if media_type == APPLY else ""
    try:
        code, _ = await api.send("PATCH", f"{path}/it", body, query=query, content_type=media_type)
    except StatusError as error:
        return error.code
    return code


@pytest.mark.parametrize(("path", "api_version", "kind", "make"), [REVISIONS, CLAIMS])
@pytest.mark.parametrize(("media_type", "code"), [(MERGE, 200), (STRATEGIC, 422), (APPLY, 422)])
async def test_patches_that_write_it_anew_change_what_is_immutable(
    api: Api, path: str, api_version: str, kind: str, make: Any, media_type: str, code: int
) -> None:
    await api.send("POST", path, make(UNSORTED))
    assert await patched(api, path, media_type, api_version, kind) == code


@pytest.mark.parametrize(("path", "api_version", "kind", "make"), [REVISIONS, CLAIMS])
@pytest.mark.parametrize("media_type", [MERGE, STRATEGIC, APPLY])
async def test_what_is_in_order_stays_as_it_is(
    api: Api, path: str, api_version: str, kind: str, make: Any, media_type: str
) -> None:
    await api.send("POST", path, make(SORTED))
    assert await patched(api, path, media_type, api_version, kind) == 200


async def test_an_update_that_writes_it_otherwise_changes_it(api: Api) -> None:
    path = "/apis/resource.k8s.io/v1/deviceclasses"

    def device_class(parameters: Any) -> dict[str, Any]:
        return {"metadata": {"name": "it"}, "spec": {"config": configured(parameters)}}

    await api.send("POST", path, device_class(UNSORTED))
    generations = []
    for parameters in (UNSORTED, SORTED, SORTED):
        _, answer = await api.send("PUT", f"{path}/it", device_class(parameters))
        generations.append(answer["metadata"]["generation"])
    assert generations == [1, 2, 2]
