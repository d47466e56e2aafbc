"""Errors of subresources for invalid requests, with kube-apiserver's messages."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http.status import StatusError
from gateway.jsontypes import loads
from tests.unit.verbs.conftest import Api

CORE = "/api/v1/namespaces/default"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def refused(answer: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        await answer
    return caught.value


@pytest.mark.parametrize(("query", "key"), [("", "/registry/pods/default/p"), ("dryRun=All", "/pods/default/p")])
async def test_a_binding_for_another_pod_of_that_name(api: Api, query: str, key: str) -> None:
    _, pod = await api.send("POST", f"{CORE}/pods", POD)
    binding = {"metadata": {"name": "p", "uid": "other"}, "target": {"kind": "Node", "name": "n"}}
    error = await refused(api.send("POST", f"{CORE}/pods/p/binding", binding, query=query))
    assert error.code == 409
    assert error.message == (
        f'Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, Key: {key}, '
        "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, "
        f"UID in object meta: {pod['metadata']['uid']}"
    )


async def test_a_token_is_asked_for_in_the_account_s_namespace(api: Api) -> None:
    await api.send("POST", f"{CORE}/serviceaccounts", {"metadata": {"name": "a"}})
    error = await refused(api.send("POST", f"{CORE}/serviceaccounts/a/token", {"metadata": {"namespace": "other"}}))
    text = "the namespace of the provided object does not match the namespace sent on the request"
    assert (error.code, error.message) == (400, text)


async def test_a_scale_that_nobody_owns_shows_no_managers(api: Api) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    await api.send("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    await api.send("PATCH", f"{DEPLOYMENTS}/d", {"metadata": {"managedFields": []}}, MERGE)
    error = await refused(api.send("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": "5"}}, MERGE))
    assert "cannot unmarshal string" in error.message
    assert "managedFields" not in error.message


async def test_what_an_applied_value_cannot_be_read_as_names_the_configuration(api: Api) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    await api.send("PATCH", f"{CORE}/secrets/s", secret | {"data": {"a": "YQ=="}}, APPLY, "fieldManager=m")
    error = await refused(
        api.send("PATCH", f"{CORE}/secrets/s", secret | {"data": {"a": "*"}}, APPLY, "fieldManager=m")
    )
    assert error.message.startswith("failed to convert new object (/s; /v1, Kind=Secret) to proper version: ")


@pytest.mark.parametrize(
    ("minor", "words"),
    [
        ("1.36", "error decoding YAML: error converting YAML to JSON: yaml: "),
        ("1.37", "error encoding patch: yaml: "),
    ],
)
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"a: b: c", "mapping values are not allowed in this context"),
        (b"%YAML 1.2\n---\na: b", "found incompatible YAML document"),
    ],
)
async def test_what_is_applied_and_no_yaml(minor: str, words: str, text: bytes, why: str) -> None:
    error = await refused(Api(minor).send("PATCH", f"{CORE}/configmaps/c", text, APPLY, "fieldManager=m"))
    assert error.message == words + why


async def test_an_external_name_shows_no_internal_traffic_policy(api: Api) -> None:
    path, external = f"{CORE}/services", {"type": "ExternalName", "externalName": "x.example"}
    for name, spec in (("made", external), ("changed", {"clusterIP": "None", "ports": [{"port": 80}]})):
        spec = spec | {"internalTrafficPolicy": "Cluster"}
        await api.send("POST", path, {"metadata": {"name": name}, "spec": spec})
    await api.send("PATCH", f"{path}/changed", {"spec": external | {"clusterIP": None, "clusterIPs": None}}, MERGE)
    for name in ("made", "changed"):
        stored = loads(api.store.objects[f"/registry/services/specs/default/{name}".encode()].value)
        assert stored["spec"]["type"] == "ExternalName"
        assert "internalTrafficPolicy" not in stored["spec"]
    error = await refused(
        api.send("POST", path, {"metadata": {"name": "x"}, "spec": external | {"internalTrafficPolicy": "Bad"}})
    )
    assert "spec.internalTrafficPolicy" in error.message


async def test_of_two_entries_of_a_manager_the_last_counts(api: Api) -> None:
    """A patch of a Scale that changes nothing leaves two entries. The one without a time comes first, and is
    dropped.
    """
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    await api.send("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    await api.send("PATCH", f"{DEPLOYMENTS}/d/scale", {}, MERGE)
    stored = loads(api.store.objects[b"/registry/deployments/default/d"].value)
    assert [sorted(entry["fieldsV1"]["f:spec"])[:2] for entry in stored["metadata"]["managedFields"]] == [
        ["f:replicas"],
        ["f:progressDeadlineSeconds", "f:revisionHistoryLimit"],
    ]
    _, seen = await api.send("PATCH", f"{DEPLOYMENTS}/d", {"metadata": {"labels": {"l": "v"}}}, MERGE)
    (entry,) = seen["metadata"]["managedFields"]
    assert "f:selector" in entry["fieldsV1"]["f:spec"]
    assert "f:replicas" not in entry["fieldsV1"]["f:spec"]
