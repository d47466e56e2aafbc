"""Admission policies: when they come into force, what mutations change, and that costly expressions delay no
request.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Refused, ask, wait_for
from apiserver_gateway.testing.requests import answer
from tests.forked import api_server
from tests.hostile.probe import cpu_seconds
from tests.integration.admission.webhook_servers import furnished, place, server, servers
from tests.limits import least, within
from tests.until import until

__all__ = ["place", "server", "servers"]

GROUP = "/apis/admissionregistration.k8s.io/v1"
Object = dict[str, Any]


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
    """A policy for one namespace and its binding, which are deleted at the end of the block. Yields their name."""
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
    """The message of a refusal; "" if the request is accepted."""
    try:
        ask(server, method, path, body)
    except Refused as error:
        return str(error)
    return ""


def test_a_policy_is_in_force_as_long_as_it_and_its_binding_exist(server: ApiServer, place: str) -> None:
    maps = f"/api/v1/namespaces/{place}/configmaps"
    spec = {"validations": [{"expression": "object.data.x == 'y'", "message": "x is not y"}]}
    for _ in range(5):
        with policy(server, "validating", place, [rule("configmaps")], spec, DENY):
            assert "x is not y" in refusal(server, "POST", maps, config_map("c", x="z"))
            assert not refusal(server, "POST", maps, config_map("c", x="y"))
        ask(server, "PUT", f"{maps}/c", config_map("c", x="z"))
        ask(server, "DELETE", f"{maps}/c")


def test_a_policy_is_in_force_from_the_first_second_of_a_server() -> None:
    """Other writes have raised etcd's revision: the cache may have to wait for its watch before it has the policy."""
    spec = {"validations": [{"expression": "false", "message": "no"}]}
    with api_server() as fresh, policy(fresh, "validating", "default", [rule("configmaps")], spec, DENY):
        assert refusal(fresh, "POST", "/api/v1/namespaces/default/configmaps?dryRun=All", config_map("c"))


def test_a_policy_is_in_force_when_it_is_written_among_other_writes(server: ApiServer, place: str) -> None:
    """etcd may give the policy's write a later revision than that of a write whose answer comes later."""
    maps = f"/api/v1/namespaces/{place}/configmaps"
    spec = {"validations": [{"expression": "false", "message": "no"}]}
    over = threading.Event()

    def others() -> None:
        while not over.is_set():
            ask(server, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "other-"}})

    with ThreadPoolExecutor(8) as pool:
        for _ in range(8):
            pool.submit(others)
        try:
            for _ in range(20):
                with policy(server, "validating", place, [rule("configmaps")], spec, DENY):
                    assert refusal(server, "POST", f"{maps}?dryRun=All", config_map("c"))
                assert not refusal(server, "POST", f"{maps}?dryRun=All", config_map("c"))
        finally:
            over.set()


def test_what_policies_say_is_counted(server: ApiServer, place: str) -> None:
    spec = {"validations": [{"expression": "object.data.x == 'y'"}], "failurePolicy": "Ignore"}
    maps = f"/api/v1/namespaces/{place}/configmaps?dryRun=All"
    with policy(server, "validating", place, [rule("configmaps")], spec, DENY) as name:
        ask(server, "POST", maps, config_map("c"))
        assert refusal(server, "POST", maps, config_map("c", x="z"))
        with answer(server, "GET", "/metrics") as answered:
            text = answered.read().decode()
    for action in ("allow", "deny"):
        labels = f'enforcement_action="{action}",error_type="invalid_error",policy="{name}",policy_binding="{name}"'
        assert f"apiserver_validating_admission_policy_check_total{{{labels}}} 1" in text


def test_another_replica_knows_of_a_policy_within_a_second(servers: tuple[ApiServer, ApiServer]) -> None:
    one, other = servers
    spec = {"validations": [{"expression": "false", "message": "no"}]}
    with furnished(one) as home, policy(one, "validating", home, [rule("configmaps")], spec, DENY):
        path = f"/api/v1/namespaces/{home}/configmaps?dryRun=All"
        with within(1.0):
            until(lambda: refusal(other, "POST", path, config_map("c")))


def test_the_next_write_sees_a_parameter_that_is_created_changed_and_bound_again(server: ApiServer, place: str) -> None:
    core = f"/api/v1/namespaces/{place}"
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "false", "messageExpression": "'the value is ' + params.data.v"}],
    }
    reference = {"paramRef": {"name": "p", "parameterNotFoundAction": "Deny"}}
    secret = {"metadata": {"name": "s"}}
    for attempt in range(3):  # the last policy of a param kind is deleted, and another one is created
        with policy(server, "validating", place, [rule("secrets")], spec, {**DENY, **reference}):
            assert "no params found" in refusal(server, "POST", f"{core}/secrets", secret)
            ask(server, "POST", f"{core}/configmaps", config_map("p", v=f"a{attempt}"))
            assert f"the value is a{attempt}" in refusal(server, "POST", f"{core}/secrets", secret)
            ask(server, "PUT", f"{core}/configmaps/p", config_map("p", v="b"))
            assert "the value is b" in refusal(server, "POST", f"{core}/secrets", secret)
            ask(server, "DELETE", f"{core}/configmaps/p")
            assert "no params found" in refusal(server, "POST", f"{core}/secrets", secret)


PARAM_GROUP = "params.example.org"


def param_kind(name: str) -> Object:
    """The CRD of a param kind with the plural `name`."""
    text = {"type": "object", "properties": {"v": {"type": "string"}}}
    names = {"plural": name, "singular": name, "kind": name.title(), "listKind": f"{name.title()}List"}
    version = {"name": "v1", "served": True, "storage": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": text}}}
    spec = {"group": PARAM_GROUP, "scope": "Namespaced", "names": names, "versions": [{**version, "schema": schema}]}
    return {"metadata": {"name": f"{name}.{PARAM_GROUP}"}, "spec": spec}


def test_parameters_of_a_kind_that_is_recreated_are_those_of_the_next_write(
    servers: tuple[ApiServer, ApiServer],
) -> None:
    """A policy may exist before its param kind. Another replica knows both within a second."""
    one, other = servers
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    name = f"k{uuid.uuid4().hex[:6]}"
    spec = {
        "paramKind": {"apiVersion": f"{PARAM_GROUP}/v1", "kind": name.title()},
        "validations": [{"expression": "false", "messageExpression": "'the value is ' + params.spec.v"}],
    }
    with furnished(one) as home:
        secrets, secret = f"/api/v1/namespaces/{home}/secrets?dryRun=All", {"metadata": {"name": "s"}}
        params = f"/apis/{PARAM_GROUP}/v1/namespaces/{home}/{name}"

        def param(of: str, value: str) -> Object:
            head = {"apiVersion": f"{PARAM_GROUP}/v1", "kind": name.title(), "metadata": {"name": of}}
            return {**head, "spec": {"v": value}}

        def says(text: str) -> None:
            assert text in refusal(one, "POST", secrets, secret)
            with within(1.0):
                until(lambda: text in refusal(other, "POST", secrets, secret))

        def bind(by: ApiServer, found: Object) -> None:
            version = ask(by, "GET", bound)["metadata"]["resourceVersion"]
            ask(by, "PUT", bound, {**found, "metadata": {**found["metadata"], "resourceVersion": version}})

        binding = {**DENY, "paramRef": {"name": "a", "parameterNotFoundAction": "Deny"}}
        with policy(one, "validating", home, [rule("secrets")], spec, binding) as called:
            bound = f"{GROUP}/validatingadmissionpolicybindings/{called}"
            for attempt in range(2):
                says("failed to configure policy")
                ask(one, "POST", definitions, param_kind(name))
                until(lambda: not refusal(one, "GET", params))
                says("no params found")
                ask(one, "POST", params, param("a", f"first-{attempt}"))
                says(f"the value is first-{attempt}")
                ask(other, "POST", params, param("b", "second"))
                found = ask(one, "GET", bound)
                found["spec"]["paramRef"]["name"] = "b"
                bind(other, found)
                with within(1.0):
                    until(lambda: "the value is second" in refusal(one, "POST", secrets, secret))
                found["spec"]["paramRef"] = {"selector": {}, "parameterNotFoundAction": "Deny"}
                bind(one, found)
                says("the value is")
                ask(one, "DELETE", params)
                says("no params found")
                ask(one, "DELETE", f"{definitions}/{name}.{PARAM_GROUP}")
                until(lambda: "failed to configure policy" in refusal(one, "POST", secrets, secret))
                found["spec"]["paramRef"] = {"name": "a", "parameterNotFoundAction": "Deny"}
                bind(one, found)


def test_objects_of_one_specification_are_each_mutated(server: ApiServer, place: str) -> None:
    """What follows from the pod specification alone is cached. The mutations of policies are not part of it."""
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


@pytest.mark.parametrize(("sort", "status"), [("validating", 422), ("mutating", 403)])
def test_a_policy_that_cannot_ask_a_namespace_that_is_not_there_fails_as_it_says(
    server: ApiServer, place: str, sort: str, status: int
) -> None:
    """The namespace of a connect request is not checked before. All other requests for a missing namespace get a 404
    earlier.
    """
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
    spec: Object = {"mutations": [mutation], "reinvocationPolicy": "Never"}
    if sort == "validating":
        spec = {"validations": [{"expression": "true"}]}
    connect = f"/api/v1/namespaces/no-{place}/pods/p/exec?command=x"
    rules = [rule("pods/exec", operations=("CONNECT",))]
    binding = DENY if sort == "validating" else {}
    with policy(server, sort, place, rules, spec, binding):
        said = refusal(server, "POST", connect)
        assert said.startswith(f"{status}: ")
        assert said.endswith(f'denied request: failed to configure policy: namespaces "no-{place}" not found')
    with policy(server, sort, place, rules, {**spec, "failurePolicy": "Ignore"}, binding):
        assert refusal(server, "POST", connect).endswith('pods "p" not found')


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

    def share() -> float:
        """The part of the server's CPU time between a read and its answer, of all CPU time in that period."""
        writer = threading.Thread(target=ask, args=(server, "POST", f"{maps}?dryRun=All", config_map("c")))
        ask(server, "GET", f"/api/v1/namespaces/{place}")
        writer.start()
        longest, used = 0.0, cpu_seconds(server.pid)
        while writer.is_alive():
            before = cpu_seconds(server.pid)
            ask(server, "GET", f"/api/v1/namespaces/{place}")
            longest = max(longest, cpu_seconds(server.pid) - before)
        writer.join()
        return longest / max(cpu_seconds(server.pid) - used, 0.4)

    with policy(server, "validating", place, [rule("configmaps")], spec, DENY):
        found = share()
        if found > 0.5:  # the server computes while this process waits for a core
            found = least(share)
    assert found <= 0.5, f"a read waited for {found:.0%} of it"
