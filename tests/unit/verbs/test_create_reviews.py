"""Access reviews: which are valid, and that answers have their kind."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http.status import StatusError
from tests.unit.verbs.conftest import Api

GROUP = "/apis/authorization.k8s.io/v1"
PATH = {"path": "/version", "verb": "get"}


async def fields_refused(api: Api, path: str, review: dict[str, Any]) -> list[str]:
    with pytest.raises(StatusError) as caught:
        await api.send("POST", path, review)
    assert caught.value.code == 422 and caught.value.details is not None
    return [cause["field"] for cause in caught.value.details["causes"]]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (f"{GROUP}/subjectaccessreviews", "SubjectAccessReview"),
        (f"{GROUP}/namespaces/default/localsubjectaccessreviews", "LocalSubjectAccessReview"),
        (f"{GROUP}/selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    ],
)
async def test_an_answer_names_its_kind_though_the_question_does_not(api: Api, path: str, kind: str) -> None:
    attributes = {"verb": "get", "resource": "pods", "namespace": "default"}
    user = {} if kind.startswith("Self") else {"user": "ada"}
    code, answer = await api.send("POST", path, {"spec": {"resourceAttributes": attributes, **user}})
    assert (code, list(answer)[:2]) == (201, ["kind", "apiVersion"])
    assert (answer["kind"], answer["apiVersion"]) == (kind, "authorization.k8s.io/v1")
    assert isinstance(answer["status"]["allowed"], bool)


async def test_extra_without_values_is_no_fault(api: Api) -> None:
    spec = {"user": "ada", "extra": {"k": None}, "resourceAttributes": {"verb": "get", "resource": "pods"}}
    code, answer = await api.send("POST", f"{GROUP}/subjectaccessreviews", {"spec": spec})
    assert (code, answer["spec"]["extra"]) == (201, {"k": None})


@pytest.mark.parametrize(
    ("minor", "none", "two"),
    [
        ("1.36", ["spec.resourceAttributes"], ["spec.nonResourceAttributes"]),
        ("1.37", ["spec"], ["spec"]),
    ],
)
async def test_all_that_is_wrong_with_a_question_is_said(minor: str, none: list[str], two: list[str]) -> None:
    api = Api(minor)
    named = {"metadata": {"name": "x"}, "spec": {}}
    found = await fields_refused(api, f"{GROUP}/subjectaccessreviews", named)
    assert found == [*none, "spec.user", "metadata"]
    both = {"spec": {"resourceAttributes": {}, "nonResourceAttributes": PATH}}
    found = await fields_refused(api, f"{GROUP}/selfsubjectaccessreviews", both)
    assert found == two


async def test_a_local_question_stays_in_its_namespace(api: Api) -> None:
    path = f"{GROUP}/namespaces/default/localsubjectaccessreviews"
    elsewhere = {"spec": {"user": "ada", "resourceAttributes": {"namespace": "other"}}}
    assert await fields_refused(api, path, elsewhere) == ["spec.resourceAttributes.namespace"]
    no_resource = {"spec": {"user": "ada", "nonResourceAttributes": PATH}}
    assert await fields_refused(api, path, no_resource) == ["spec.nonResourceAttributes"]


@pytest.mark.parametrize(
    ("selectors", "fields"),
    [
        ({"fieldSelector": {}}, ["fieldSelector.requirements"]),
        (
            {"labelSelector": {"rawSelector": "a", "requirements": [{"key": "-", "operator": "In"}]}},
            ["labelSelector.rawSelector", "labelSelector.requirements[0].values", "labelSelector.requirements[0].key"],
        ),
        (
            {
                "fieldSelector": {
                    "requirements": [{"operator": "Exists", "values": ["x"]}, {"key": "a", "operator": "?"}]
                }
            },
            ["fieldSelector.requirements[0].key", "fieldSelector.requirements[0].values"],
        ),
    ],
)
async def test_selectors_of_a_question(api: Api, selectors: dict[str, Any], fields: list[str]) -> None:
    found = await fields_refused(api, f"{GROUP}/selfsubjectaccessreviews", {"spec": {"resourceAttributes": selectors}})
    assert [field for field in found if "name part" not in field] == [f"spec.resourceAttributes.{f}" for f in fields]
