"""Token and authorization webhooks are asked only about requests that match the conditions, and answers are cached."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.access.conftest import World, authorization
from tests.until import until


@pytest.fixture(autouse=True)
def unheard(world: World) -> Iterator[None]:
    """Resets the answers to those of the start, and clears the recorded requests."""
    before = dict(world.strangers.answers)
    world.strangers.asked.clear()
    yield
    world.strangers.answers = before


def secrets(namespace: str, query: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/secrets{query}"


def test_a_token_is_asked_about_once(world: World) -> None:
    user = {"username": "zoe", "uid": "9", "groups": ["people"], "extra": {"a": ["b"]}}
    world.strangers.answers["/who"] = lambda review: {"authenticated": True, "user": user}
    expected = {**user, "groups": ["people", "system:authenticated"]}
    assert world.who("opaque-1") == expected == world.who("opaque-1")
    [review] = world.strangers.asked["/who"]
    assert (review["apiVersion"], review["spec"]["token"]) == ("authentication.k8s.io/v1", "opaque-1")
    assert review["spec"]["audiences"] == ["https://kubernetes.default.svc.cluster.local"]


def test_tokens_of_others_are_refused(world: World) -> None:
    assert world.who("opaque-2") == "Unauthorized"
    world.strangers.answers["/who"] = lambda review: {"authenticated": False, "error": "revoked"}
    assert "revoked" in world.review("opaque-3")["error"]
    user = {"username": "zoe"}
    world.strangers.answers["/who"] = lambda review: {"authenticated": True, "user": user, "audiences": ["other"]}
    assert world.who("opaque-4") == "Unauthorized"


def test_what_the_service_could_not_tell_is_not_remembered(world: World) -> None:
    world.strangers.answers["/who"] = lambda review: {"authenticated": False, "error": "the database is away"}
    assert world.who("opaque-5") == "Unauthorized"
    world.strangers.answers["/who"] = lambda review: {"authenticated": True, "user": {"username": "wendy"}}
    assert world.who("opaque-5")["username"] == "wendy"


def test_a_decider_is_asked_where_the_conditions_hold(world: World) -> None:
    world.strangers.answers["/decide"] = lambda review: {"allowed": True}
    assert world.get(secrets("unasked"), "ada-token").status == 403
    assert "/decide" not in world.strangers.asked
    assert world.get(secrets("asked", "?labelSelector=a%3Db&fieldSelector=type%3DOpaque"), "ada-token").status == 200
    [review] = world.strangers.asked["/decide"]
    assert review["spec"]["user"] == "ada"
    assert review["spec"]["resourceAttributes"] == {
        "namespace": "asked",
        "verb": "list",
        "version": "v1",
        "resource": "secrets",
        "fieldSelector": {"requirements": [{"key": "type", "operator": "In", "values": ["Opaque"]}]},
        "labelSelector": {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]},
    }


def counted(world: World, family: str) -> float:
    """The number of a family of metrics for the webhook of the configuration, 0 if there is none."""
    start = f'apiserver_authorization_match_condition_{family}{{name="stranger",type="Webhook"}} '
    lines = world.get("/metrics").body.decode().splitlines()
    return sum(float(line.removeprefix(start)) for line in lines if line.startswith(start))


def test_evaluations_of_conditions_are_counted_by_result(world: World) -> None:
    families = "evaluation_seconds_count", "exclusions_total", "evaluation_errors_total"
    for path, expected in (
        (secrets("asked", "/counted"), (1, 0, 0)),
        (secrets("unasked"), (1, 1, 0)),
        ("/version/none", (1, 1, 0)),
    ):
        before = [counted(world, family) for family in families]
        world.get(path, "ada-token")
        after = [counted(world, family) for family in families]
        assert tuple(new - old for new, old in zip(after, before, strict=True)) == expected


def test_a_decision_is_remembered_by_all_that_was_asked(world: World) -> None:
    world.strangers.answers["/decide"] = lambda review: {"allowed": True}
    for _ in range(2):
        assert world.get(secrets("asked", "/a"), "ada-token").status == 404
    assert world.get(secrets("asked", "/b"), "ada-token").status == 404
    assert [each["spec"]["resourceAttributes"]["name"] for each in world.strangers.asked["/decide"]] == ["a", "b"]


def test_a_denial_is_final_and_said(world: World) -> None:
    world.strangers.answers["/decide"] = lambda review: {"denied": True, "reason": "not today"}
    answer = world.get(secrets("asked", "/c"), "ada-token")
    assert answer.status == 403
    assert answer.json["message"].endswith('in the namespace "asked": not today')


def test_failures_are_no_opinion_unless_the_policy_is_to_deny(world: World) -> None:
    world.strangers.answers.pop("/decide")  # 401
    answer = world.get(secrets("asked", "/d"), "ada-token")
    assert answer.status == 500
    assert answer.body.startswith(b'Internal Server Error: "/api/v1/namespaces/asked/secrets/d": ')
    world.configure("authorization.json", authorization(world.strangers, failurePolicy="Deny"))
    until(lambda: "--authorization-config: file read again" in world.server.log_file.read_text())
    spec = {"user": "ada", "resourceAttributes": {"namespace": "asked", "verb": "get", "resource": "secrets"}}
    review = world.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec}).json["status"]
    assert (review["allowed"], review["denied"]) == (False, True)
    assert "the server has asked for the client to provide credentials" in review["evaluationError"]
    world.configure("authorization.json", authorization(world.strangers))


def test_errors_of_conditions_are_counted(world: World) -> None:
    failing = [{"expression": "request.resourceAttributes.namespace == 'asked'"}]
    world.configure("authorization.json", authorization(world.strangers, matchConditions=failing))
    until(lambda: world.get("/version/none", "ada-token").status == 500)
    assert counted(world, "evaluation_errors_total") > 0
    world.configure("authorization.json", authorization(world.strangers))
    until(lambda: world.get("/version/none", "ada-token").status == 403)
