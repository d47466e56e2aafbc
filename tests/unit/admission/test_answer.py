"""Error messages for webhooks' answers that cannot be read."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateway.admission.webhooks.answer import Undecodable, verdict

V1, V1BETA1 = "admission.k8s.io/v1", "admission.k8s.io/v1beta1"


@pytest.mark.parametrize(
    ("version", "answer", "said"),
    [
        ("v1", {"apiVersion": 1}, "cannot unmarshal number into Go struct field .apiVersion of type string"),
        ("v1", {"kind": []}, "cannot unmarshal array into Go struct field .kind of type string"),
        (
            "v1beta1",
            {"apiVersion": V1, "response": {"allowed": "yes"}},
            "cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
        ),
        ("v1beta1", {"apiVersion": V1, "response": []}, "AdmissionReview.response of type v1.AdmissionResponse"),
        ("v1", {"apiVersion": V1BETA1, "response": []}, "AdmissionReview.response of type v1beta1.AdmissionResponse"),
        (
            "v1beta1",
            {"apiVersion": V1, "response": {"allowed": True}},
            "converting (v1.AdmissionReview) to (v1beta1.AdmissionReview): unknown conversion",
        ),
    ],
)
def test_an_answer_is_read_as_what_it_says_to_be_before_it_is_converted(
    version: str, answer: dict[str, Any], said: str
) -> None:
    document = {"kind": "AdmissionReview", "apiVersion": V1, **answer}
    with pytest.raises(Undecodable) as undecodable:
        asyncio.run(verdict(json.dumps(document).encode(), version, "u", mutating=True))
    assert str(undecodable.value).endswith(said)


LONG = b'"x": "%b"' % (b"x" * 20_000)


@pytest.mark.parametrize("more", [b'"y": 1, "y": 2', b'"y": "\\ud800"', b'"y": "\xff"'])
def test_a_long_answer_may_have_what_is_not_read_fast(more: bytes) -> None:
    answer = b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", %b, %b, "response": %b}'
    found = asyncio.run(verdict(answer % (LONG, more, b'{"uid": "u", "allowed": true}'), "v1", "u", mutating=True))
    assert found.allowed


def test_of_a_long_answer_it_is_said_what_cannot_be_read() -> None:
    answer = b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", %b, "response": {"allowed": "yes"}}'
    with pytest.raises(Undecodable, match=r"cannot unmarshal string into .* of type bool"):
        asyncio.run(verdict(answer % LONG, "v1", "u", mutating=True))


HALVES = {
    "uid": "u",
    "allowed": False,
    "warnings": ["a\ud800b"],
    "auditAnnotations": {"k\udfff": "\ud800"},
    "status": {"message": "no\udc00", "details": {"causes": [{"message": "\ud800"}]}},
}


@pytest.mark.parametrize("beside", ["", "x" * 20_000], ids=["short", "long"])
@pytest.mark.parametrize("mutating", [False, True])
def test_halves_of_surrogate_pairs_are_replaced_where_the_answer_is_told(mutating: bool, beside: str) -> None:
    """The writes are made by then: a text that cannot be sent would make the answer an error, or the event vanish."""
    document = {"kind": "AdmissionReview", "apiVersion": V1, "response": HALVES, "beside": beside}
    found = asyncio.run(verdict(json.dumps(document).encode(), "v1", "u", mutating=mutating))
    assert (found.allowed, found.warnings, found.annotations) == (False, ["a\ufffdb"], {"k\ufffd": "\ufffd"})
    assert found.status is not None
    assert (found.status["message"], found.status["details"]["causes"]) == ("no\ufffd", [{"message": "\ufffd"}])


@pytest.mark.parametrize(
    "response",
    [
        r'warnings: ["a\ud800b"]',
        r'auditAnnotations: {k: "\udfff"}',
        r'status: {message: "\ud800"}',
        "status: &x {details: *x}",
        'status: {details: {causes: [&c {message: "' + "x" * 60_000 + '"}' + ", *c" * 3000 + "]}}",
        "warnings: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"  y{level}: &b{level} [{','.join([f'*b{level - 1}' if level else '*a'] * 10)}]\n" for level in range(7)
        ),
    ],
)
def test_yaml_that_stands_for_too_much_or_is_no_text_cannot_be_decoded(response: str) -> None:
    """The failurePolicy decides then, as for any other answer that cannot be read."""
    answer = f"apiVersion: {V1}\nkind: AdmissionReview\nresponse:\n  uid: u\n  allowed: true\n  {response}\n"
    with pytest.raises(Undecodable, match="error converting YAML to JSON"):
        asyncio.run(verdict(answer.encode(), "v1", "u", mutating=False))


def test_yaml_is_read() -> None:
    answer = f"apiVersion: {V1}\nkind: AdmissionReview\nresponse:\n  uid: u\n  allowed: true\n  warnings: &w [a]\n"
    assert asyncio.run(verdict(answer.encode(), "v1", "u", mutating=False)).warnings == ["a"]
