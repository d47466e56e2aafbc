"""ImagePolicyWebhook: an answer that is not an ImageReview allows nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.access.remote import RemoteError
from gateway.admission.plugins.image_policy import ImagePolicy, _specification
from gateway.admission.record import Admission
from gateway.jsontypes import JsonObject


class Service:
    """What is asked; it always says the same."""

    def __init__(self, status: Any) -> None:
        self._status = status

    async def ask(self, review: JsonObject) -> JsonObject:
        return {"kind": "ImageReview", "status": self._status}


def policy(status: Any) -> ImagePolicy:
    return ImagePolicy(Service(status), 30, 30, False)  # type: ignore[arg-type]  # it has what is used of one


@pytest.mark.parametrize(
    "status",
    [
        {"allowed": "false"},
        {"allowed": 1},
        {"allowed": {}},
        {"allowed": True, "reason": 1},
        {"allowed": True, "auditAnnotations": []},
        {"allowed": True, "auditAnnotations": {"a": {"b": 1}}},
        [True],
        "allowed",
    ],
)
async def test_what_is_no_status_is_an_error_of_the_service(status: Any) -> None:
    with pytest.raises(RemoteError, match="the answer is not an ImageReview"):
        await policy(status)._status({"containers": []})


@pytest.mark.parametrize(
    "status", [{"allowed": True}, {"allowed": None}, {"reason": None, "auditAnnotations": {"a": "b"}}]
)
async def test_what_is_one_is_taken(status: JsonObject) -> None:
    assert await policy(status)._status({"containers": []}) == status


def test_the_service_is_told_of_annotations_that_are_for_it() -> None:
    """Of all others it learns nothing."""
    mine = {"a.image-policy.k8s.io/x": "3", "b.image-policy.k8s.io/break-glass": "1"}
    containers = {"containers": [{"image": "a"}, {}], "initContainers": [{"image": "b"}]}
    pod: JsonObject = {
        "metadata": {"annotations": {"secret": "2", **mine}},
        "spec": {**containers, "ephemeralContainers": [{"image": "c"}]},
    }
    own, ephemeral = (cast(Admission, SimpleNamespace(subresource=each, namespace="n")) for each in ("", "x"))
    images = [{"image": "a"}, {"image": ""}, {"image": "b"}]
    assert _specification(own, pod) == {"containers": images, "annotations": mine, "namespace": "n"}
    assert _specification(ephemeral, pod)["containers"] == [{"image": "c"}]
    pod["metadata"] = {"annotations": {"secret": "2"}}
    assert "annotations" not in _specification(own, pod)
