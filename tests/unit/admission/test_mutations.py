"""What mutations of policies make of objects: merged by the schema, patched, read strictly, bounded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.admission.policies.applying import MutationFailed, atoms
from gateway.admission.policies.mutation import MutatingPolicy
from gateway.admission.policies.target_type import TargetType
from gateway.cel.policies import PolicyExpressions
from gateway.http.status import StatusError
from gateway.kinds.builtin import builtin_registry
from gateway.validation.expressions import Use
from tests.unit.admission.test_expressions import activation

RESOURCES = builtin_registry().resources


def mutated(text: str, obj: dict[str, Any], resource: str = "configmaps", kind: str = "JSONPatch") -> Any:
    key = "jsonPatch" if kind == "JSONPatch" else "applyConfiguration"
    policy = MutatingPolicy("p", {"mutations": [{"patchType": kind, key: {"expression": text}}]})
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
    ],
)
def test_what_a_configuration_may_not_say_is_refused(text: str, problem: str) -> None:
    with pytest.raises(MutationFailed) as refused:
        mutated(text, pod(), "pods", "ApplyConfiguration")
    assert problem in str(refused.value)


def test_atomic_parts_are_found_wherever_they_are() -> None:
    config = {"spec": {"containers": [{"name": "c", "args": ["x"]}], "nodeSelector": {"a": "b"}}}
    type_ = RESOURCES["", "v1", "pods", ""].type
    assert list(atoms(config, type_)) == [".spec.containers[0].args", ".spec.nodeSelector"]
    assert not list(atoms({"metadata": {"finalizers": ["a/b"], "labels": {"a": "b"}}}, type_))


def test_patches_are_applied_in_their_order_and_a_failed_test_leaves_the_object_alone() -> None:
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
        ("{op: 'replace', path: '/kind', value: 'Nope'}", 'no kind "Nope" is registered for version "v1"'),
    ],
)
def test_what_a_patch_makes_is_read_strictly(patch: str, problem: str) -> None:
    with pytest.raises(StatusError) as refused:
        mutated(f"[JSONPatch{patch}]", config_map())
    assert refused.value.code == 500 and problem in refused.value.message


def test_a_mutation_that_multiplies_its_object_is_given_up() -> None:
    patches = "lists.range(5000).map(i, JSONPatch{op: 'add', path: '/data/k' + string(i), value: object})"
    with pytest.raises(MutationFailed, match="may not come to more than"):
        mutated(patches, config_map(a="x" * 100_000))


def test_types_of_objects_are_those_of_the_paths_to_them() -> None:
    expressions = PolicyExpressions(params=False, composed=True)
    assert expressions.check("Object{spec: Object.spec{}}", Use.APPLY_CONFIGURATION) is None
    fault = expressions.check("Object.spec{}", Use.APPLY_CONFIGURATION)
    assert fault is not None and fault.message == "must evaluate to Object but got Object.spec"
