"""The conditions of a CustomResourceDefinition's status."""

from __future__ import annotations

from base64 import b64encode

import pytest

from gateway.customresources.conditions import with_status
from gateway.customresources.definition import ESTABLISHED, condition
from gateway.jsontypes import JsonObject

NOW = "2026-01-01T00:00:00Z"


def definition(bundle: bytes) -> JsonObject:
    webhook = {"clientConfig": {"url": "https://a.example.org", "caBundle": b64encode(bundle).decode()}}
    return {
        "metadata": {"name": "widgets.example.org", "uid": "u"},
        "spec": {
            "group": "example.org",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True}],
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
        "status": {},
    }


@pytest.mark.parametrize(
    ("bundle", "status", "reason"), [(b"", "True", "InitialNamesAccepted"), (b"not PEM", "False", "InvalidCABundle")]
)
def test_a_definition_is_established_with_a_valid_bundle(bundle: bytes, status: str, reason: str) -> None:
    found = condition(with_status(definition(bundle), [], NOW), ESTABLISHED)
    assert found is not None
    assert (found["status"], found["reason"]) == (status, reason)


def test_a_mended_bundle_establishes_a_definition() -> None:
    refused = with_status(definition(b"not PEM"), [], NOW)
    mended = with_status({**refused, "spec": definition(b"")["spec"]}, [], NOW)
    found = condition(mended, ESTABLISHED)
    assert found is not None
    assert found["status"] == "True"
