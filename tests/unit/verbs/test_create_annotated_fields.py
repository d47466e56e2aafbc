"""Annotations that are numbers in Go's internal types: others are refused, and status writes keep them."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http.status import StatusError
from tests.unit.verbs.conftest import Api

APPS = "/apis/apps/v1/namespaces/default"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
GENERATION, ROLLBACK = "deprecated.daemonset.template.generation", "deprecated.deployment.rollback.to"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SPEC = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
NO_NUMBER = 'strconv.ParseInt: parsing "1:1": invalid syntax'


def workload(kind: str, **annotations: str) -> dict[str, Any]:
    head = {"apiVersion": "apps/v1", "kind": kind}
    return head | {"metadata": {"name": "w", "annotations": annotations}, "spec": SPEC}


@pytest.mark.parametrize(("given", "kept"), [("+007", "7"), ("-5", "1")])
async def test_a_generation_is_written_as_go_does(api: Api, given: str, kept: str) -> None:
    _, made = await api.send("POST", f"{APPS}/daemonsets", workload("DaemonSet", **{GENERATION: given}))
    assert made["metadata"]["annotations"] == {GENERATION: kept}


async def test_a_create_with_no_number_is_refused_before_unknown_fields_are(api: Api) -> None:
    body = workload("DaemonSet", **{GENERATION: "1:1"}) | {"bogus": 1}
    with pytest.raises(StatusError) as caught:
        await api.send("POST", f"{APPS}/daemonsets", body, query="fieldValidation=Strict")
    words = f'DaemonSet in version "v1" cannot be handled as a DaemonSet: {NO_NUMBER}'
    assert (caught.value.code, caught.value.message) == (400, words)


@pytest.mark.parametrize(
    ("media_type", "code", "words"),
    [
        (MERGE, 422, NO_NUMBER),
        (STRATEGIC, 500, NO_NUMBER),
        (APPLY, 500, f"failed to convert to unversioned (/w; apps/v1, Kind=DaemonSet): {NO_NUMBER}"),
    ],
)
async def test_a_patch_to_no_number_is_refused(api: Api, media_type: str, code: int, words: str) -> None:
    await api.send("POST", f"{APPS}/daemonsets", workload("DaemonSet"))
    meta = {"name": "w", "annotations": {GENERATION: "1:1"}}
    patch = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta}
    with pytest.raises(StatusError) as caught:
        await api.send(
            "PATCH", f"{APPS}/daemonsets/w", patch, media_type, "fieldManager=m&force=true" * (media_type == APPLY)
        )
    assert (caught.value.code, caught.value.message.endswith(words)) == (code, True)


async def test_the_status_leaves_them_alone(api: Api) -> None:
    await api.send("POST", f"{APPS}/daemonsets", workload("DaemonSet"))
    for text in ("5", None):
        patch = {"metadata": {"annotations": {GENERATION: text, "x": "y"}}}
        _, now = await api.send("PATCH", f"{APPS}/daemonsets/w/status", patch, MERGE)
        assert now["metadata"]["annotations"] == {GENERATION: "1", "x": "y"}
    await api.send("POST", f"{APPS}/deployments", workload("Deployment", **{ROLLBACK: "+7"}))
    for text in ("9", None):
        patch = {"metadata": {"annotations": {ROLLBACK: text}}}
        _, now = await api.send("PATCH", f"{APPS}/deployments/w/status", patch, MERGE)
        assert now["metadata"]["annotations"] == {ROLLBACK: "7"}


async def test_a_revision_to_go_back_to_is_no_negative_number(api: Api) -> None:
    with pytest.raises(StatusError) as caught:
        await api.send("POST", f"{APPS}/deployments", workload("Deployment", **{ROLLBACK: "-5"}))
    assert (caught.value.code, "spec.rollback.version: Invalid value: -5" in caught.value.message) == (422, True)
    with pytest.raises(StatusError) as caught:
        await api.send("POST", f"{APPS}/deployments", workload("Deployment", **{ROLLBACK: "x"}))
    words = f'failed to parse annotation[{ROLLBACK}]=x as int64: strconv.ParseInt: parsing "x": invalid syntax'
    assert (caught.value.code, caught.value.message.endswith(words)) == (400, True)


async def test_no_revision_is_no_annotation(api: Api) -> None:
    _, made = await api.send("POST", f"{APPS}/deployments", workload("Deployment", **{ROLLBACK: ""}))
    assert "annotations" not in made["metadata"]
