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
