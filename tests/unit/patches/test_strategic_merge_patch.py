"""Strategic merge patch: merging by the schema's keys, directives, order and the wording of errors."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gateway.http.status import StatusError
from gateway.patches import strategic_merge_patch
from gateway.schema.catalog import type_for

DEPLOYMENT = type_for("apps", "v1", "Deployment")


def deployment(**pod: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "d", "labels": {"a": "1", "b": "2"}, "finalizers": ["x/a", "x/b"]},
        "spec": {
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}},
            "template": {"spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}], **pod}},
        },
    }


def apply(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    before = copy.deepcopy(document)
    result = strategic_merge_patch.apply(document, patch, DEPLOYMENT)
    assert document == before
    return result


def pod_spec(patch: dict[str, Any], **pod: Any) -> dict[str, Any]:
    result = apply(deployment(**pod), {"spec": {"template": {"spec": patch}}})
    return result["spec"]["template"]["spec"]  # type: ignore[no-any-return]  # the dict's own values


def names(spec: dict[str, Any]) -> list[str]:
    return [container["name"] for container in spec["containers"]]


def test_items_are_merged_by_key_and_new_ones_go_first() -> None:
    spec = pod_spec({"containers": [{"name": "c", "image": "c:1"}, {"name": "b", "args": ["x"]}]})
    assert spec["containers"] == [
        {"name": "c", "image": "c:1"},
        {"name": "a", "image": "a:1"},
        {"name": "b", "image": "b:1", "args": ["x"]},
    ]


def test_a_list_without_merge_key_is_replaced() -> None:
    assert pod_spec({"tolerations": [{"key": "n"}]}, tolerations=[{"key": "o"}])["tolerations"] == [{"key": "n"}]


def test_scalars_are_merged_as_a_set() -> None:
    assert apply(deployment(), {"metadata": {"finalizers": ["x/c", "x/a"]}})["metadata"]["finalizers"] == [
        "x/c",
        "x/a",
        "x/b",
    ]


def test_delete_from_primitive_list() -> None:
    result = apply(deployment(), {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/a", "x/none"]}})
    assert result["metadata"]["finalizers"] == ["x/b"]


def test_delete_and_replace_directives() -> None:
    assert names(pod_spec({"containers": [{"name": "a", "$patch": "delete"}]})) == ["b"]
    assert names(pod_spec({"containers": [{"$patch": "replace"}, {"name": "c"}]})) == ["c"]
    assert apply(deployment(), {"metadata": {"labels": {"$patch": "replace", "c": "3"}}})["metadata"]["labels"] == {
        "c": "3"
    }
    assert apply(deployment(), {"metadata": {"labels": {"$patch": "delete"}}})["metadata"]["labels"] == {}


def test_null_removes_and_nulls_without_counterpart_vanish() -> None:
    labels = apply(deployment(), {"metadata": {"labels": {"a": None, "z": None}, "annotations": {"n": None}}})
    assert labels["metadata"]["labels"] == {"b": "2"}
    assert labels["metadata"]["annotations"] == {}


def test_retain_keys_clears_the_others() -> None:
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert apply(deployment(), patch)["spec"]["strategy"] == {"type": "Recreate"}


@pytest.mark.parametrize(
    ("patch", "order"),
    [
        ({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}, ["b", "a"]),
        (
            {
                "$setElementOrder/containers": [{"name": "n"}, {"name": "a"}, {"name": "b"}],
                "containers": [{"name": "n"}],
            },
            ["n", "a", "b"],
        ),
        ({"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "b"}]}, ["a", "b"]),
    ],
)
def test_set_element_order(patch: dict[str, Any], order: list[str]) -> None:
    assert names(pod_spec(patch)) == order


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        (
            {"metadata": {"labels": {"$patch": "merge", "d": "4"}}},
            500,
            "unknown patch type: merge in map: map[$patch:merge d:4]",
        ),
        (
            {"spec": {"template": {"spec": {"containers": [{"image": "i"}]}}}},
            500,
            "map: map[image:i] does not contain declared merge key: name",
        ),
        (
            {
                "spec": {
                    "template": {
                        "spec": {"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "a"}]}
                    }
                }
            },
            500,
            "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
        ),
        (
            {"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {"maxSurge": 1}}}},
            400,
            "invalid patch format of retainKeys",
        ),
        *(
            (
                {"spec": {"template": {"spec": {"$setElementOrder/containers": order, **change}}}},
                500,
                told,
            )
            for order, change, told in (
                (["a"], {}, "value for key 0 is not a map"),
                ([{"name": "a"}, None], {"containers": []}, "value for key 1 is not a map"),
                (
                    [{"name": "a"}, {"name": "b"}, "c"],
                    {},
                    "expected a map[string]interface {}, but received a string",
                ),
            )
        ),
        ({"metadata": {"$setElementOrder/finalizers": "x"}}, 500, "expected a []interface {}, but received a string"),
        (
            {"metadata": {"finalizers": ["x", 1]}},
            500,
            "list element types are not identical: [[x/a x/b] [x 1]]",
        ),
    ],
)
def test_patch_that_can_not_be_merged(patch: dict[str, Any], code: int, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        apply(deployment(), patch)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_untouched_parts_are_shared() -> None:
    document = deployment()
    result = apply(document, {"metadata": {"labels": {"z": "1"}}})
    assert result["spec"] is document["spec"]


def test_free_json_has_no_fields_to_merge() -> None:
    type_ = type_for("apps", "v1", "ControllerRevision")
    old = {"data": {"spec": {"template": {"a": 1}}}, "revision": 1}
    with pytest.raises(StatusError, match='unable to find api field in struct RawExtension for the json field "spec"'):
        strategic_merge_patch.apply(old, {"data": {"spec": {"template": []}}}, type_)
