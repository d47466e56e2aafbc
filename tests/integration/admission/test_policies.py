"""Admission policies: what is in force when, what mutations leave of objects, and whom costly expressions hold up."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Refused, api_server, ask, namespace, wait_for
from apiserver_gateway.testing.requests import answer
from tests.integration.admission.webhook_servers import server, servers

__all__ = ["server", "servers"]

GROUP = "/apis/admissionregistration.k8s.io/v1"
Object = dict[str, Any]


@pytest.fixture
def place(server: ApiServer) -> Iterator[str]:
    with namespace(server) as name:
        yield name


def rule(*resources: str, operations: tuple[str, ...] = ("CREATE", "UPDATE"), group: str = "") -> Object:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": list(operations),
        "resources": list(resources),
    }


@contextmanager
def policy(
    server: ApiServer, sort: str, place: str, rules: list[Object], spec: Object, binding: Object
) -> Iterator[str]:
    """A policy for one namespace and a binding of it, which both go at the end of the block; their name."""
    name = f"{place}-{uuid.uuid4().hex[:6]}"
    constraints = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place}},
        "resourceRules": rules,
    }
    policies, bindings = (f"{GROUP}/{sort}admissionpolic{end}" for end in ("ies", "ybindings"))
    ask(server, "POST", policies, {"metadata": {"name": name}, "spec": {"matchConstraints": constraints, **spec}})
    ask(server, "POST", bindings, {"metadata": {"name": name}, "spec": {"policyName": name, **binding}})
    try:
        yield name
    finally:
        ask(server, "DELETE", f"{bindings}/{name}")
        ask(server, "DELETE", f"{policies}/{name}")


DENY = {"validationActions": ["Deny"]}


def config_map(name: str, **data: str) -> Object:
    return {"metadata": {"name": name}, "data": data}


def refusal(server: ApiServer, method: str, path: str, body: Object | None = None) -> str:
    """Why something is refused, "" if it is not."""
    try:
        ask(server, method, path, body)
    except Refused as error:
        return str(error)
    return ""


def test_a_policy_is_in_force_once_it_and_its_binding_are_written_and_no_longer_than_they_are(
    server: ApiServer, place: str
) -> None:
    maps = f"/api/v1/namespaces/{place}/configmaps"
    spec = {"validations": [{"expression": "object.data.x == 'y'", "message": "x is not y"}]}
    for _ in range(5):
        with policy(server, "validating", place, [rule("configmaps")], spec, DENY):
            assert "x is not y" in refusal(server, "POST", maps, config_map("c", x="z"))
            assert not refusal(server, "POST", maps, config_map("c", x="y"))
        ask(server, "PUT", f"{maps}/c", config_map("c", x="z"))
        ask(server, "DELETE", f"{maps}/c")


def test_a_policy_is_in_force_from_the_first_second_of_a_server() -> None:
    """etcd counts others' writes too: the cache may have to wait for its watch before it has the policy."""
    spec = {"validations": [{"expression": "false", "message": "no"}]}
    with api_server() as fresh, policy(fresh, "validating", "default", [rule("configmaps")], spec, DENY):
        assert refusal(fresh, "POST", "/api/v1/namespaces/default/configmaps?dryRun=All", config_map("c"))


def test_what_policies_say_is_counted(server: ApiServer, place: str) -> None:
    spec = {"validations": [{"expression": "object.data.x == 'y'"}], "failurePolicy": "Ignore"}
    maps = f"/api/v1/namespaces/{place}/configmaps?dryRun=All"
    with policy(server, "validating", place, [rule("configmaps")], spec, DENY) as name:
        ask(server, "POST", maps, config_map("c"))
        assert refusal(server, "POST", maps, config_map("c", x="z"))
        with answer(server, "GET", "/metrics") as answered:
            text = answered.read().decode()
    for action in ("allow", "deny"):
        labels = f'policy="{name}",policy_binding="{name}",error_type="invalid_error",enforcement_action="{action}"'
        assert f"apiserver_validating_admission_policy_check_total{{{labels}}} 1" in text


def test_another_replica_knows_of_a_policy_within_a_second(servers: tuple[ApiServer, ApiServer]) -> None:
    one, other = servers
    spec = {"validations": [{"expression": "false", "message": "no"}]}
    with namespace(one) as place, policy(one, "validating", place, [rule("configmaps")], spec, DENY):
        until = time.monotonic() + 1
        path = f"/api/v1/namespaces/{place}/configmaps?dryRun=All"
        while not refusal(other, "POST", path, config_map("c")):
            assert time.monotonic() < until


def test_the_next_write_sees_a_parameter_that_is_created_changed_and_bound_again(server: ApiServer, place: str) -> None:
    core = f"/api/v1/namespaces/{place}"
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "false", "messageExpression": "'the value is ' + params.data.v"}],
    }
    reference = {"paramRef": {"name": "p", "parameterNotFoundAction": "Deny"}}
    secret = {"metadata": {"name": "s"}}
    for attempt in range(3):  # the last policy of a kind of parameters goes, and another one comes
        with policy(server, "validating", place, [rule("secrets")], spec, {**DENY, **reference}):
            assert "no params found" in refusal(server, "POST", f"{core}/secrets", secret)
            ask(server, "POST", f"{core}/configmaps", config_map("p", v=f"a{attempt}"))
            assert f"the value is a{attempt}" in refusal(server, "POST", f"{core}/secrets", secret)
            ask(server, "PUT", f"{core}/configmaps/p", config_map("p", v="b"))
            assert "the value is b" in refusal(server, "POST", f"{core}/secrets", secret)
            ask(server, "DELETE", f"{core}/configmaps/p")
            assert "no params found" in refusal(server, "POST", f"{core}/secrets", secret)


def test_objects_of_one_specification_are_each_mutated(server: ApiServer, place: str) -> None:
    """What follows from a specification alone is remembered; what policies make of it is not part of that."""
    apply = (
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'side', image: object.metadata.name}], "
        "activeDeadlineSeconds: 77}}"
    )
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": apply}}
    spec = {"reinvocationPolicy": "Never", "mutations": [mutation]}
    pods = f"/api/v1/namespaces/{place}/pods"

    def make(at: int) -> Object:
        pod = {"metadata": {"name": f"p{at}"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        made: Object = ask(server, "POST", pods, pod)
        return made

    assert [len(make(at)["spec"]["containers"]) for at in range(4)] == [1] * 4
    with policy(server, "mutating", place, [rule("pods", operations=("CREATE",))], spec, {}):
        for at in range(4, 10):
            make(at)
            stored = ask(server, "GET", f"{pods}/p{at}")["spec"]
            assert [each["image"] for each in stored["containers"]] == ["i", f"p{at}"]
            assert stored["activeDeadlineSeconds"] == 77
            assert stored["containers"][1]["terminationMessagePath"] == "/dev/termination-log"  # it is defaulted
    assert len(make(10)["spec"]["containers"]) == 1


def test_mutations_belong_to_no_manager_and_are_made_of_each_kind_of_write(server: ApiServer, place: str) -> None:
    patch = "[JSONPatch{op: 'add', path: '/data/seen', value: request.operation}]"
    spec = {
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
    }
    maps = f"/api/v1/namespaces/{place}/configmaps"
    with policy(server, "mutating", place, [rule("configmaps")], spec, {}):
        made = ask(server, "POST", maps, config_map("c", x="1"))
        assert made["data"] == {"x": "1", "seen": "CREATE"}
        changed = ask(server, "PUT", f"{maps}/c", config_map("c", x="2"))
        assert changed["data"] == {"x": "2", "seen": "UPDATE"}
        for entry in changed["metadata"]["managedFields"]:
            assert "f:seen" not in entry["fieldsV1"].get("f:data", {})


def test_the_status_says_what_does_not_fit_the_kinds_of_a_policy(server: ApiServer, place: str) -> None:
    spec = {"validations": [{"expression": "object.spec.replicas == 'x'"}, {"expression": "has(object.metadata.name)"}]}
    with policy(server, "validating", place, [rule("deployments", group="apps")], spec, DENY) as name:
        path = f"{GROUP}/validatingadmissionpolicies/{name}"
        checked = wait_for(server, path, lambda obj: obj["status"].get("observedGeneration") == 1)
        [warning] = checked["status"]["typeChecking"]["expressionWarnings"]
        assert warning["fieldRef"] == "spec.validations[0].expression"
        assert warning["warning"].startswith(
            "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload"
        )


def test_a_costly_policy_holds_nobody_but_who_asks_for_it(server: ApiServer, place: str) -> None:
    costly = "lists.range(1000).all(i, lists.range(100).all(j, i + j >= 0))"
    spec = {"validations": [{"expression": costly}] * 9}
    maps = f"/api/v1/namespaces/{place}/configmaps"
    with policy(server, "validating", place, [rule("configmaps")], spec, DENY):
        writer = threading.Thread(target=ask, args=(server, "POST", maps, config_map("c")))
        began = time.monotonic()
        writer.start()
        longest = 0.0
        while writer.is_alive():
            before = time.monotonic()
            ask(server, "GET", f"/api/v1/namespaces/{place}")
            longest = max(longest, time.monotonic() - before)
        writer.join()
        took = time.monotonic() - began
    assert longest < max(took / 2, 0.2), f"a read took {longest:.3f} s of the {took:.3f} s of the write"
