"""The constants from which random CRDs and objects are made."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

NAMES = ("alpha", "beta", "gamma", "delta", "dash-ed", "dot.ted", "under__score", "if", "namespace", "items", "value")
PATTERNS = {
    "^[a-z]+$": ("abc", "zz"),
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$": ("a-1", "web"),
    "foo|bar": ("foo", "a bar"),
    "^\\d{2,4}$": ("12", "1999"),
    "^\\S*$": ("", "word"),
    "[": ("[",),
    "(?=x)": ("x",),
}
FORMATS = {
    "date-time": ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00.5+01:00", "2023-02-29T12:00:00Z", "yesterday"),
    "date": ("2024-02-29", "2023-02-29"),
    "duration": ("1h30m", "90s", "1 day", "soon"),
    "byte": ("YQ==", "no base64!"),
    "uri": ("https://example.com/a?b=c", "a b", "::"),
    "email": ("a@example.com", "a@"),
    "hostname": ("example.com", "-a-"),
    "ipv4": ("10.0.0.1", "10.0.0.256"),
    "ipv6": ("::1", "::g"),
    "cidr": ("10.0.0.0/8", "10.0.0.0/33"),
    "mac": ("00:11:22:33:44:55", "00:11"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "123"),
    "uuid4": ("123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
    "password": ("secret",),
    "hexcolor": ("#ff0000", "red"),
    "rgbcolor": ("rgb(1,2,3)", "rgb(1,2,333)"),
    "creditcard": ("4111111111111111", "4111"),
    "ssn": ("111-22-3333", "1"),
    "isbn": ("978-3-16-148410-0", "0"),
    "bsonobjectid": ("507f1f77bcf86cd799439011", "507f"),
    "k8s-short-name": ("web-1", "Web"),
    "k8s-long-name": ("a.b", "a..b"),
    "odd": ("x",),
}
STRINGS = ("", "a", "foo", "bar", "x y", "é", "10", "1.5", "10Mi", "true", "a" * 30, "10.0.0.1", "https://a.example/b")
INTEGERS = (0, 1, -1, 2, 3, 5, 10, 100, 2**31, 2**53 + 1, 2**63 - 1)
NUMBERS = (0, 0.5, 1.0, -1.5, 2, 3.25, 10, 1e10, 1e21, 100.0)
ODD_NUMBERS = (2**63, -(2**63), 2**64, 1e3, -0.0, 1.5, 1e300, 12345678901234567890)
WRONG: tuple[Any, ...] = (None, "x", 7, 1.5, True, {}, [], {"a": "b"}, ["x"], [None], {"a": None}, "")

# changes of a schema's node by a mutation: a keyword and its values
KEYWORDS: dict[str, tuple[Any, ...]] = {
    "type": ("string", "integer", "number", "boolean", "object", "array", "null", "file", ""),
    "format": (*FORMATS, "int32", "int64", "float", "double", "int-or-string", ""),
    "title": ("A title", ""),
    "description": ("Words.",),
    "default": (None, 0, 1, "", "x", True, {}, [], {"alpha": 1}, ["x"], {"alpha": {"beta": None}}),
    "example": ("x", {"a": 1}),
    "nullable": (True, False),
    "enum": ([], ["a"], ["a", "a"], [1, 2], [None], [1, 1.0], [{"a": 1}], ["a", 1, True]),
    "maximum": (0, 5, 1.5, -1, 1e20),
    "minimum": (0, 5, 1.5, -1, 100),
    "exclusiveMaximum": (True, False),
    "exclusiveMinimum": (True, False),
    "multipleOf": (0, 2, 0.5, -3),
    "maxLength": (0, 3, -1, 100, 2**40),
    "minLength": (0, 3, -1, 200),
    "pattern": (*PATTERNS, "(", "*", "a{1001}", "\\"),
    "maxItems": (0, 3, -1, 1000),
    "minItems": (0, 2, -1),
    "uniqueItems": (True, False),
    "maxProperties": (0, 2, -1),
    "minProperties": (0, 2, -1),
    "required": ([], ["alpha"], ["alpha", "alpha"], ["none"], ["spec"], [""]),
    "items": ({"type": "string"}, {}, [], [{"type": "string"}], {"type": "object"}),
    "properties": ({}, {"alpha": {"type": "string"}}, {"metadata": {"type": "object"}}, {"alpha": {}}),
    "additionalProperties": (True, False, {"type": "string"}, {}),
    "additionalItems": (True, False, {}),
    "patternProperties": ({}, {"a": {"type": "string"}}),
    "definitions": ({}, {"a": {"type": "string"}}),
    "dependencies": ({}, {"a": ["b"]}, {"a": {"type": "string"}}),
    "$ref": ("", "#/x"),
    "$schema": ("", "http://json-schema.org/schema#"),
    "id": ("", "x"),
    "externalDocs": ({"url": "https://example.com", "description": "x"},),
    "allOf": ([], [{}], [{"minimum": 1}], [{"required": ["alpha"]}], [{"type": "string"}], [{"default": 1}]),
    "anyOf": ([{"type": "integer"}, {"type": "string"}], [{"maxLength": 2}, {"pattern": "^x"}], [{"nullable": True}]),
    "oneOf": ([{"required": ["alpha"]}, {"required": ["beta"]}], [{"properties": {"none": {}}}], [{"items": {}}]),
    "not": ({}, {"required": ["alpha"]}, {"enum": ["a"]}, {"additionalProperties": False}, {"not": {"title": "x"}}),
    "x-kubernetes-preserve-unknown-fields": (True, False),
    "x-kubernetes-embedded-resource": (True, False),
    "x-kubernetes-int-or-string": (True, False),
    "x-kubernetes-list-type": ("atomic", "set", "map", "bag", ""),
    "x-kubernetes-list-map-keys": ([], ["alpha"], ["alpha", "alpha"], ["none"]),
    "x-kubernetes-map-type": ("atomic", "granular", "odd", ""),
    "x-kubernetes-validations": (
        [],
        [{"rule": "true"}],
        [{"rule": ""}],
        [{"rule": "self"}],
        [{"rule": "true"}, {"rule": "true"}],
        [{"rule": "self.alpha > 1", "message": " "}],
        [{"rule": "true", "message": "a\nb"}],
        [{"rule": "true", "reason": "Odd"}],
        [{"rule": "true", "fieldPath": ".alpha"}],
        [{"rule": "true", "fieldPath": "alpha["}],
        [{"rule": "true", "messageExpression": "1"}],
        [{"rule": "true", "optionalOldSelf": True}],
        [{"rule": "self == oldSelf"}],
        [{"rule": "self == oldSelf.orValue(self)", "optionalOldSelf": True}],
    ),
    "odd": (1,),
}

# changes elsewhere in the spec of a CRD: a path and its values
MEMBERS: dict[tuple[str | int, ...], tuple[Any, ...]] = {
    ("group",): ("", "example", "Example.com", "x.k8s.io", "a..b"),
    ("scope",): ("", "Cluster", "Namespaced", "Odd"),
    ("preserveUnknownFields",): (True, False),
    ("names", "plural"): ("", "Odd", "other"),
    ("names", "singular"): ("", "Odd_", "single"),
    ("names", "kind"): ("", "odd kind", "Other", "1x"),
    ("names", "listKind"): ("", "Same", "OtherList", "odd list"),
    ("names", "shortNames"): ([], ["a", "a"], ["A"], ["ok", "x_"]),
    ("names", "categories"): ([], ["all", "all"], ["Odd"]),
    ("conversion",): (
        None,
        {"strategy": "None"},
        {"strategy": "Odd"},
        {"strategy": "Webhook"},
        {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}},
        {"strategy": "Webhook", "webhook": {"conversionReviewVersions": []}},
        {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v2"], "clientConfig": {"url": "http://x"}}},
        {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1", "v1"], "clientConfig": {}}},
        {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1", "odd"],
                "clientConfig": {
                    "service": {"namespace": "a", "name": "b", "path": "x", "port": 0},
                    "url": "https://x",
                },
            },
        },
        {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "a", "name": "b", "path": "/x", "port": 443}},
            },
        },
    ),
    ("versions",): ([], None),
    ("versions", 0, "name"): ("", "V1", "v2", "v1", "1a"),
    ("versions", 0, "served"): (False, None, "x"),
    ("versions", 0, "storage"): (False, None),
    ("versions", 0, "deprecated"): (True, False),
    ("versions", 0, "deprecationWarning"): ("", "use v2", "a\tb", "x" * 257),
    ("versions", 0, "schema"): (None, {}, {"openAPIV3Schema": None}, {"openAPIV3Schema": {}}),
    ("versions", 0, "subresources"): (
        {},
        {"status": {}},
        {"status": None},
        {"scale": {}},
        {"scale": {"specReplicasPath": ".spec.alpha", "statusReplicasPath": ".status.beta"}},
        {"scale": {"specReplicasPath": "spec.x", "statusReplicasPath": ".spec.x"}},
        {
            "scale": {
                "specReplicasPath": ".spec[0]",
                "statusReplicasPath": ".status.x",
                "labelSelectorPath": ".spec['a']",
            }
        },
        {"scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.b", "labelSelectorPath": ".x"}},
    ),
    ("versions", 0, "additionalPrinterColumns"): (
        [],
        [{"name": "A", "type": "string", "jsonPath": ".spec.alpha"}],
        [{"name": "", "type": "odd", "jsonPath": ""}],
        [{"name": "A", "type": "date", "jsonPath": "spec", "format": "odd", "priority": -1}],
        [{"name": "A", "type": "integer", "format": "int32", "jsonPath": ".spec[?(@.a=='b')].c"}],
        [{"name": "A", "type": "number", "format": "byte", "jsonPath": ".spec["}],
        [{"name": "A", "type": "string", "jsonPath": "{.spec}"}, {"name": "A", "type": "boolean", "jsonPath": ".a..b"}],
    ),
    ("versions", 0, "selectableFields"): (
        [],
        [{"jsonPath": ".spec.alpha"}],
        [{"jsonPath": ".spec.alpha"}, {"jsonPath": ".spec.alpha"}],
        [{"jsonPath": "spec.alpha"}, {"jsonPath": ""}],
        [{"jsonPath": ".metadata.name"}, {"jsonPath": ".spec.none"}, {"jsonPath": ".spec.items[0]"}],
        [{"jsonPath": f".spec.{name}"} for name in ("alpha", "beta", "gamma", "delta", "a", "b", "c", "d", "e")],
    ),
}
