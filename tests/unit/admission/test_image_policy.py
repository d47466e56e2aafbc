"""ImagePolicyWebhook: an answer that is no ImageReview allows nothing."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.access.remote import RemoteError
from gateway.admission.plugins.image_policy import ImagePolicy
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
    with pytest.raises(RemoteError, match="the answer is no ImageReview"):
        await policy(status)._status({"containers": []})


@pytest.mark.parametrize(
    "status", [{"allowed": True}, {"allowed": None}, {"reason": None, "auditAnnotations": {"a": "b"}}]
)
async def test_what_is_one_is_taken(status: JsonObject) -> None:
    assert await policy(status)._status({"containers": []}) == status
