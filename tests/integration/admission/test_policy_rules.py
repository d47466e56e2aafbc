"""Random policies, bindings, parameters and objects: the server's answers are those of a simple model of the rules."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver_gateway.testing import ApiServer, Refused, ask, namespace
from apiserver_gateway.testing.requests import answer
from tests.examples import examples
from tests.integration.admission.webhook_servers import server, servers

__all__ = ["server", "servers"]

GROUP = "/apis/admissionregistration.k8s.io/v1"
Object = dict[str, Any]
# an expression, and what it is for data d and a parameter p (None: it fails); an object without data has no such field,
# so that to ask it for a key fails, also within has(), which forgives the absence of the last field only
EXPRESSIONS: dict[str, Any] = {
    "true": lambda d, p: True,
    "false": lambda d, p: False,
    "object.data.x == 'y'": lambda d, p: None if "x" not in d else d["x"] == "y",
    "has(object.data.x)": lambda d, p: "x" in d if d else None,
    "has(object.data) && has(object.data.x)": lambda d, p: "x" in d,
    "variables.x == 'y'": lambda d, p: None if "x" not in d else d["x"] == "y",
    "'k' in object.data && object.data.k == variables.x": lambda d, p: (
        None if not d else False if "k" not in d else None if "x" not in d else d["k"] == d["x"]
    ),
}


@dataclass(frozen=True)
class Validation:
    expression: str
    message: str
    reason: str

    def spec(self) -> Object:
        return {"expression": self.expression, "message": self.message, "reason": self.reason}


@dataclass(frozen=True)
class Binding:
    actions: tuple[str, ...]
    labels: dict[str, str]
    resources: tuple[str, ...]

    def spec(self, policy: str) -> Object:
        match: Object = {"objectSelector": {"matchLabels": self.labels}}
        if self.resources:
            match["resourceRules"] = [rule(self.resources, ("*",), ())]
        return {"policyName": policy, "validationActions": list(self.actions), "matchResources": match}


@dataclass(frozen=True)
class Policy:
    fails: bool
    operations: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...]
    excluded: tuple[str, ...]
    conditions: tuple[str, ...]
    validations: tuple[Validation, ...]
    bindings: tuple[Binding, ...]

    def spec(self, place: str) -> Object:
        constraints: Object = {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place}},
            "resourceRules": [rule(self.resources, self.operations, self.names)],
        }
        if self.excluded:
            constraints["excludeResourceRules"] = [rule(self.excluded, ("*",), ())]
        return {
            "failurePolicy": "Fail" if self.fails else "Ignore",
            "matchConstraints": constraints,
            "matchConditions": [{"name": f"c{at}", "expression": text} for at, text in enumerate(self.conditions)],
            "variables": [{"name": "x", "expression": "object.data.x"}],
            "validations": [each.spec() for each in self.validations],
        }


def rule(resources: tuple[str, ...], operations: tuple[str, ...], names: tuple[str, ...]) -> Object:
    found: Object = {"apiGroups": [""], "apiVersions": ["v1"], "operations": list(operations)}
    return found | {"resources": list(resources)} | ({"resourceNames": list(names)} if names else {})


RESOURCES = st.sampled_from((("configmaps",), ("serviceaccounts",), ("configmaps", "serviceaccounts"), ("*",)))
VALIDATIONS = st.builds(
    Validation,
    st.sampled_from([*EXPRESSIONS]),
    st.sampled_from(("one", "two")),
    st.sampled_from(("Invalid", "Forbidden", "RequestEntityTooLarge")),
)
BINDINGS = st.builds(
    Binding,
    st.sampled_from((("Deny",), ("Warn",), ("Deny", "Audit"), ("Audit",), ("Warn", "Audit"))),
    st.sampled_from(({}, {"a": "b"})),
    st.sampled_from(((), ("configmaps",), ("*",))),
)
POLICIES = st.builds(
    Policy,
    st.booleans(),
    st.sampled_from((("CREATE",), ("UPDATE",), ("*",), ("CREATE", "UPDATE"))),
    RESOURCES,
    st.sampled_from(((), (), ("one",), ("two", "three"))),
    st.sampled_from(((), (), ("configmaps",), ("serviceaccounts",))),
    st.lists(st.sampled_from(["true", "object.metadata.name != 'two'", "object.data.x == 'y'"]), max_size=2).map(tuple),
    st.lists(VALIDATIONS, min_size=1, max_size=3).map(tuple),
    st.lists(BINDINGS, max_size=2).map(tuple),
)
OBJECTS = st.tuples(
    st.sampled_from(("configmaps", "serviceaccounts")),
    st.sampled_from(("one", "two", "three")),
    st.sampled_from(({}, {"a": "b"})),
    st.sampled_from(({}, {"x": "y"}, {"x": "z"}, {"k": "y"}, {"k": "y", "x": "y"})),
)


def covers(resources: tuple[str, ...], resource: str) -> bool:
    return "*" in resources or resource in resources


def applies(policy: Policy, operation: str, resource: str, name: str) -> bool:
    return (
        (operation in policy.operations or "*" in policy.operations)
        and covers(policy.resources, resource)
        and (not policy.names or name in policy.names)
        and not (policy.excluded and covers(policy.excluded, resource))
    )


def conditions_of(policy: Policy, name: str, data: dict[str, str]) -> bool | None:
    """Whether all conditions hold; None if one fails and none is false."""
    found: list[bool | None] = []
    for text in policy.conditions:
        if "metadata.name" in text:
            found.append(name != "two")
        else:
            found.append(EXPRESSIONS[text](data, None))
    return False if False in found else None if None in found else True


def expected(policies: list[tuple[str, Policy]], operation: str, thing: Any) -> tuple[int, str, set[str]]:
    """The expected status, end of the message, and warnings."""
    resource, name, labels, data = thing
    data = data if resource == "configmaps" else {}
    denied: list[tuple[int, str]] = []
    warnings = set[str]()
    codes = {"Invalid": 422, "Forbidden": 403, "RequestEntityTooLarge": 413}
    for called, policy in policies:
        if not applies(policy, operation, resource, name):
            continue
        for at, binding in enumerate(policy.bindings):
            if not binding.labels.items() <= labels.items():
                continue
            if binding.resources and not covers(binding.resources, resource):
                continue
            holds = conditions_of(policy, name, data)
            if holds is False:
                continue
            failures: list[tuple[int, str]] = []
            if holds is None:
                failures = [(422, "")] if policy.fails else []
            else:
                for each in policy.validations:
                    value = EXPRESSIONS[each.expression](data, None)
                    if value is None and policy.fails:
                        failures.append((422, ""))
                    elif value is False:
                        failures.append((codes[each.reason], each.message))
            for code, message in failures:
                if "Deny" in binding.actions:
                    denied.append((code, f"'{called}' with binding '{called}-{at}' denied request: {message}"))
                if "Warn" in binding.actions:
                    warnings.add(f"'{called}' with binding '{called}-{at}': {message}")
    return (*denied[0], warnings) if denied else (0, "", warnings)


@pytest.fixture
def place(server: ApiServer) -> Iterator[str]:
    with namespace(server) as name:
        yield name


def written(server: ApiServer, place: str, policies: list[tuple[str, Policy]]) -> None:
    for name, policy in policies:
        body = {"metadata": {"name": name}, "spec": policy.spec(place)}
        ask(server, "POST", f"{GROUP}/validatingadmissionpolicies", body)
        for at, binding in enumerate(policy.bindings):
            bound = {"metadata": {"name": f"{name}-{at}"}, "spec": binding.spec(name)}
            ask(server, "POST", f"{GROUP}/validatingadmissionpolicybindings", bound)


def removed(server: ApiServer, policies: list[tuple[str, Policy]]) -> None:
    for name, policy in policies:
        for at in range(len(policy.bindings)):
            ask(server, "DELETE", f"{GROUP}/validatingadmissionpolicybindings/{name}-{at}")
        ask(server, "DELETE", f"{GROUP}/validatingadmissionpolicies/{name}")


@settings(
    max_examples=examples(30),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(POLICIES, min_size=1, max_size=3), st.lists(OBJECTS, min_size=1, max_size=5))
def test_writes_are_answered_as_a_plain_reading_of_the_policies_says(
    server: ApiServer, place: str, given_policies: list[Policy], things: list[Any]
) -> None:
    prefix = f"{place}-{uuid.uuid4().hex[:6]}"
    policies = [(f"{prefix}-{at}", policy) for at, policy in enumerate(given_policies)]
    written(server, place, policies)
    try:
        for thing in things:
            check(server, place, policies, thing)
    finally:
        removed(server, policies)


def check(server: ApiServer, place: str, policies: list[tuple[str, Policy]], thing: Any) -> None:
    resource, name, labels, data = thing
    body: Object = {"metadata": {"name": name, "labels": labels}}
    if resource == "configmaps" and data:
        body["data"] = data
    code, message, warnings = expected(policies, "CREATE", thing)
    path = f"/api/v1/namespaces/{place}/{resource}?dryRun=All"
    try:
        with answer(server, "POST", path, body) as answered:
            answered.read()
            told = answered.headers.get_all("warning") or []
    except Refused as refused:
        assert (refused.status, message in str(refused)) == (code, True), (refused, code, message)
        return
    assert code == 0, f"should have been refused with {code}: {message}"
    assert len(told) >= len({each for each in warnings if not each.endswith(": ")})
    for each in warnings:
        assert any(each in text for text in told), (each, told)
