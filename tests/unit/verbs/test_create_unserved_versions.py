"""Bodies and patches with an apiVersion that Go's scheme knows, and no server serves any more."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http.status import StatusError
from tests.unit.verbs.conftest import Api

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MERGE = "application/merge-patch+json"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.mark.parametrize(
    ("path", "version", "kind"),
    [
        (DEPLOYMENTS, "apps/v1beta2", "Deployment"),
        (DEPLOYMENTS, "extensions/v1beta1", "Deployment"),
        ("/apis/networking.k8s.io/v1/namespaces/default/ingresses", "extensions/v1beta1", "Ingress"),
        ("/apis/events.k8s.io/v1/namespaces/default/events", "v1", "Event"),
        ("/apis/storage.k8s.io/v1/storageclasses", "storage.k8s.io/v1beta1", "StorageClass"),
    ],
)
async def test_an_older_version_is_read_and_is_not_the_expected_one(
    api: Api, path: str, version: str, kind: str
) -> None:
    with pytest.raises(StatusError) as caught:
        await api.send("POST", path, {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}})
    expected = path.split("/namespaces/")[0].removeprefix("/apis/").removesuffix("/storageclasses")
    why = f"the API version in the data ({version}) does not match the expected API version ({expected})"
    assert (caught.value.code, caught.value.message) == (400, why)


async def test_a_version_that_never_was_is_unknown(api: Api) -> None:
    with pytest.raises(StatusError, match='no kind "Deployment" is registered for version "apps/v9"'):
        await api.send("POST", DEPLOYMENTS, {"apiVersion": "apps/v9", "kind": "Deployment"})


async def test_a_kind_that_a_group_lost_is_no_other_kind(api: Api) -> None:
    body = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "p"}}
    text = r"converting \(v1beta1.PodDisruptionBudget\) to \(policy.Eviction\): unknown conversion"
    with pytest.raises(StatusError, match=text):
        await api.send("POST", f"{PODS}/p/eviction", body)


@pytest.mark.parametrize("version", ["policy/v1", "policy/v1beta1"])
async def test_evictions_are_taken_in_both_versions(api: Api, version: str) -> None:
    await api.send("POST", PODS, POD)
    body = {"apiVersion": version, "kind": "Eviction", "metadata": {"name": "p"}}
    code, _ = await api.send("POST", f"{PODS}/p/eviction", body)
    assert (code, b"/registry/pods/default/p" in api.store.objects) == (201, False)


async def test_what_is_wrong_with_an_eviction_names_its_version(api: Api) -> None:
    body: dict[str, Any] = {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "p"}, "x": 1}
    with pytest.raises(StatusError, match='Eviction in version "v1beta1" cannot be handled as a Eviction: strict'):
        await api.send("POST", f"{PODS}/p/eviction", body, query="fieldValidation=Strict")


async def test_a_patch_may_name_an_older_version(api: Api) -> None:
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]},
    }
    await api.send("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    code, seen = await api.send("PATCH", f"{DEPLOYMENTS}/d", {"apiVersion": "apps/v1beta2"}, MERGE)
    assert (code, seen["apiVersion"]) == (200, "apps/v1")
