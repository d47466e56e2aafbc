"""Decoding by schema, as sigs.k8s.io/json decodes into Go types and encoding/json writes them."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.jsontypes import JsonObject, dumps, loads
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeError, DecodeReport, decode, parse_to_decode
from gateway.schema.empty_lists import null_empty_lists
from gateway.schema.encode import encode_stored
from gateway.schema.errors import MOST_HEAVY, MOST_ITEMS
from gateway.schema.order import in_go_order
from gateway.schema.types import Type, TypeKind
from tests.examples import examples

POD = type_for("", "v1", "Pod")
DEPLOYMENT = type_for("apps", "v1", "Deployment")
SECRET = type_for("", "v1", "Secret")
KINDS = [
    POD,
    DEPLOYMENT,
    SECRET,
    type_for("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
]
SCALARS: dict[TypeKind, st.SearchStrategy[Any]] = {
    TypeKind.STRING: st.text(max_size=3),
    TypeKind.INT32: st.integers(-(2**31), 2**31 - 1),
    TypeKind.INT64: st.integers(-(2**63), 2**63 - 1),
    TypeKind.FLOAT: st.integers(-5, 5) | st.floats(-5, 5),
    TypeKind.BOOL: st.booleans(),
    TypeKind.BYTES: st.sampled_from(["", "YQ==", "YR==", "YW\nJj"]),
    TypeKind.QUANTITY: st.sampled_from(["1", "0.5", "1.5Gi", 3]),
    TypeKind.TIME: st.sampled_from(["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5+01:00"]),
    TypeKind.MICROTIME: st.just("2020-01-01T00:00:00.000001+01:00"),
    TypeKind.INT_OR_STRING: st.sampled_from([1, "50%"]),
    TypeKind.ANY: st.sampled_from([{"a": [1]}, {}]),
}


@st.composite
def values(draw: st.DrawFn, type_: Type, depth: int = 0) -> Any:
    """JSON values that fit a type, with nulls, empties and unknown fields among them."""
    if type_.kind is TypeKind.STRUCT:
        names = draw(st.lists(st.sampled_from([*type_.fields, "unknown"]), max_size=4 if depth < 5 else 0, unique=True))
        members = {name: type_.fields.get(name) for name in names}
        return {n: draw(st.none() | values(f.type, depth + 1)) if f else {"x": 1} for n, f in members.items()}
    if type_.kind is TypeKind.LIST and type_.elem:
        return draw(st.lists(st.none() | values(type_.elem, depth + 1), max_size=2 if depth < 6 else 0))
    if type_.kind is TypeKind.MAP and type_.elem:
        return draw(st.dictionaries(st.text(max_size=2), st.none() | values(type_.elem, depth + 1), max_size=2))
    return draw(SCALARS[type_.kind])


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(KINDS).flatmap(lambda type_: st.tuples(st.just(type_), values(type_))))
def test_decoding_once_is_enough(case: tuple[Type, JsonObject]) -> None:
    type_, value = case
    before = deepcopy(value)
    decoded = decode(type_, value, DecodeReport())
    assert value == before
    report = DecodeReport()
    assert decode(type_, loads(dumps(decoded)), report) == decoded
    assert report.problems == []
    assert in_go_order(type_, decoded) == decoded
    stored = encode_stored(decoded, "K", "v1")
    assert stored.startswith(b'{"kind":"K","apiVersion":"v1","metadata":{')
    again = decode(type_, loads(stored), DecodeReport())
    again["metadata"].pop("uid", None)
    decoded["metadata"] = {
        k: v for k, v in decoded["metadata"].items() if k not in ("uid", "resourceVersion", "selfLink")
    }
    assert again == decoded | {"kind": "K", "apiVersion": "v1"}


def test_zero_values_are_written_where_go_writes_them() -> None:
    assert decode(POD, {"spec": {}}, DecodeReport()) == {"metadata": {}, "spec": {"containers": None}, "status": {}}
    written = decode(DEPLOYMENT, {"spec": {"replicas": 0, "paused": False, "template": None}}, DecodeReport())
    template = {"metadata": {}, "spec": {"containers": None}}
    assert written["spec"] == {"replicas": 0, "selector": None, "template": template, "strategy": {}}


def test_an_empty_list_that_is_refused_stays_what_was_sent() -> None:
    definition = type_for("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    obj: JsonObject = {"spec": {"versions": []}, "status": {"storedVersions": []}}
    null_empty_lists(definition, obj)
    assert obj == {"spec": {"versions": []}, "status": {"storedVersions": None}}


def test_empty_lists_of_fields_that_are_always_written_last_until_they_are_stored() -> None:
    sent = {"spec": {"containers": [], "initContainers": [], "volumes": [{"name": "v", "projected": {"sources": []}}]}}
    obj = decode(POD, sent, DecodeReport())
    assert obj["spec"]["containers"] == [] and "initContainers" not in obj["spec"]
    null_empty_lists(POD, obj)
    assert obj["spec"]["containers"] is None
    assert obj["spec"]["volumes"] == [{"name": "v", "projected": {"sources": None}}]


def test_nulls_and_empties_count_as_absent() -> None:
    metadata: JsonObject = {
        "name": "x",
        "labels": {},
        "annotations": None,
        "finalizers": [None],
        "creationTimestamp": None,
    }
    assert decode(POD, {"metadata": metadata}, DecodeReport())["metadata"] == {"name": "x", "finalizers": [""]}


@pytest.mark.parametrize(
    ("type_", "body", "message"),
    [
        (POD, "[]", "json: cannot unmarshal array into Go value of type v1.Pod"),
        (POD, '{"spec":{"volumes":[{"emptyDir":5}]}}',
         "json: cannot unmarshal number into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type "
         "v1.EmptyDirVolumeSource"),
        (POD, '{"kind":5}', "json: cannot unmarshal number into Go struct field Pod.TypeMeta.kind of type string"),
        (POD, '{"metadata":{"labels":{"a":1}}}',
         "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"),
        (DEPLOYMENT, '{"spec":{"replicas":1.0}}',
         "json: cannot unmarshal number 1.0 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (DEPLOYMENT, '{"spec":{"replicas":"x","paused":1}}',
         "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (DEPLOYMENT, '{"spec":{"paused":1,"strategy":{"rollingUpdate":{"maxSurge":true}}}}',
         "json: cannot unmarshal bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate."
         "maxSurge of type int32"),
        (SECRET, '{"data":{"a":"YQ="}}', "illegal base64 data at input byte 3"),
        (POD, '{"metadata":{"creationTimestamp":"soon"}}',
         'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"'),
    ],
)  # fmt: skip
def test_wrong_types_are_refused_in_the_words_of_go(type_: Type, body: str, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(type_, parse_to_decode(body.encode())[0], DecodeReport())
    assert str(caught.value) == message


def test_strict_problems_come_in_the_order_of_the_document() -> None:
    body = b'{"bogus":1,"spec":{"containers":[{"name":"a","nam":1,"name":"b"}],"x":1},"spec":{},"bogus":2}'
    report = DecodeReport()
    decoded = decode(POD, parse_to_decode(body)[0], report)
    assert report.problems == [
        'unknown field "bogus"',
        'unknown field "spec.containers[0].nam"',
        'duplicate field "spec.containers[0].name"',
        'unknown field "spec.x"',
        'duplicate field "spec"',
    ]
    assert decoded["spec"]["containers"][0]["name"] == "b"


def test_a_repeated_field_that_does_not_fit_is_refused_though_a_later_one_does() -> None:
    body = b'{"metadata":{"labels":{"a":true},"labels":{"b":"c"}}}'
    with pytest.raises(DecodeError, match="cannot unmarshal bool"):
        decode(POD, parse_to_decode(body)[0], DecodeReport())


def test_fractions_in_plain_values_are_quantities_too() -> None:
    claims = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": 0.5, "memory": 1e3}}}]}}
    decoded = decode(POD, claims, DecodeReport())
    assert decoded["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "500m", "memory": "1k"}


@pytest.mark.parametrize(
    ("group", "version", "kind", "body"),
    [
        ("apps", "v1", "ControllerRevision", '{"data": {"x": 1e999}}'),
        ("apps", "v1", "ControllerRevision", '{"data": {"x": [1e999]}, "unknown": 1}'),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", '{"spec": {"versions": [%s]}}'),
    ],
)
def test_numbers_in_free_json_are_not_lost(group: str, version: str, kind: str, body: str) -> None:
    schema = '{"name": "v1", "schema": {"openAPIV3Schema": {"default": 1e999}}}'
    value, _ = parse_to_decode(body.replace("%s", schema).encode())
    with pytest.raises(DecodeError, match="number 1e999 into Go value of type float64"):
        decode(type_for(group, version, kind), value, DecodeReport())


def test_the_lists_of_an_object_have_so_many_objects_together() -> None:
    half = [{}] * (MOST_ITEMS // 2)
    spec: JsonObject = {"hostAliases": half, "volumes": half}
    decode(POD, {"spec": spec}, DecodeReport())
    for more in ({"tolerations": [{}]}, {"tolerations": [{}], "hostAliases": [1, *half[1:]]}):
        with pytest.raises(DecodeError):
            decode(POD, {"spec": spec | more}, DecodeReport())
    with pytest.raises(DecodeError, match=f"more than {MOST_ITEMS} objects together; send fewer"):
        decode(POD, {"spec": spec | {"tolerations": [{}]}}, DecodeReport())


@pytest.mark.parametrize("member", ["containers", "initContainers", "ephemeralContainers"])
@pytest.mark.parametrize(
    ("sent", "most"), [(0, MOST_HEAVY), (300_000, 10_000), (960_000, 15_000), (3_000_000, MOST_HEAVY)]
)
def test_a_list_has_fewer_containers_than_other_objects(member: str, sent: int, most: int) -> None:
    decode(POD, {"spec": {member: [{}] * most}}, DecodeReport(), sent)
    with pytest.raises(DecodeError, match=f"a list of the object has more than {most} containers; send fewer"):
        decode(POD, {"spec": {member: [{}] * (most + 1)}}, DecodeReport(), sent)


def test_containers_in_etcd_are_not_bounded() -> None:
    assert decode(POD, {"spec": {"containers": [{}] * (MOST_HEAVY + 1)}}, DecodeReport(trusted=True))


def test_values_that_are_no_objects_are_not_counted() -> None:
    numbers = [1] * (MOST_ITEMS + 1)
    texts = ["a"] * (MOST_ITEMS + 1)
    sent: JsonObject = {"metadata": {"finalizers": texts}, "spec": {"securityContext": {"supplementalGroups": numbers}}}
    assert decode(POD, sent, DecodeReport())["spec"]["securityContext"]["supplementalGroups"] == numbers


def test_unknown_fields_of_a_schema_are_dropped_without_a_word() -> None:
    schema: JsonObject = {"type": "object", "additionalProperties": {"unknown": 1, "type": "string"}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    report = DecodeReport()
    definition = type_for("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    decoded = decode(definition, {"spec": {"versions": [version]}, "other": 1}, report)
    made = decoded["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert made["additionalProperties"] == {"type": "string"}
    assert report.problems == ['unknown field "other"']
