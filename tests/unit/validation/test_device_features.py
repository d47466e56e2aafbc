"""Fields and rules of resource.k8s.io that 1.37 has: by gate, by change, and told as by kube-apiserver 1.37.2."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.kinds.gated_fields import drop_of
from gateway.kinds.identity import GroupResource
from gateway.kinds.selectable import names_of
from gateway.kinds.strategies import strategy_for
from gateway.release.gates import Gates
from gateway.validation.device_features import validate_node_resources, validate_partition_type
from gateway.validation.devices import validate_skipped
from gateway.validation.field import FieldError
from gateway.validation.request_policy import RequestPolicyRules, validate_request_policy
from gateway.validation.storage_health import validate_storage_health

OLD, NEW = Gates("1.36").enabled, Gates("1.37").enabled
GROUP = "resource.k8s.io"
SLICES, CLAIMS = GroupResource(GROUP, "resourceslices"), GroupResource(GROUP, "resourceclaims")
LATER, FRACTIONS = (
    RequestPolicyRules(ratcheted=True, fractional=False),
    RequestPolicyRules(ratcheted=True, fractional=True),
)


def texts(errors: list[FieldError]) -> list[str]:
    return list(map(str, errors))


def a_slice() -> dict[str, Any]:
    consumed = [{"counterSet": "c", "counters": {"x": {"value": "1"}}, "compatibilityGroups": ["g"]}]
    device = {"name": "a", "consumesCounters": consumed, "nodeAllocatableResources": {"cpu": {}}}
    spec = {"devices": [device], "partitionTypeAttribute": "a.b/c", "skipNodeOperations": ["*"]}
    return {"metadata": {}, "spec": spec}


def test_fields_of_slices_go_while_their_gates_are_off() -> None:
    drop, obj = drop_of(SLICES, NEW), a_slice()
    assert drop is not None
    drop(obj, a_slice())
    assert obj == a_slice()
    drop(obj, None)
    consumed = [{"counterSet": "c", "counters": {"x": {"value": "1"}}}]
    assert obj["spec"] == {"devices": [{"name": "a", "consumesCounters": consumed}]}


def test_fields_of_slices_stay_with_their_gates() -> None:
    on = Gates("1.37", [("DRADeviceCompatibilityGroups", True), ("DRAOptionalNodeOperations", True)])
    drop, obj = drop_of(SLICES, on.enabled), a_slice()
    assert drop is not None
    drop(obj, None)
    assert obj["spec"]["devices"][0]["consumesCounters"][0]["compatibilityGroups"] == ["g"]
    assert obj["spec"]["skipNodeOperations"] == ["*"] and "partitionTypeAttribute" not in obj["spec"]


@pytest.mark.parametrize("resource", ["resourceclaims", "resourceclaimtemplates"])
def test_derived_attributes_go(resource: str) -> None:
    derived = {"deviceClassName": "c", "derivedAttributes": [{"name": "a.b/c", "expression": "true"}]}
    requests = [{"name": "a", "exactly": dict(derived)}, {"name": "b", "firstAvailable": [dict(derived)]}]
    claim: dict[str, Any] = {"spec": {"devices": {"requests": requests}}}
    obj = claim if resource == "resourceclaims" else {"spec": claim}
    drop = drop_of(GroupResource(GROUP, resource), NEW)
    assert drop is not None
    drop(obj, None)
    bare = {"deviceClassName": "c"}
    expected = [{"name": "a", "exactly": bare}, {"name": "b", "firstAvailable": [bare]}]
    assert claim["spec"]["devices"]["requests"] == expected


def test_skipped_operations_go_from_the_status_of_claims_alone() -> None:
    drop = drop_of(CLAIMS, NEW, "status")
    assert drop is not None
    claim: dict[str, Any] = {"status": {"allocation": {"devices": {"results": [{"skipNodeOperations": ["*"]}]}}}}
    drop(claim, None)
    assert claim == {"status": {"allocation": {"devices": {"results": [{}]}}}}


def test_slices_are_selected_by_their_pool_from_1_37_on() -> None:
    assert "spec.pool.name" in names_of(SLICES, NEW).names
    assert "spec.pool.name" not in names_of(SLICES, OLD).names
    assert "spec.driver" in names_of(SLICES, OLD).names


def test_who_skips_preparation_skips_the_opposite() -> None:
    for skipped in ([], ["NodeUnprepareResources"], ["NodePrepareResources", "NodeUnprepareResources"]):
        assert not validate_skipped({"skipNodeOperations": skipped}, "spec")
    assert not validate_skipped({"skipNodeOperations": ["NodePrepareResources", "*"]}, "spec")
    assert texts(validate_skipped({"skipNodeOperations": ["NodePrepareResources"]}, "spec")) == [
        'spec.skipNodeOperations: Invalid value: ["NodePrepareResources"]: NodePrepareResources cannot be skipped '
        "unless NodeUnprepareResources is also skipped"
    ]


@pytest.mark.parametrize(
    ("attributes", "error"),
    [
        ({"t": {"string": "s"}}, ""),
        ({"a.b/t": {"string": "s"}, "t": {"int": 1}}, ""),
        ({}, "device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set"),
        ({"t": {"bool": True}}, "must be a string value because `partitionTypeAttribute` names this attribute"),
    ],
)
def test_devices_that_consume_counters_have_the_type_of_partitions(attributes: Any, error: str) -> None:
    devices = [{"name": "a", "consumesCounters": [{}], "attributes": attributes}, {"name": "b"}]
    found = texts(
        validate_partition_type({"driver": "a.b", "partitionTypeAttribute": "a.b/t", "devices": devices}, "spec")
    )
    assert len(found) == bool(error)
    for each in found:
        assert each.startswith("spec.devices[0].attributes[a.b/t]: ") and each.endswith(error)


def test_a_type_of_partitions_without_counters_is_refused() -> None:
    (error,) = validate_partition_type({"partitionTypeAttribute": "a.b/t", "devices": [{}]}, "spec")
    assert str(error).endswith("may only be set on a slice which declares devices that consume counters")


def test_resources_of_the_node_are_a_mapping_or_an_overhead() -> None:
    resources = {
        "cpu": {"mapping": {"capacityKey": "m", "capacityMultiplier": "0"}},
        "memory": {},
        "hugepages-1Gi": {"mapping": {"capacityMultiplier": "1", "deviceMultiplier": "-1"}},
        "pods": {"overhead": {}},
        "hugepages-2Mi": {"overhead": {"perPod": "-1"}, "mapping": {"capacityKey": "z"}},
    }
    device = {"capacity": {"m": {"value": "1"}}, "nodeAllocatableResources": resources}
    assert texts(validate_node_resources(device, "d")) == [
        'd.nodeAllocatableResources[cpu].mapping.capacityMultiplier: Invalid value: "0": must be positive',
        "d.nodeAllocatableResources[memory]: Required value: at least one of mapping or overhead must be set",
        'd.nodeAllocatableResources[hugepages-1Gi].mapping.deviceMultiplier: Invalid value: "-1": must be positive',
        "d.nodeAllocatableResources[hugepages-1Gi].mapping.capacityKey: Required value: capacityKey is required when "
        "capacityMultiplier is set",
        'd.nodeAllocatableResources[pods]: Invalid value: "pods": must be a node allocatable resource name',
        'd.nodeAllocatableResources[pods].overhead: Invalid value: "": at least one of perPod or perContainer must be '
        "set",
        'd.nodeAllocatableResources[hugepages-2Mi].mapping.capacityKey: Not found: "z"',
        "d.nodeAllocatableResources[hugepages-2Mi].mapping.capacityMultiplier: Required value: capacityMultiplier is "
        "required when capacityKey is set",
        'd.nodeAllocatableResources[hugepages-2Mi].overhead.perPod: Invalid value: "-1": must be non-negative',
    ]


def judged(span: dict[str, str], default: str, ranges: RequestPolicyRules) -> list[str]:
    return texts(validate_request_policy({"validRange": span, "default": default}, "10", "p", ranges))


def test_numbers_of_ranges_are_bounded_from_1_37_on() -> None:
    at = "p.validRange"
    before = RequestPolicyRules(ratcheted=False, fractional=False)
    assert judged({"min": "1", "step": "0"}, "1", before) == []
    assert judged({"min": "1", "step": "0"}, "1", LATER) == [
        f'{at}.step: Invalid value: "0": must be greater than zero'
    ]
    assert judged({"min": "-1", "step": "1"}, "1", LATER) == [
        f'{at}.min: Invalid value: "-1": must be greater than or equal to 0'
    ]
    assert judged({"min": "1", "step": "1"}, "10E", LATER)[-1:] == [
        f'{at}.default: Invalid value: "10E": must not be larger than 9223372036854775807'
    ]
    assert judged({"min": "2"}, "1", before) == [f'{at}.min: Invalid value: "1": default is less than min: 2']
    assert judged({"min": "2"}, "1", LATER) == [f'{at}.default: Invalid value: "1": default is less than min: 2']


def test_ranges_have_fractions_where_the_gate_is_on() -> None:
    span = {"min": "500m", "step": "500m"}
    multiple = 'p.validRange.step: Invalid value: "1200m": value is not a multiple of a given step (500m) from (500m)'
    assert judged(span, "1500m", FRACTIONS) == [] and judged(span, "1200m", FRACTIONS) == [multiple]
    assert judged({"min": "1u"}, "1", FRACTIONS) == [
        'p.validRange.min: Invalid value: "1u": value cannot be represented as a milli value'
    ]
    values = {"validValues": ["1500m", "2"], "default": "2"}
    assert texts(validate_request_policy(values, "10", "p", FRACTIONS)) == []
    assert texts(validate_request_policy(values, "10", "p", LATER)) == ['p.validValues[1]: Duplicate value: "2"']
    assert not NEW("DRAFractionalCapacityRange")
    assert Gates("1.37", compatible="1.37").enabled("DRAFractionalCapacityRange")


def test_capacities_that_an_update_leaves_are_not_judged_again_from_1_37_on() -> None:
    device = {"name": "a", "capacity": {"m": {"value": "1", "requestPolicy": {"default": "1"}}}}
    pool = {"name": "p", "resourceSliceCount": 1}
    obj = {"metadata": {}, "spec": {"driver": "a.b", "nodeName": "n", "pool": pool, "devices": [device]}}
    old = {"metadata": {}, "spec": {**obj["spec"], "devices": [{**device, "allowMultipleAllocations": True}]}}
    for minor, errors in (("1.36", 1), ("1.37", 0)):
        strategy = strategy_for(GROUP, "resourceslices", "", Gates(minor))
        assert len(strategy.validate_update(obj, old, None)) == errors  # type: ignore[arg-type]


def test_a_drivers_report_on_its_storage_is_validated() -> None:
    good = {
        "name": "a.b",
        "healthConditions": [{"status": "StorageDegraded", "reason": "A", "accessMode": "ReadOnlyMany"}],
    }
    assert validate_storage_health([good], "s") == []
    bad = {
        "name": "a.b",
        "healthConditions": [{"status": "Odd", "reason": "-", "message": "m" * 1025, "volumeMode": "x"}],
    }
    found = texts(validate_storage_health([good, bad, {"name": "c", "healthConditions": [{}] * 17}], "s"))
    assert [each.split(": ")[0] for each in found] == [
        "s[1]",
        "s[1].healthConditions[0].status",
        "s[1].healthConditions[0].reason",
        "s[1].healthConditions[0].message",
        "s[1].healthConditions[0].volumeMode",
        "s[2].healthConditions",
    ]


def test_selectors_and_configuration_that_a_stored_class_has_may_break_later_rules() -> None:
    strategy = strategy_for(GROUP, "deviceclasses", "", Gates("1.37"))
    context: Any = None
    opaque = {"driver": "d.e", "parameters": {"a": "b" * 11_000}}
    spec = {"selectors": [{"cel": {"expression": "duration(5) > duration('1s')"}}], "config": [{"opaque": opaque}]}
    old: dict[str, Any] = {"metadata": {"name": "c"}, "spec": spec}
    assert [error.field for error in strategy.validate(old, context)] == [
        "spec.selectors[0].cel.expression",
        "spec.config[0].opaque.parameters",
    ]
    assert strategy.validate_update(old, old, context) == []
    other = old | {"spec": spec | {"selectors": spec["selectors"] * 2}}
    assert [error.field for error in strategy.validate_update(other, old, context)] == [
        "spec.selectors[0].cel.expression",
        "spec.selectors[1].cel.expression",
    ]
