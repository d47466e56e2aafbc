"""What is said of webhooks' answers that cannot be read."""

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
