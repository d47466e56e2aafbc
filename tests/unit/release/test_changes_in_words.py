"""Messages and rules that 1.37 has changed: each is tested in both minors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.http.request_info import RequestInfo
from gateway.http.status import StatusError, not_found
from gateway.kinds.attributes import Attributes
from gateway.kinds.columns.registry import columns_of
from gateway.kinds.identity import GroupResource
from gateway.kinds.strategies import strategy_for
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Gates
from gateway.release.minors import DEFAULT
from gateway.validation.access_review import validate_access_review
from gateway.validation.objectmeta import validate_managed_fields, validate_owner_references
from gateway.validation.rbac import role_changed
from gateway.writing.patch_body import APPLY, JSON_PATCH
from gateway.writing.patch_refusals import refused
from tests.unit.verbs.conftest import ADMIN

CONTEXT = WriteContext(Attributes(ADMIN, RequestInfo("create", "")), GroupResource("", "things"))
MINORS = ("1.36", "1.37")


def told(errors: Any) -> list[list[str]]:
    """Some errors in the words of each minor."""
    return [[str(error.as_told(Gates(minor).enabled)) for error in errors] for minor in MINORS]


def test_errors_of_owners_have_the_index_from_1_37_on() -> None:
    owner = {"apiVersion": "e.com/", "kind": "", "name": "a", "uid": "u"}
    before, after = told(validate_owner_references([owner], "owners"))
    assert before == [
        'owners.apiVersion: Invalid value: "e.com/": version must not be empty',
        'owners.kind: Invalid value: "": must not be empty',
    ]
    assert after == [
        'owners[0].apiVersion: Invalid value: "e.com/": must be <group>/<version> or <version>',
        "owners[0].kind: Required value: must not be empty",
    ]


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ("", "Required value: must not be empty"),
        ("Remove", 'Unsupported value: "Remove": supported values: "Apply", "Update"'),
    ],
)
def test_an_entry_of_managed_fields_lacks_its_operation_from_1_37_on(operation: str, words: str) -> None:
    before, after = told(validate_managed_fields([{"operation": operation}], "m"))
    assert before == [f'm[0].operation: Invalid value: "{operation}": must be `Apply` or `Update`']
    assert after == [f"m[0].operation: {words}"]


def test_a_role_that_is_bound_is_an_immutable_field_from_1_37_on() -> None:
    binding, other = ({"roleRef": {"kind": "Role", "name": name}} for name in "ab")
    before, after = told(role_changed(binding, other))
    assert before[0].endswith(": cannot change roleRef") and after[0].endswith(": field is immutable")


@pytest.mark.parametrize("asked", [{}, {"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"path": "/"}}])
def test_a_review_that_does_not_ask_one_thing_is_refused_at_its_spec_from_1_37_on(asked: Any) -> None:
    review = {"metadata": {}, "spec": {"user": "ada", **asked}}
    before, after = told(validate_access_review(review, "subjectaccessreviews", ""))
    assert not before[0].startswith("spec:")
    assert after[0].startswith("spec: Invalid value: ") and after[0].endswith("must be specified")


@pytest.mark.parametrize("kind", ["validating", "mutating"])
def test_a_webhook_rule_for_reviews_gets_a_warning_if_webhooks_do_not_get_them(kind: str) -> None:
    groups = ["authorization.k8s.io", "authentication.k8s.io", "authorization.k8s.io"]
    rules = [
        {"apiGroups": groups, "resources": ["subjectaccessreviews", "tokenreviews", "pods"]},
        {"apiGroups": ["*"], "resources": ["tokenreviews"]},
    ]
    configuration = {"metadata": {"name": "c"}, "webhooks": [{"rules": []}, {"rules": rules}]}
    found = []
    for minor in MINORS:
        strategy = strategy_for("admissionregistration.k8s.io", f"{kind}webhookconfigurations", "", Gates(minor))
        assert strategy.warnings_on_create is not None and strategy.warnings_on_update is not None
        found.append(strategy.warnings_on_create(configuration, CONTEXT))
        assert strategy.warnings_on_update(configuration, configuration, CONTEXT) == found[-1]
    text = "is excluded from admission webhooks; this rule will have no effect"
    assert found == [
        [],
        [
            f"webhooks[1].rules[0]: subjectaccessreviews.authorization.k8s.io {text}",
            f"webhooks[1].rules[0]: tokenreviews.authentication.k8s.io {text}",
        ],
    ]


@pytest.mark.parametrize("excluded", [True, False])
def test_the_gate_decides_whether_webhooks_are_asked_about_reviews(excluded: bool) -> None:
    gates = Gates(DEFAULT, [("ExcludeAdmissionWebhookVirtualResources", excluded)])
    strategy = strategy_for("admissionregistration.k8s.io", "validatingwebhookconfigurations", "", gates)
    rules = [{"apiGroups": ["authentication.k8s.io"], "apiVersions": ["v1"], "resources": ["tokenreviews"]}]
    configuration = {"metadata": {"name": "c"}, "webhooks": [{"rules": rules}]}
    assert strategy.warnings_on_create is not None
    assert bool(strategy.warnings_on_create(configuration, CONTEXT)) is excluded


def test_an_autoscaler_has_a_generation_where_the_gate_is_on() -> None:
    found = []
    for minor in MINORS:
        strategy = strategy_for("autoscaling", "horizontalpodautoscalers", "", Gates(minor))
        new: dict[str, Any] = {"metadata": {}, "spec": {"maxReplicas": 2}}
        strategy.prepare_for_create(new, CONTEXT)
        found.append([new["metadata"].get("generation")])
        changed: dict[str, Any] = {"metadata": dict(new["metadata"]), "spec": {"maxReplicas": 3}}
        strategy.prepare_for_update(changed, new, CONTEXT)
        found[-1].append(changed["metadata"].get("generation"))
    assert found == [[None, None], [1, 2]]


def test_a_field_of_a_stateful_set_that_stays_is_refused_by_itself_from_1_37_on() -> None:
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "serviceName": "one",
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate"},
    }
    old, new = ({"metadata": {}, "spec": {**spec, "serviceName": name}} for name in ("one", "other"))
    found = {}
    for minor in MINORS:
        rules = strategy_for("apps", "statefulsets", "", Gates(minor))
        context: Any = SimpleNamespace(enabled=Gates(minor).enabled)
        errors = list(map(str, rules.validate_update(new, old, context)))
        found[minor] = [error for error in errors if error.startswith(("spec:", "spec.serviceName"))]
    assert len(found["1.36"]) == 1 and found["1.36"][0].startswith("spec: Forbidden: updates to statefulset spec")
    assert found["1.37"] == ['spec.serviceName: Invalid value: "other": field is immutable']


def test_the_table_of_definitions_shows_more_than_names_from_1_37_on() -> None:
    versions = [{"name": "v2", "served": True, "storage": True}, {"name": "v1", "served": True}, {"name": "v0"}]
    names = {"kind": "A", "shortNames": ["x"]}
    definition = {
        "metadata": {"name": "a.e.com", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"group": "e.com", "scope": "Cluster", "names": names, "versions": versions},
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    }
    kind = ("apiextensions.k8s.io", "CustomResourceDefinition")
    before, after = (columns_of(*kind, Gates(minor).enabled) for minor in MINORS)
    assert [each.name for each in before.definitions] == ["Name", "Created At"]
    assert [each.name for each in after.definitions if not each.priority] == ["Name", "Scope", "Versions", "Created At"]
    shown = ["a.e.com", "Cluster", "v1,v2(storage)", "2026-01-01T00:00:00Z", "e.com", "A", "x", True]
    assert after.cells(definition) == shown


def test_a_set_of_objects_in_a_definition_is_warned_of_from_1_37_on() -> None:
    schema = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}
    definition = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
    found = []
    for minor in MINORS:
        strategy = strategy_for("apiextensions.k8s.io", "customresourcedefinitions", "", Gates(minor))
        assert strategy.warnings_on_create is not None and strategy.warnings_on_update is not None
        found.append(len(list(strategy.warnings_on_create(definition, CONTEXT))))
        assert not list(strategy.warnings_on_update(definition, definition, CONTEXT))
    assert found == [0, 1]


@pytest.mark.parametrize(
    ("media_type", "body", "message"),
    [
        (JSON_PATCH, b"[", "invalid JSON patch"),
        (JSON_PATCH, b"[]", 'configmaps "a" not found'),
        (APPLY, b"a: [", "error encoding patch: "),
        (APPLY, b"a: b", 'configmaps "a" not found'),
    ],
)
def test_a_patch_that_cannot_be_read_is_refused_before_its_object_is_missed(
    media_type: bytes, body: bytes, message: str
) -> None:
    assert refused(not_found("", "configmaps", "a"), media_type, body).message.startswith(message)


def test_an_applied_configuration_is_a_patch_in_refusals() -> None:
    error = StatusError(400, "BadRequest", "error strict decoding YAML: key twice")
    assert refused(error, APPLY, b"a: b").message == "error strict decoding patch: key twice"
