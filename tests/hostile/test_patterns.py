"""Patterns of clients that take long to compile: no other Python thread can run during one compilation."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import MEGABYTE, held_at_most, memory, memory_returns
from tests.hostile.test_bodies import MAPS, PATIENCE
from tests.integration.customresources.definitions import DEFINITIONS, definition, establish, version
from tests.integration.server.client import ask, connect
from tests.limits import at_most
from tests.until import until

HELD = 0.1  # seconds
COUNT = 60
HARD = {"rule": "!self.matches('(ab|ba|a|b){1,500}c')"}


def patterned(pattern: str, count: int) -> dict[str, Any]:
    """A CRD with `count` properties, each with another pattern."""
    properties = {f"p{index}": {"type": "string", "pattern": pattern.format(index)} for index in range(count)}
    return definition("patterns.example.com", version("v1", {"spec": {"type": "object", "properties": properties}}))


def create(server: ApiServer, body: dict[str, Any], path: str = DEFINITIONS) -> int:
    """The status of the answer to a dry-run creation."""
    connection = connect(server, PATIENCE)  # compiling yields to other requests, so it takes long
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    with contextlib.closing(connection):
        connection.request("POST", f"{path}?dryRun=All", json.dumps(body), headers)
        return connection.getresponse().status


@pytest.mark.parametrize(
    ("pattern", "count", "status"), [(r"\pL{{1,900}}x{}", COUNT, 422), (r"\pL{{1,30}}x{}", COUNT // 4, 201)]
)
def test_many_large_patterns_hold_nobody(server: ApiServer, pattern: str, count: int, status: int) -> None:
    with held_at_most(server, HELD), memory_returns(server, share=0.5):
        assert create(server, patterned(pattern, count)) == status


def test_patterns_in_objects_hold_nobody(server: ApiServer) -> None:
    rule = {"rule": "!self.exists(pattern, 'a'.matches(pattern))"}
    patterns = {"type": "array", "maxItems": 100, "items": {"type": "string", "maxLength": 20}}
    plural, patterns["x-kubernetes-validations"] = "matchers", [rule]
    establish(server, definition("patterns.example.com", version("v1", {"patterns": patterns}), plural=plural))
    matcher = {"apiVersion": "patterns.example.com/v1", "kind": "Matcher", "metadata": {"name": "one"}}
    path = f"/apis/patterns.example.com/v1/namespaces/default/{plural}"
    assert create(server, {**matcher, "patterns": ["b", "c"]}, path) == 201
    with held_at_most(server, HELD):
        assert create(server, {**matcher, "patterns": [rf"\pL{{1,30}}x{index}" for index in range(50)]}, path) == 201


@pytest.mark.parametrize("schema", [{"pattern": "(ab|ba|a|b){1,500}c|$"}, {"x-kubernetes-validations": [HARD]}])
def test_patterns_that_search_for_long_hold_nobody(server: ApiServer, schema: dict[str, Any]) -> None:
    plural = "hards" if "pattern" in schema else "hardrules"
    text = {"type": "string", "maxLength": 100_000, **schema}
    establish(server, definition("patterns.example.com", version("v1", {"text": text}), plural=plural))
    path = f"/apis/patterns.example.com/v1/namespaces/default/{plural}"
    hard = {"apiVersion": "patterns.example.com/v1", "kind": plural[:-1].title(), "metadata": {"name": "one"}}
    with held_at_most(server, HELD):
        assert create(server, {**hard, "text": "ab" * 10_000}, path) == 201
        assert create(server, {**hard, "text": "ab" * 49_000}, path) in (201, 422)


POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
RULES = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}]
REFUSING = "!has(object.data) || object.data.all(key, !'abcdefgh'.matches(object.data[key]))"
LEFT = 45 * MEGABYTE  # of 31 patterns of about 0.7 MB; they count as 64 MB, because they may grow


@pytest.fixture
def policy(server: ApiServer) -> Iterator[None]:
    """A policy that matches a text with all patterns that an object has as its data."""
    spec = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": RULES}}
    spec["validations"] = [{"expression": REFUSING}]
    bound = {"policyName": "matching", "validationActions": ["Deny"]}
    for path, made in ((POLICIES, spec), (f"{POLICIES[:-3]}ybindings", bound)):
        assert ask(server, "POST", path, {"metadata": {"name": "matching"}, "spec": made}).status == 201
    until(lambda: create(server, {"metadata": {"name": "one"}, "data": {"a": "b"}}, MAPS) == 422)
    yield
    for path in (f"{POLICIES[:-3]}ybindings", POLICIES):
        ask(server, "DELETE", f"{path}/matching")


def test_patterns_that_expressions_match_with_are_not_kept_beyond_a_size(server: ApiServer, policy: None) -> None:
    """One user's objects, which are refused or never stored, have patterns of half a megabyte each."""
    before = memory(server.pid)
    for first in range(0, 100, 50):
        data = {f"k{number}": rf"\pL{{1,60}}{number}" for number in range(first, first + 50)}
        assert create(server, {"metadata": {"name": "one"}, "data": data}, MAPS) == 201
    at_most((memory(server.pid) - before) / MEGABYTE, LEFT / MEGABYTE, "{found:.0f} MB more, {limit:.0f} are allowed")
