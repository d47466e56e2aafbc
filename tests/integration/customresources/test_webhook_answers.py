"""Wrong answers of conversion webhooks give kube-apiserver's errors. Reads in the stored version do not depend on
them.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.integration.customresources.definitions import DEFINITIONS, MERGE, establish
from tests.integration.customresources.hook import Hook, Spoil, with_webhook
from tests.integration.server.client import ask
from tests.until import until

GROUP = "answers.example.com"
ONE, TWO = (f"/apis/{GROUP}/{version}/namespaces/default/widgets" for version in ("v1", "v2"))
FOR = f"conversion webhook for {GROUP}/v1, Kind=Widget "
REFUSED = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "not today"}).encode()
VERSIONS = ("v1", "v1beta1")


def last(change: Callable[[dict[str, Any]], object]) -> Spoil:
    """Changes the last object of an answer."""

    def spoil(answer: dict[str, Any]) -> None:
        change(answer["response"]["convertedObjects"][-1])

    return spoil


def meta(**members: Any) -> Spoil:
    """Changes the metadata of the last object of an answer."""
    return last(lambda obj: obj["metadata"].update(members))


def response(**members: Any) -> Spoil:
    """Changes an answer's response."""

    def spoil(answer: dict[str, Any]) -> None:
        answer["response"].update(members)

    return spoil


def whole(**members: Any) -> Spoil:
    """Changes an answer."""

    def spoil(answer: dict[str, Any]) -> None:
        answer.update(members)

    return spoil


WRONG: list[tuple[str, Spoil, int, str]] = [  # kube-apiserver 1.36.3's messages for one object
    ("too few", response(convertedObjects=[]), 200, "returned 0 objects, expected 1"),
    ("failure", response(result={"status": "Failure", "message": "no way"}), 200, "failed: no way"),
    ("no reason", response(result={"status": "No"}), 200, "failed: response.result.status was 'No', not 'Success'"),
    (
        "group",
        last(lambda obj: obj.update(apiVersion="x/v3")),
        200,
        f"returned invalid object at index 0: invalid groupVersion (expected {GROUP}/v2, received x/v3)",
    ),
    (
        "kind",
        last(lambda obj: obj.update(kind="Gadget")),
        200,
        "returned invalid object at index 0: invalid kind (expected Widget, received Gadget)",
    ),
    ("name", meta(name="z"), 200, "returned invalid object: must have the same name: a != z"),
    ("namespace", meta(namespace="z"), 200, "returned invalid object: must have the same namespace: default != z"),
    ("no metadata", last(lambda obj: obj.pop("metadata")), 200, "must have the same name: a != "),
    ("label", meta(labels={"a": 1}), 200, "metadata: metadata.labels[a] must be a string, but is int64 in converted"),
    ("labels", meta(labels="x"), 200, "returned invalid metadata: invalid metadata.labels of type string in converted"),
    ("name of a label", meta(labels={"a b": "c"}), 200, 'metadata: metadata.labels: Invalid value: "a b": name part'),
    ("no response", whole(response=None), 200, "failed: no response provided"),
    ("refused", lambda _: b"no", 403, "failed: no"),
    ("a Status", lambda _: REFUSED, 409, "failed: not today"),
    ("broken", lambda _: b"oh", 500, 'failed: an error on the server ("oh") has prevented the request from succeeding'),
    ("not found", lambda _: b"", 404, "failed: the server could not find the requested resource"),
    ("elsewhere", lambda _: b"", 302, "failed: the server responded with the status code 302 but did not return more"),
    ("empty", lambda _: b"", 200, "failed: 0-length response with status code: 200 and content type: application/json"),
    ("nonsense", lambda _: b"<html>", 200, "failed: couldn't get version/kind; json parse error"),
]
STRICTLY: list[tuple[str, Spoil, int, str]] = [  # for v1 of ConversionReview
    ("uid", response(uid="x"), 200, 'got "x"'),
    ("review", whole(apiVersion=""), 200, "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=Con"),
]
CHANGED = {
    "resourceVersion": "1",
    "finalizers": ["a.b/c"],
    "generation": 7,
    "ownerReferences": [{}],
    "managedFields": 1,
}


@pytest.fixture(scope="module", params=VERSIONS)
def review(request: pytest.FixtureRequest, servers: tuple[ApiServer, ApiServer], hook: Hook) -> str:
    """The version of ConversionReview; an object "a" is stored as v1."""
    server, version = servers[0], str(request.param)
    if ask(server, "GET", f"{DEFINITIONS}/widgets.{GROUP}").status == 404:
        establish(server, with_webhook(GROUP, hook))
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"hostPort": "h:1"}}
        assert ask(server, "POST", ONE, body).status == 201
    change = {"spec": {"conversion": {"webhook": {"conversionReviewVersions": ["v9", version]}}}}
    assert ask(server, "PATCH", f"{DEFINITIONS}/widgets.{GROUP}", change, headers=MERGE).status == 200

    def is_asked() -> bool:
        touch(server)
        ask(server, "GET", f"{TWO}/a")
        return bool(hook.reviews) and hook.reviews[-1]["apiVersion"] == f"apiextensions.k8s.io/{version}"

    until(is_asked)
    return version


def touch(server: ApiServer) -> None:
    """Writes another version of the object, of which nothing is cached."""
    before = ask(server, "GET", f"{ONE}/a").json["metadata"]["resourceVersion"]
    change = {"metadata": {"annotations": {"example.com/after": before}}}
    assert ask(server, "PATCH", f"{ONE}/a", change, headers=MERGE).status == 200


@pytest.mark.parametrize(("spoil", "code", "message"), [each[1:] for each in WRONG], ids=[each[0] for each in WRONG])
def test_a_wrong_answer(server: ApiServer, hook: Hook, review: str, spoil: Spoil, code: int, message: str) -> None:
    touch(server)
    with hook.answering(spoil, code):
        for path in (f"{TWO}/a", TWO):
            refused = ask(server, "GET", path)
            assert (refused.status, refused.json["code"]) == (500, 500), refused.body
            assert FOR in refused.json["message"] and message in refused.json["message"]
            assert refused.json["message"].startswith(FOR) == (path == TWO)
        for path in (f"{ONE}/a", ONE):
            assert ask(server, "GET", path).status == 200
    assert ask(server, "GET", f"{TWO}/a").json["spec"] == {"host": "h", "port": "1"}


def test_an_object_that_is_not_converted_is_a_corrupt_object(server: ApiServer, hook: Hook, review: str) -> None:
    touch(server)
    change = {"metadata": {"labels": {"a": "b"}}}
    key = f"StorageError: corrupt object, Code: 7, Key: /{GROUP}/widgets/default/a, ResourceVersion: 0, "
    with hook.answering(response(convertedObjects=[])):
        for method, path, body in (
            ("GET", "", None),
            ("PATCH", "?dryRun=All", change),
            ("DELETE", "?dryRun=All", None),
        ):
            refused = ask(server, method, f"{TWO}/a{path}", body, headers=MERGE)
            assert (refused.status, refused.json["reason"]) == (500, "InternalError"), refused.body
            [cause] = refused.json["details"]["causes"]
            assert cause["message"].startswith(f"{key}AdditionalErrorMsg: object not decodable revision=")
            assert cause["message"].endswith(f"{FOR}returned 0 objects, expected 1")
            assert refused.json["message"] == f"Internal error occurred: {cause['message']}"


@pytest.mark.parametrize(
    ("spoil", "code", "message"), [each[1:] for each in STRICTLY], ids=[each[0] for each in STRICTLY]
)
def test_what_only_reviews_of_v1_have_to_say(
    server: ApiServer, hook: Hook, review: str, spoil: Spoil, code: int, message: str
) -> None:
    touch(server)
    with hook.answering(spoil, code):
        answer = ask(server, "GET", f"{TWO}/a")
    assert (answer.status, message in answer.body.decode().replace("\\", "")) == (
        (500, True) if review == "v1" else (200, False)
    )


def test_one_object_of_a_list_that_fails_fails_the_list_and_no_other_object(
    server: ApiServer, hook: Hook, review: str
) -> None:
    other = f"{review}-other"
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": other}, "spec": {"hostPort": "h:2"}}
    assert ask(server, "POST", ONE, body).status == 201

    def spoil(answer: dict[str, Any]) -> None:
        for obj in answer["response"]["convertedObjects"]:
            if obj["metadata"]["name"] == other:
                obj["kind"] = "Gadget"

    with hook.answering(spoil):
        assert ask(server, "GET", TWO).status == 500
        assert ask(server, "GET", f"{TWO}/{other}").status == 500
        assert ask(server, "GET", f"{TWO}/a").status == 200
        assert len(ask(server, "GET", ONE).json["items"]) >= 2
    assert ask(server, "DELETE", f"{ONE}/{other}").status == 200


def test_a_large_list_is_converted_in_batches(server: ApiServer, hook: Hook, review: str) -> None:
    names = [f"{review}-large-{number}" for number in range(4)]
    for name in names:
        spec = {"hostPort": f"{'h' * 900_000}:{name[-1]}"}
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}
        assert ask(server, "POST", ONE, body).status == 201
    hook.reviews.clear()
    items = {each["metadata"]["name"]: each["spec"]["port"] for each in ask(server, "GET", TWO).json["items"]}
    assert [items[name] for name in names] == ["0", "1", "2", "3"]
    sent = [[obj["metadata"]["name"] for obj in each["request"]["objects"]] for each in hook.reviews]
    assert [[name for name in each if name in names] for each in sent] == [names[:2], names[2:]]

    def spoil(answer: dict[str, Any]) -> None:
        for obj in answer["response"]["convertedObjects"]:
            if obj["metadata"]["name"] == names[-1]:
                obj["kind"] = "Gadget"

    change = {"metadata": {"labels": {"a": "b"}}}
    assert ask(server, "PATCH", f"{ONE}/{names[-1]}", change, headers=MERGE).status == 200
    with hook.answering(spoil):
        assert ask(server, "GET", TWO).status == 500
    for name in names:
        assert ask(server, "DELETE", f"{ONE}/{name}").status == 200


def test_of_the_metadata_labels_and_annotations_are_the_webhooks(server: ApiServer, hook: Hook, review: str) -> None:
    touch(server)
    with hook.answering(meta(labels={"made": "so"}, annotations=None, **CHANGED)):
        shown = ask(server, "GET", f"{TWO}/a").json["metadata"]
    stored = ask(server, "GET", f"{ONE}/a").json["metadata"]
    assert (shown.pop("labels"), shown.pop("annotations", None)) == ({"made": "so"}, None)
    del stored["annotations"]
    assert shown == stored


@pytest.mark.usefixtures("review")
def test_any_success_will_do(server: ApiServer, hook: Hook) -> None:
    touch(server)
    with hook.answering(None, 201):
        assert ask(server, "GET", f"{TWO}/a").status == 200


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that is reserved, and at which no server listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_where_the_webhook_is(server: ApiServer, hook: Hook, silent_port: int) -> None:
    """By URL or by service, whose certificate must be valid for the service's name. A webhook that cannot be reached is
    an error of the request.
    """
    service = {"namespace": "default", "name": "converter", "port": 8443, "path": "/convert"}
    refused = f"127.0.0.1:{silent_port}"
    unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    missing = 'Post "https://converter.default.svc:8443/convert?timeout=30s": service "converter" not found'
    nobody = f'Post "https://{refused}/c?timeout=30s": dial tcp {refused}: connect: connection refused'
    places: dict[str, tuple[dict[str, Any], str]] = {
        "refused": ({"url": f"https://{refused}/c"}, nobody),
        "stranger": ({"caBundle": None}, unknown),
        "nowhere": ({"url": None, "service": service}, missing),
    }
    for place, (client, message) in places.items():
        group = f"{place}.example.com"
        establish(server, with_webhook(group, hook, **client))
        body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"hostPort": "h:1"}}
        assert ask(server, "POST", f"/apis/{group}/v1/namespaces/default/widgets", body).status == 201
        answer = ask(server, "GET", f"/apis/{group}/v2/namespaces/default/widgets/a")
        assert answer.status == 500 and message in answer.json["message"], answer.body
        assert ask(server, "GET", f"/apis/{group}/v1/namespaces/default/widgets/a").status == 200
