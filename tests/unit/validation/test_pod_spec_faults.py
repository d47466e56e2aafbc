"""Pod specifications with one fault each, and kube-apiserver's errors."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.defaults import apply_defaults
from gateway.defaults.pod_level_resources import complete_pod_resources
from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.strategies import pods, strategy_for
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Gates
from gateway.validation.qos import qos_class

RESOURCE = builtin_registry().resources["", "v1", "pods", ""]
CONTEXT = WriteContext(
    Attributes(User("admin"), RequestInfo("create", "")), RESOURCE, "default", "web", now="2024-01-02T03:04:05Z"
)


def pod(**spec: Any) -> JsonObject:
    containers = [{"name": "main", "image": "web:1"}]
    made: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}}
    made["spec"] = {"containers": containers, **spec}
    apply_defaults("v1", "Pod", made)
    return made


def errors_of(obj: JsonObject) -> list[str]:
    return [str(error) for error in strategy_for("", "pods").validate(obj, CONTEXT)]


def container(**fields: Any) -> JsonObject:
    return {"containers": [{"name": "main", "image": "web:1", **fields}]}


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (
            {"containers": []},
            "spec.containers: Required value",
        ),
        (
            container(image=""),
            "spec.containers[0].image: Required value",
        ),
        (
            container(image=" web"),
            'spec.containers[0].image: Invalid value: " web": must not have leading or trailing whitespace',
        ),
        (
            container(imagePullPolicy="Sometimes"),
            'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", '
            '"IfNotPresent", "Never"',
        ),
        (
            container(ports=[{"containerPort": 70000}]),
            "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        (
            container(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
            'spec.containers[0].volumeMounts[0].name: Not found: "v"',
        ),
        (
            container(resources={"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}),
            'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
        (
            container(resources={"limits": {"bogus": "1"}, "requests": {"bogus": "1"}}),
            'spec.containers[0].resources.limits[bogus]: Invalid value: "bogus": must be a standard resource for '
            "containers",
        ),
        (
            container(env=[{"name": "A", "value": "x", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]),
            'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
        ),
        (
            container(livenessProbe={"exec": {"command": ["a"]}, "successThreshold": 2}),
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
        ),
        (
            {"restartPolicy": "Sometimes"},
            'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
        ),
        (
            {"volumes": [{"name": "v", "hostPath": {"path": "/a"}, "configMap": {"name": "c"}}]},
            "spec.volumes[0].configMap: Forbidden: may not specify more than 1 volume type",
        ),
        (
            {"securityContext": {"runAsUser": -1}},
            "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ),
        (
            {"tolerations": [{"operator": "Equal", "value": "v"}]},
            'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which '
            'means "match all values and all keys"',
        ),
        (
            {"dnsPolicy": "None"},
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
        ),
        (
            {"hostAliases": [{"ip": "10.0.0.01"}]},
            'spec.hostAliases[0].ip: Invalid value: "10.0.0.01": must not have leading 0s',
        ),
        (
            {"ephemeralContainers": [{"name": "d", "image": "d:1"}]},
            "spec.ephemeralContainers: Forbidden: cannot be set on create",
        ),
    ],
)
def test_one_fault(spec: JsonObject, error: str) -> None:
    assert error in errors_of(pod(**spec))


def test_a_plain_pod_is_valid() -> None:
    assert errors_of(pod()) == []


def test_names_of_containers_are_unique_over_all_lists() -> None:
    twin = [{"name": "main", "image": "i:1"}]
    assert errors_of(pod(initContainers=twin)) == ['spec.initContainers[0].name: Duplicate value: "main"']


def test_a_create_starts_the_status_and_the_generation() -> None:
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}
    obj = pod(**container(resources=resources))
    strategy_for("", "pods").prepare_for_create(obj, CONTEXT)
    assert obj["metadata"]["generation"] == 1
    assert obj["status"] == {"phase": "Pending", "qosClass": "Guaranteed"}


def updated(change: Any) -> list[str]:
    old = pod()
    old["metadata"] |= {"resourceVersion": "1", "uid": "u"}
    new = deepcopy(old)
    change(new["spec"])
    return [str(error) for error in strategy_for("", "pods").validate_update(new, old, CONTEXT)]


def test_an_update_may_change_images_and_add_tolerations() -> None:
    assert updated(lambda spec: spec["containers"][0].update(image="web:2")) == []
    assert updated(lambda spec: spec.update(tolerations=[{"operator": "Exists"}])) == []


def test_an_update_may_not_change_the_rest() -> None:
    (error,) = updated(lambda spec: spec["containers"][0].update(command=["b"]))
    assert error.startswith("spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`")
    assert '-   "Command": null,\n+   "Command": [\n+    "b"\n+   ],\n' in error


def test_warnings_about_ports_and_names() -> None:
    ports = [{"containerPort": 80, "name": "a"}, {"containerPort": 80, "name": "b"}]
    obj = pod(**container(ports=ports))
    obj["metadata"]["name"] = "web.1"
    warn = strategy_for("", "pods").warnings_on_create
    assert warn is not None
    assert list(warn(obj, CONTEXT)) == [
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is "
        "recommended: [must not contain dots]",
        "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
    ]


def _annotated(tolerations: str) -> list[str]:
    obj = pod()
    obj["metadata"]["annotations"] = {"scheduler.alpha.kubernetes.io/tolerations": tolerations}
    return errors_of(obj)


@pytest.mark.parametrize(
    ("tolerations", "error"),
    [
        ("{}", "object into Go value of type []core.Toleration"),
        ('"x"', "string into Go value of type []core.Toleration"),
        ("[1]", "number into Go value of type core.Toleration"),
        ('[{"key": 1}]', "number into Go struct field Toleration.Key of type string"),
        ('[{"key": "a", "KEY": 1}]', "number into Go struct field Toleration.Key of type string"),
        ('[{"effect": true}]', "bool into Go struct field Toleration.Effect of type core.TaintEffect"),
        ('[{"tolerationSeconds": 1e3}]', "number 1e3 into Go struct field Toleration.TolerationSeconds of type int64"),
    ],
)
def test_tolerations_in_an_annotation_are_read_as_go_reads_them(tolerations: str, error: str) -> None:
    at = 'metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/tolerations"'
    assert _annotated(tolerations) == [f"{at}: json: cannot unmarshal {error}"]


@pytest.mark.parametrize("tolerations", ["null", "[]", '[{"Key": "a", "more": 1, "effect": null}]'])
def test_tolerations_in_an_annotation_may_be_named_in_any_case(tolerations: str) -> None:
    assert _annotated(tolerations) == []


def test_tolerations_in_an_annotation_are_checked_as_those_of_the_specification() -> None:
    at = "metadata.annotations.scheduler.alpha.kubernetes.io/tolerations[0].operator"
    assert [error.partition(": ")[0] for error in _annotated("[null]")] == [at]


QUANTITIES = st.dictionaries(st.sampled_from(["cpu", "memory", "hugepages-2Mi"]), st.sampled_from(["0", "1", "2Gi"]))
RESOURCES = st.fixed_dictionaries({}, optional={"requests": QUANTITIES, "limits": QUANTITIES})


@given(st.none() | RESOURCES, st.lists(RESOURCES, min_size=1, max_size=3), st.sampled_from(["", "Guaranteed"]))
def test_resources_and_class_are_settled_once_after_the_rest_is_prepared(
    own: JsonObject | None, each: list[JsonObject], sent: str
) -> None:
    made = pod(containers=[{"name": f"c{n}", "image": "web:1", "resources": some} for n, some in enumerate(each)])
    made |= {"status": {"qosClass": sent}} if sent else {}
    made["spec"] |= {} if own is None else {"resources": own}
    expected = deepcopy(made)
    pods.STRATEGIES[""].prepare_for_create(expected, CONTEXT)
    complete_pod_resources(expected["spec"])
    expected["status"]["qosClass"] = qos_class(expected["spec"], own_if_set=True)
    strategy_for("", "pods", "", Gates("1.37")).prepare_for_create(made, CONTEXT)
    assert made == expected
