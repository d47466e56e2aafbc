"""Mutations of policies: merged by the schema, patched, decoded strictly, with limits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from gateway.admission.policies.apply_configuration import MutationFailed, atoms
from gateway.admission.policies.keyed_maps import Unfit, fitting
from gateway.admission.policies.mutation import MutatingPolicy
from gateway.admission.policies.target_type import TargetType
from gateway.cel.patch_objects import ObjectValue
from gateway.cel.policies import PolicyExpressions
from gateway.http.status import StatusError
from gateway.kinds.builtin import builtin_registry
from gateway.validation.expressions import Use
from tests.unit.admission.test_expressions import activation

RESOURCES = builtin_registry().resources


def mutated(
    text: str,
    obj: dict[str, Any],
    resource: str = "configmaps",
    kind: str = "JSONPatch",
    variables: Sequence[dict[str, str]] = (),
) -> Any:
    key = "jsonPatch" if kind == "JSONPatch" else "applyConfiguration"
    mutations = [{"patchType": kind, key: {"expression": text}}]
    policy = MutatingPolicy("p", {"variables": variables, "mutations": mutations})
    served = RESOURCES["", "v1", resource, ""]
    target = TargetType.of(served, served.gvk)
    return asyncio.run(policy.mutate(policy.mutations[0], obj, activation(), target))


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


def pod(**container: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i", **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def test_a_configuration_is_merged_by_the_keys_of_lists_and_defaulted() -> None:
    before = pod(env=[{"name": "A", "value": "1"}])
    made = mutated(
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', env: ["
        "Object.spec.containers.env{name: 'B', value: '2'}]}, Object.spec.containers{name: 'd', image: 'j'}]}}",
        before,
        "pods",
        "ApplyConfiguration",
    )
    first, second = made["spec"]["containers"]
    assert [each["name"] for each in first["env"]] == ["A", "B"]
    assert second["terminationMessagePath"] == "/dev/termination-log"
    assert before == pod(env=[{"name": "A", "value": "1"}])  # what was there is left alone


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Object{spec: Object.spec{nodeSelector: {'a': 'b'}}}", "may not mutate atomic arrays, maps or structs: "),
        ("Object{spec: Object.spec{nope: 1}}", ".spec.nope: field not declared in schema"),
        ("Object{spec: Object.other{}}", 'unexpected type name "Object.other", expected "Object.spec"'),
        ("Object{spec: Object.spec{hostname: null}}", ".spec.hostname: expected string, got"),
        ("Object{spec: Object.spec{activeDeadlineSeconds: 5u}}", "expected numeric (int or float), got uint64"),
        ("Object{spec: {1: 'a'}}", "invalid return type: *dynamic.ObjectVal"),
        (
            "Object{metadata: Object.metadata{labels: {65: 'a'}}}",
            "expected map, got &{fail to convert field \"labels\": map key 'A' is of type types.Int, not string}",
        ),
        (
            "Object{spec: Object.spec{nodeSelector: {true: 'a'}}}",
            "map key %!q(types.Bool=true) is of type types.Bool, not string}",
        ),
        ("Object{metadata: Object.metadata{labels: {'a': {1: 'b'}}}}", 'Value:map[ref.Val]ref.Val{1:"b"}}'),
        ("Object{nope: Object.nope{a: {1: 'b'}}}", ".nope: field not declared in schema"),
        (
            "Object{spec: Object.spec{containers: [{'name': 'c'}]}}",
            "element 0: associative list with keys may not",
        ),
        ("Object{spec: {'securityContext': {'runAsUser': 5}}}", ": expected map, got &{map[runAsUser:5]}"),
        ("Object{spec: {'containers': [{'name': 'c'}]}}", ".spec.containers: expected list, got &{[{name: c}]}"),
        (
            "Object{metadata: Object.metadata{labels: {'a': ['b']}}}",
            "string, got &value.valueUnstructured{Value:[]ref.Val{",
        ),
        ("Object{metadata: Object.metadata{finalizers: [['a']]}}", "[={{undefined}}]: expected string, got"),
        (
            "Object{metadata: Object.metadata{labels: {'a': timestamp('2020-01-01T00:00:00Z')}}}",
            "Value:time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)}",
        ),
        (
            "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', resources: "
            "Object.spec.containers.resources{limits: {'cpu': quantity('1')}}}]}}",
            "limits.cpu: expected any scalar, got &{1}",
        ),
    ],
)
def test_what_a_configuration_may_not_say_is_refused(text: str, problem: str) -> None:
    with pytest.raises(MutationFailed) as refused:
        mutated(text, pod(), "pods", "ApplyConfiguration")
    assert problem in str(refused.value)


def test_what_an_expression_takes_from_its_object_is_json_wherever_it_puts_it() -> None:
    before = pod(env=[{"name": "A", "value": "1"}])
    taken = "object.spec.containers[0].env.filter(e, e.name == 'A')"
    text = (
        f"Object{{spec: Object.spec{{containers: [Object.spec.containers{{name: 'c', env: {taken}}}]}},"
        " metadata: Object.metadata{annotations: {'kind': type(1)}}}"
    )
    made = mutated(text, before, "pods", "ApplyConfiguration")
    assert made["spec"]["containers"][0]["env"] == before["spec"]["containers"][0]["env"]
    assert made["metadata"]["annotations"] == {"kind": "int"}


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        ("finalizers: 'a/b,c/d'.split(',')", ".metadata.finalizers: expected list, got &{[a/b c/d]}"),
        (
            "labels: {'a': 'b1'.findAll('[a-z]')}",
            '.labels.a: expected string, got &value.valueUnstructured{Value:[]string{"b"}}',
        ),
        ("finalizers: [] + 'a/b'.split(',')", ".metadata.finalizers: expected list, got &{[a/b]}"),
    ],
)
def test_lists_that_functions_make_of_texts_are_none_of_json(made: str, problem: str) -> None:
    with pytest.raises(MutationFailed) as refused:
        mutated(f"Object{{metadata: Object.metadata{{{made}}}}}", config_map(), kind="ApplyConfiguration")
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    "made", ["'a/b'.split(',') + ['c/d']", "['a/b', 'c/d'].map(each, each)", "'a/b,c/d'.split(',').slice(0, 2)"]
)
def test_lists_that_are_made_of_such_lists_are(made: str) -> None:
    text = f"Object{{metadata: Object.metadata{{finalizers: {made}}}}}"
    assert mutated(text, config_map(), kind="ApplyConfiguration")["metadata"]["finalizers"] == ["a/b", "c/d"]
    patches = f"[JSONPatch{{op: 'add', path: '/metadata/finalizers', value: {made.replace(' + ', ' + [] + ')}}}]"
    assert mutated(patches, config_map())["metadata"]["finalizers"] == ["a/b", "c/d"]


NODE_PORT = "Object{spec: Object.spec{ports: [Object.spec.ports{port: 80, protocol: 'TCP', targetPort: %s}]}}"


@pytest.mark.parametrize(
    ("value", "printed"), [("5u", "5"), ("b'a'", "[97]"), ("duration('1s')", "1s"), ("null", "NULL_VALUE")]
)
def test_what_is_no_json_is_refused_where_anything_may_be_too(value: str, printed: str) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {}}
    with pytest.raises(MutationFailed) as refused:
        mutated(NODE_PORT % value, service, "services", "ApplyConfiguration")
    assert f".targetPort: expected map, got &{{{printed}}}" in str(refused.value)


def test_what_an_expression_reads_may_be_as_deep_as_it_is() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    made = fitting(ObjectValue("Object", {"taken": [deep], "made": [[]]}), [{"spec": deep}])
    assert isinstance(made, ObjectValue)
    assert made["taken"][0] is deep
    assert isinstance(made["made"][0], Unfit)


def test_atomic_parts_are_found_wherever_they_are() -> None:
    config = {"spec": {"containers": [{"name": "c", "args": ["x"]}], "nodeSelector": {"a": "b"}}}
    type_ = RESOURCES["", "v1", "pods", ""].type
    assert list(atoms(config, type_)) == [".spec.containers[0].args", ".spec.nodeSelector"]
    assert not list(atoms({"metadata": {"finalizers": ["a/b"], "labels": {"a": "b"}}}, type_))


def test_patches_apply_in_order_and_a_failed_test_changes_nothing() -> None:
    patches = (
        "[JSONPatch{op: 'add', path: '/data/b', value: '2'}, JSONPatch{op: 'test', path: '/data/a', value: 'X'}, "
        "JSONPatch{op: 'move', from: '/data/b', path: '/data/c'}]"
    )
    assert mutated(patches.replace("X", "1"), config_map(a="1"))["data"] == {"a": "1", "c": "2"}
    assert mutated(patches, config_map(a="1")) == config_map(a="1")
    with pytest.raises(MutationFailed, match="JSON Patch: remove operation does not apply"):
        mutated("[JSONPatch{op: 'remove', path: '/nope/x'}]", config_map())


@pytest.mark.parametrize(
    ("patch", "problem"),
    [
        ("{op: 'add', path: '/nope', value: 1}", 'strict decoding error: unknown field "nope"'),
        ("{op: 'add', path: '/data', value: {'a': 1}}", "cannot unmarshal number into Go struct field ConfigMap.data"),
        ("{op: 'replace', path: '/kind', value: 'Secret'}", "converting (v1.Secret) to (core.ConfigMap)"),
        ("{op: 'replace', path: '/kind', value: 'Pod'}", 'strict decoding error: unknown field "data"'),
        ("{op: 'replace', path: '/kind', value: 'Nope'}", 'no kind "Nope" is registered for version "v1"'),
    ],
)
def test_what_a_patch_makes_is_read_strictly(patch: str, problem: str) -> None:
    with pytest.raises(StatusError) as refused:
        mutated(f"[JSONPatch{patch}]", config_map())
    assert refused.value.code == 500 and problem in refused.value.message


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("quantity('1')", "type conversion error from 'Quantity' to '*structpb.Value'"),
        ("type(1)", "type conversion not supported for 'type'"),
        ("{1: 'a'}", "unsupported type conversion from 'int' to string"),
        ("{true: 'a'}", "type conversion error from bool to 'string'"),
    ],
)
def test_values_of_patches_that_are_nothing_of_json_are_refused(value: str, said: str) -> None:
    with pytest.raises(MutationFailed) as refused:
        mutated(f"[JSONPatch{{op: 'add', path: '/data/a', value: {value}}}]", config_map())
    assert str(refused.value).endswith(f"could not marshal to JSON: {said}")


def test_a_whole_number_of_a_patch_is_an_integer_and_a_null_is_equal_to_nothing() -> None:
    patch = "[JSONPatch{op: 'add', path: '/spec/activeDeadlineSeconds', value: 5.0}]"
    seconds = mutated(patch, pod(), "pods")["spec"]["activeDeadlineSeconds"]
    assert seconds == 5 and type(seconds) is int
    tested = "[JSONPatch{op: 'test', path: '/data/nope', value: null}, JSONPatch{op: 'remove', path: '/data/a'}]"
    assert mutated(tested, config_map(a="1", b="2")) == config_map(a="1", b="2")
    assert mutated(tested.replace(", value: null", ""), config_map(a="1", b="2"))["data"] == {"b": "2"}


def test_a_mutation_that_multiplies_its_object_is_given_up() -> None:
    patches = "lists.range(5000).map(i, JSONPatch{op: 'add', path: '/data/k' + string(i), value: object})"
    with pytest.raises(MutationFailed, match="may not come to more than"):
        mutated(patches, config_map(a="x" * 100_000))


@pytest.mark.parametrize("kind", ["ApplyConfiguration", "JSONPatch"])
def test_a_value_that_doubles_with_each_variable_is_given_up_at_once(kind: str) -> None:
    """What it would be is a matter of gigabytes, and of hours to walk over."""
    doubled = [{"name": "v0", "expression": "{'a': 'b'}"}]
    for number in range(1, 40):
        before = f"variables.v{number - 1}"
        doubled.append({"name": f"v{number}", "expression": f"{{'a': {before}, 'b': {before}}}"})
    text = "Object{data: {'a': 'b'}, metadata: Object.metadata{labels: variables.v39}}"
    if kind == "JSONPatch":
        text = "[JSONPatch{op: 'add', path: '/data/x', value: variables.v39}]"
    with pytest.raises(MutationFailed, match="may not come to more than"):
        mutated(text, config_map(), kind=kind, variables=doubled)


def test_types_of_objects_are_those_of_the_paths_to_them() -> None:
    expressions = PolicyExpressions(params=False, composed=True)
    assert expressions.check("Object{spec: Object.spec{}}", Use.APPLY_CONFIGURATION) is None
    fault = expressions.check("Object.spec{}", Use.APPLY_CONFIGURATION)
    assert fault is not None and fault.message == "must evaluate to Object but got Object.spec"
