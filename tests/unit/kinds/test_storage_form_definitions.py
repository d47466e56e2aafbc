"""CRDs in the form in which kube-apiserver stores them, v1beta1."""

from __future__ import annotations

import json

from tests.unit.kinds.builtin import canonicaliser_of


def test_what_stands_above_the_versions_is_theirs() -> None:
    client = {"url": "https://e.com/"}
    stored = {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "metadata": {"name": "widgets.e.com", "uid": "u"},
        "spec": {
            "group": "e.com",
            "version": "v1",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "scope": "Namespaced",
            "validation": {"openAPIV3Schema": {"type": "object"}},
            "subresources": {"status": {}},
            "versions": [
                {"name": "v1", "served": True, "storage": True},
                {
                    "name": "v2",
                    "served": True,
                    "storage": False,
                    "additionalPrinterColumns": [{"name": "A", "type": "string", "JSONPath": ".a"}],
                },
            ],
            "conversion": {
                "strategy": "Webhook",
                "webhookClientConfig": client,
                "conversionReviewVersions": ["v1"],
            },
            "preserveUnknownFields": False,
        },
        "status": {
            "conditions": [],
            "acceptedNames": {"plural": "widgets", "kind": "Widget"},
            "storedVersions": ["v1"],
        },
    }
    canonicalise = canonicaliser_of("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    spec = json.loads(canonicalise(json.dumps(stored).encode()))["spec"]
    shared = {"schema": {"openAPIV3Schema": {"type": "object"}}, "subresources": {"status": {}}}
    assert spec["versions"] == [
        {"name": "v1", "served": True, "storage": True, **shared},
        {
            "name": "v2",
            "served": True,
            "storage": False,
            **shared,
            "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".a"}],
        },
    ]
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    assert spec["conversion"] == {"strategy": "Webhook", "webhook": webhook}
    assert "preserveUnknownFields" not in spec
    stored["spec"].pop("preserveUnknownFields")  # type: ignore[attr-defined]  # a dict
    assert json.loads(canonicalise(json.dumps(stored).encode()))["spec"]["preserveUnknownFields"] is True
