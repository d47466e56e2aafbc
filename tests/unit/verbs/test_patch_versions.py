"""Patches that change the apiVersion: the result is decoded and defaulted in that version, then converted."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http.status import StatusError
from tests.unit.verbs.conftest import Api

V1, V2 = (f"/apis/autoscaling/{each}/namespaces/default/horizontalpodautoscalers" for each in ("v1", "v2"))
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
TARGET = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
MEMORY = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 7}},
}


async def made(api: Api) -> None:
    spec: dict[str, Any] = {"maxReplicas": 3, "scaleTargetRef": TARGET, "metrics": [MEMORY]}
    await api.send("POST", V2, {"metadata": {"name": "h"}, "spec": spec})


async def test_what_the_older_version_does_not_know_is_lost_with_a_warning(api: Api) -> None:
    await made(api)
    patch = {"apiVersion": "autoscaling/v1", "spec": {"maxReplicas": 4, "bogus": 1}}
    code, now = await api.send("PATCH", f"{V2}/h", patch, MERGE)
    assert (code, now["apiVersion"], now["spec"]["maxReplicas"]) == (200, "autoscaling/v2", 4)
    assert [each["resource"]["name"] for each in now["spec"]["metrics"]] == ["cpu"]  # the default
    assert api.warnings == [
        f'unknown field "{name}"' for name in ("spec.bogus", "spec.metrics", "status.currentMetrics")
    ]


async def test_the_newer_version_s_fields_are_taken(api: Api) -> None:
    await made(api)
    patch = [
        {"op": "replace", "path": "/apiVersion", "value": "autoscaling/v2"},
        {"op": "add", "path": "/spec/metrics", "value": [MEMORY]},
        {"op": "replace", "path": "/spec/maxReplicas", "value": 9},
    ]
    code, now = await api.send("PATCH", f"{V1}/h", patch, JSON_PATCH)
    assert (code, now["apiVersion"], now["spec"]["maxReplicas"]) == (200, "autoscaling/v1", 9)
    _, now = await api.send("PATCH", f"{V2}/h", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    assert now["spec"]["metrics"] == [MEMORY]


async def test_strictly_what_is_unknown_there_is_refused(api: Api) -> None:
    await made(api)
    patch = {"apiVersion": "autoscaling/v1", "spec": {"maxReplicas": 4}}
    with pytest.raises(StatusError) as caught:
        await api.send("PATCH", f"{V2}/h", patch, MERGE, "fieldValidation=Strict")
    words = 'strict decoding error: unknown field "spec.metrics", unknown field "status.currentMetrics"'
    assert (caught.value.code, caught.value.message.endswith(words)) == (422, True)


async def test_in_go_s_own_version_nothing_is_known(api: Api) -> None:
    await made(api)
    with pytest.raises(StatusError, match=r"the name of the object .h based on URL. was undeterminable"):
        await api.send("PATCH", f"{V2}/h", {"apiVersion": "autoscaling/__internal"}, MERGE)


async def test_of_names_that_differ_by_case_alone_the_last_one_in_order_counts(api: Api) -> None:
    await made(api)
    added = {"/Apiversion": "x", "/kinD": "HorizontalPodAutoscaler"}
    patch = [{"op": "add", "path": path, "value": value} for path, value in added.items()]
    code, _ = await api.send("PATCH", f"{V2}/h", patch, JSON_PATCH)
    assert (code, api.warnings) == (200, ['unknown field "Apiversion"', 'unknown field "kinD"'])


@pytest.mark.parametrize("key", ["kind", "apiVersion"])
@pytest.mark.parametrize("value", [1, True, ["x"], {"a": 1}])
async def test_a_kind_or_version_that_is_no_text_is_refused(api: Api, key: str, value: object) -> None:
    await made(api)
    for patch, media_type in (({key: value}, MERGE), ([{"op": "add", "path": f"/{key}", "value": value}], JSON_PATCH)):
        with pytest.raises(
            StatusError, match=rf"parse error: json: cannot unmarshal .*\.{key} of type string"
        ) as caught:
            await api.send("PATCH", f"{V2}/h", patch, media_type)
        assert caught.value.code == 422


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        ({"kind": "Pod", "spec": {"maxReplicas": "x"}}, 'no kind "Pod" is registered for version "autoscaling/v2"'),
        ({"apiVersion": "autoscaling/v9", "spec": {"maxReplicas": "x"}}, 'is registered for version "autoscaling/v9"'),
        ({"apiVersion": "autoscaling/v1", "spec": {"minReplicas": [], "maxReplicas": {}}}, "cannot unmarshal object"),
        ({"spec": {"maxReplicas": "x"}}, "json: cannot unmarshal string into Go struct field"),
    ],
)
async def test_what_is_no_object_of_the_kind_is_told_before_wrong_values(api: Api, patch: Any, told: str) -> None:
    await made(api)
    with pytest.raises(StatusError) as caught:
        await api.send("PATCH", f"{V2}/h", patch, MERGE, "fieldValidation=Ignore")
    assert (caught.value.code, told in caught.value.message) == (422, True), caught.value.message
