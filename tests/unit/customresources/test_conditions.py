"""The conditions of a CustomResourceDefinition's status."""

from __future__ import annotations

from base64 import b64encode

import pytest

from gateway.customresources import conditions
from gateway.customresources.conditions import with_status
from gateway.customresources.definition import ESTABLISHED, NON_STRUCTURAL, condition
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


def test_a_schema_without_violations_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each status is computed three times, in many control planes with equal CRDs. Violations are told each time."""
    looks = list[object]()

    def look(schema: JsonObject, path: str) -> list[str]:
        looks.append(schema)
        return ["a violation"] if "x" in schema["properties"] else []

    monkeypatch.setattr(conditions, "validate_structural", look)
    for member, expected in (("fine", 1), ("x", 3)):
        looks.clear()
        made = definition(b"")
        schema = {"type": "object", "properties": {member: {"type": "string"}}, "description": "looked at once"}
        made["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
        told = {condition(with_status(made, [], NOW), NON_STRUCTURAL) is not None for _ in range(3)}
        assert told == {member == "x"} and len(looks) == expected
