"""Feature gates are those of kube-apiserver, with its stages, defaults and errors."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gateway.defaults.registry import GATED
from gateway.kinds.gated_fields import FIELDS, SPECIFICATIONS, gated
from gateway.release.gates import GROUPS, SWITCHABLE, FeatureStage, Gates, InvalidGates, Said, known
from gateway.release.minors import DEFAULT
from gateway.release.release import release_of
from gateway.settings.admission_plugins import PLUGINS

GATEWAY = Path(__file__).parents[3] / "gateway"


def states(minor: str, said: Said = ()) -> dict[str, tuple[FeatureStage, bool]]:
    return {name: (stage, on) for name, stage, on in Gates(minor, said).states()}


def test_a_gate_has_the_stage_and_the_default_of_the_minor() -> None:
    found = {minor: states(minor)["HPAScaleToZero"] for minor in ("1.34", "1.36", "1.37")}
    assert found == {
        "1.34": (FeatureStage.ALPHA, False),
        "1.36": (FeatureStage.ALPHA, False),
        "1.37": (FeatureStage.BETA, True),
    }


def test_a_minor_has_as_many_gates_as_its_kube_apiserver() -> None:
    counted = {minor: len(known(minor)) for minor in ("1.36", "1.37")}
    assert counted == {"1.36": 240, "1.37": 252}


def test_a_gate_that_a_minor_lacks_is_on_if_locked_before_and_off_if_later() -> None:
    assert "VolumeLimitScaling" not in known("1.34") and not Gates("1.34").enabled("VolumeLimitScaling")
    assert "APIServerTracing" not in known("1.37") and Gates("1.37").enabled("APIServerTracing")
    with pytest.raises(KeyError):
        Gates(DEFAULT).enabled("NoSuchGate")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"NoSuchGate": True}, "unrecognized feature gate: NoSuchGate; correct the name, or leave it out"),
        (
            {"KubeletTracing": False},
            "cannot set feature gate KubeletTracing to false, feature is locked to true",
        ),
        (
            {"KubeletTracing": False, "GitRepoVolumeDriver": True},
            "[cannot set feature gate KubeletTracing to false, feature is locked to true, "
            "cannot set feature gate GitRepoVolumeDriver to true, feature is locked to false]",
        ),
        (
            {"AtomicFIFO": False, "StaleControllerConsistencyJob": True},
            "StaleControllerConsistencyJob is enabled, but depends on features that are disabled: [AtomicFIFO]",
        ),
        (
            {"StorageVersionAPI": True},
            "StorageVersionAPI=true: this server does not have this feature; leave the gate out",
        ),
        (
            {"DRAConsumableCapacity": False},
            "DRAConsumableCapacity=false: this server always has this feature; leave the gate out",
        ),
        *(
            ({name: True}, f"{name}=true: this server does not have this feature; leave the gate out")
            for name in (
                "CSIVolumeHealth",
                "DRADerivedAttributes",
                "DRAListTypeAttributes",
                "DRANodeAllocatableResources",
            )
        ),
        (
            {"DRAPartitionableDevicesType": True, "DRAResourcePoolStatus": True},
            "DRAPartitionableDevicesType=true: this server does not have this feature; leave the gate out",
        ),
    ],
)
def test_what_cannot_be_set_is_refused_by_name(said: dict[str, bool], message: str) -> None:
    with pytest.raises(InvalidGates) as caught:
        release_of(tuple(said.items()))
    assert message in str(caught.value)


def test_a_group_sets_the_gates_of_its_stage_but_those_that_are_named() -> None:
    found = states(DEFAULT, [("AllAlpha", False), ("CBORServingAndStorage", True)])
    assert found["CBORServingAndStorage"] == (FeatureStage.ALPHA, True) and found["AllAlpha"] == (
        FeatureStage.ALPHA,
        False,
    )
    assert not any(on for name, (stage, on) in found.items() if stage is FeatureStage.ALPHA and name not in SWITCHABLE)
    with pytest.raises(InvalidGates, match="StorageVersionAPI=true: "):
        Gates("1.36", [("AllAlpha", True)])
    with pytest.raises(InvalidGates, match="CompositePodGroup is enabled, but depends on features that are disabled: "):
        Gates("1.37", [("AllAlpha", True)])


def test_gates_of_other_components_are_taken() -> None:
    assert states("1.36", [("MemoryQoS", True)])["MemoryQoS"] == (FeatureStage.ALPHA, True)
    assert states("1.37", [("MemoryQoS", False)])["MemoryQoS"] == (FeatureStage.BETA, False)


def test_each_gate_that_a_rule_asks_for_is_one() -> None:
    names = set(SWITCHABLE) | {gate for gate, _ in GATED.values()}
    names |= {each.gate for resource in (*FIELDS, *SPECIFICATIONS) for each in gated(resource)}
    names |= {place.asks for place in PLUGINS.values() if place.asks}
    for path in GATEWAY.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "enabled":
                names.update(each.value for each in node.args if isinstance(each, ast.Constant))
    assert {"CBORServingAndStorage", "HPAScaleToZero"} <= names
    for name in names - GROUPS.keys():
        Gates(DEFAULT).enabled(str(name))
