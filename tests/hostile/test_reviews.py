"""Access reviews, which every user may create, and impersonation of a user with very many groups and extras."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.jsontypes import JsonObject
from tests.hostile.probe import held_at_most, kept_at_most, memory_returns
from tests.hostile.test_bodies import send
from tests.hostile.wire import Wire

HELD = 0.1  # seconds that an authenticated client may delay others
AUTHORIZATION, AUTHENTICATION = "authorization.k8s.io", "authentication.k8s.io"
MANY = 100_000
USERS, GROUPS, LONG_GROUP = 1000, 470, 100
TOKEN = "/api/v1/namespaces/default/serviceaccounts/default/token"


def review(group: str, kind: str, spec: JsonObject) -> tuple[str, JsonObject]:
    body = {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}
    return f"/apis/{group}/v1/{kind.lower()}s", body


def access(**more: Any) -> tuple[str, JsonObject]:
    asked = {"verb": "get", "resource": "pods", **more.pop("asked", {})}
    return review(AUTHORIZATION, "SubjectAccessReview", {"user": "a", "resourceAttributes": asked, **more})


def requirement(number: int) -> JsonObject:
    return {"key": f"k{number}", "operator": "In", "values": ["a", "b"]}


WORDS = [f"w{number}" for number in range(MANY)]
REVIEWS = {
    "requirements": access(asked={"labelSelector": {"requirements": [requirement(i) for i in range(MANY // 5)]}}),
    "values": access(asked={"labelSelector": {"requirements": [{"key": "k", "operator": "In", "values": WORDS}]}}),
    "labels": access(asked={"labelSelector": {"rawSelector": ",".join(f"{word} in (b,c)" for word in WORDS)}}),
    "fields": access(asked={"fieldSelector": {"rawSelector": ",".join(f"metadata.name!={word}" for word in WORDS)}}),
    "groups": access(groups=WORDS),
    "extra": access(extra={word: ["a"] for word in WORDS[: MANY // 2]}),
    "a long name": access(user="\u200b" * 500_000),
    "a long namespace": review(AUTHORIZATION, "SelfSubjectRulesReview", {"namespace": "a" * 1_000_000}),
    "a long token": review(AUTHENTICATION, "TokenReview", {"token": "a." * 1_000_000}),
    "audiences": review(AUTHENTICATION, "TokenReview", {"token": "a", "audiences": WORDS}),
    "audiences of a token": (TOKEN, review(AUTHENTICATION, "TokenRequest", {"audiences": WORDS})[1]),
}


@pytest.mark.parametrize("name", REVIEWS)
def test_a_question_holds_nobody(server: ApiServer, name: str) -> None:
    path, body = REVIEWS[name]
    with held_at_most(server, HELD):
        status, text = send(server, "POST", path, body)
    assert status in (201, 422), text[:300]


@pytest.mark.parametrize("header", ["Impersonate-Group: g{}", "Impersonate-Extra-e{}: v", "Impersonate-Extra-e: v{}"])
@pytest.mark.parametrize("count", [1000, 20_000])
def test_hundreds_of_headers_of_impersonation_hold_nobody(server: ApiServer, header: str, count: int) -> None:
    """As many headers as the server reads; more are refused as too many."""
    with held_at_most(server, HELD), memory_returns(server, share=0.3), Wire(server) as wire:
        wire.request(
            "GET /api/v1/namespaces/default", "Impersonate-User: alice", *(header.format(i) for i in range(count))
        )
        assert wire.reply().status == (403 if count == 1000 else 400)


def test_users_with_many_groups_are_not_kept(server: ApiServer) -> None:
    """The caches of flow control, of RBAC and of impersonation are bounded in bytes, not in users."""
    groups = [f"Impersonate-Group: {number}{'g' * LONG_GROUP}" for number in range(GROUPS)]
    with held_at_most(server, HELD), kept_at_most(server, USERS * GROUPS * LONG_GROUP, times=0), Wire(server) as wire:
        for number in range(USERS):
            wire.request("GET /api/v1/namespaces/default", f"Impersonate-User: user-{number}", *groups)
            assert wire.reply().status == 403
