"""Feature gates: those of a minor, their defaults, and the effect of --feature-gates.

The facts are in data/gates.json, which hack/minors/gates.py makes from Kubernetes' published modules. Messages and
rules are those of k8s.io/component-base/featuregate. A change of behaviour without a gate has a name in `changes`, and
is looked up in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from gateway.jsontypes import loads
from gateway.release.changes import is_there
from gateway.release.minors import compatible_with

Said = Iterable[tuple[str, bool]]
"""The values that --feature-gates gives: the name of each gate, and whether it is on."""


class FeatureStage(StrEnum):
    """The stage of a feature. The values are those of the label `stage` of kubernetes_feature_enabled."""

    ALPHA = "ALPHA"
    BETA = "BETA"
    GA = ""
    DEPRECATED = "DEPRECATED"
    PRE_ALPHA = "PRE-ALPHA"


GROUPS: Mapping[str, FeatureStage] = {"AllAlpha": FeatureStage.ALPHA, "AllBeta": FeatureStage.BETA}
"""The gates that stand for all gates of a stage. Both are off by default; each is itself of the stage that it names."""

SHARDS = "ShardedListAndWatch"  # the gate of the parameter shardSelector

SWITCHABLE = frozenset(
    {
        "APIResponseCompression",
        "CBORServingAndStorage",
        "ComponentFlagz",
        "ComponentStatusz",
        "DRADeviceCompatibilityGroups",
        "DRAFractionalCapacityRange",
        "DRAOptionalNodeOperations",
        "ExcludeAdmissionWebhookVirtualResources",
        "HPAScaleToZero",
        "MaxUnavailableStatefulSet",
        "MutatingAdmissionPolicy",
        "ServiceAccountNodeAudienceRestriction",
        SHARDS,
        "VolumeLimitScaling",
    }
)
"""Gates that this server serves on and off. Any other gate that kube-apiserver's code reads has its default here."""


class InvalidGates(ValueError):
    """--feature-gates names a gate that is unknown, locked, or not served with that value; the message says which."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A feature gate in one minor."""

    name: str
    stage: FeatureStage
    default: bool
    locked: bool
    served: bool  # whether kube-apiserver's code reads it; a gate of another component changes nothing here
    needs: tuple[str, ...]


class Gates:
    """The gates of a minor with their values, and the changes that the server has."""

    def __init__(self, minor: str, said: Said = (), binary: str = "", compatible: str = "") -> None:
        """`binary` is the server's own minor, which emulates `minor`; "" means `minor` itself. `compatible` is the
        minCompatibilityVersion; "" means its default.

        Raises InvalidGates; KeyError for a minor that is not known.
        """
        binary = binary or minor
        self._versions = minor, binary, compatible or compatible_with(minor, binary)
        self._on = _resolved(dict(said), *self._versions)
        self._asked: dict[str, bool] = {}  # the answers of `enabled`

    def enabled(self, name: str) -> bool:
        """Whether a feature is on, or a change is there; also for a gate that the minor has no more, or not yet.

        Raises KeyError for an unknown name.
        """
        if (known := self._asked.get(name)) is None:
            known = self._asked[name] = self._enabled(name)
        return known

    def _enabled(self, name: str) -> bool:
        minor, binary, compatible = self._versions
        on = self._on.get(name, is_there(binary, compatible, name))
        if on is not None:
            return on
        facts = _document()["gates"][name]
        there = _specific(facts, *self._versions) or facts[minor]
        return bool(there if isinstance(there, bool) else there[1])

    def states(self) -> Iterator[tuple[str, FeatureStage, bool]]:
        """Yields name, stage and value of each gate, except the gates that are not alpha yet (PRE-ALPHA)."""
        for name, stage in GROUPS.items():
            yield name, stage, self._on.get(name, False)
        for name, gate in emulated(*self._versions).items():
            if gate.stage is not FeatureStage.PRE_ALPHA:
                yield name, gate.stage, self._on.get(name, gate.default)


@cache
def _document() -> dict[str, Any]:
    content: dict[str, Any] = loads((Path(__file__).parent / "data" / "gates.json").read_bytes())
    return content


@cache
def known(minor: str) -> Mapping[str, Gate]:
    """The gates of a minor by name. Raises KeyError for a minor that is not known."""
    content = _document()
    if minor not in content["minors"]:
        raise KeyError(minor)
    found = {}
    for name, facts in content["gates"].items():
        if isinstance(there := facts[minor], list):
            stage, default, locked = there
            needs = tuple(facts.get("needs", ()))
            found[name] = Gate(name, FeatureStage(stage), default, locked, facts.get("served", False), needs)
    return found


def emulated(minor: str, binary: str, compatible: str) -> Mapping[str, Gate]:
    """The gates of a server of `binary` that emulates `minor`: those of `binary`, in their stages of `minor`.

    `compatible` is the minCompatibilityVersion: some gates are on only if no earlier replica is expected.
    """
    if minor == binary and compatible == compatible_with(minor, binary):
        return known(minor)
    found, then, facts = {}, known(minor), _document()["gates"]
    for name, gate in known(binary).items():
        if specific := _specific(facts[name], minor, binary, compatible):
            found[name] = replace(gate, stage=FeatureStage(specific[0]), default=specific[1], locked=specific[2])
        else:
            found[name] = then.get(name) or replace(gate, stage=FeatureStage.PRE_ALPHA, default=False, locked=False)
    return found


def _specific(facts: Mapping[str, Any], minor: str, binary: str, compatible: str) -> list[Any] | None:
    """The state of a gate that a later `binary` or another minCompatibilityVersion declares for `minor`, if any."""
    found: list[Any] | None = facts.get(f"{minor} with {compatible}") or facts.get(f"{minor} by {binary}")
    return found


def _resolved(said: Mapping[str, bool], minor: str, binary: str, compatible: str) -> dict[str, bool]:
    """The values that `said` sets, including those of all gates of AllAlpha and AllBeta. Raises InvalidGates."""
    if not said:
        return {}
    gates, on, wrong = emulated(minor, binary, compatible), dict[str, bool](), list[str]()
    for name, value in said.items():
        gate = gates.get(name)
        if gate is None and name not in GROUPS:
            raise InvalidGates(f"unrecognized feature gate: {name}; correct the name, or leave it out")
        if gate is not None and gate.locked and gate.default != value:
            locked = f"feature is locked to {_go(gate.default)}"
            wrong.append(f"cannot set feature gate {name} to {_go(value)}, {locked}")
        elif gate is not None and gate.stage is FeatureStage.PRE_ALPHA:
            versions = f"emulated version {minor}, min compatibility version {compatible}"
            wrong.append(f"cannot set feature gate {name} to {_go(value)}, feature is PreAlpha at {versions}")
        else:
            on[name] = value
    for name, stage in GROUPS.items():
        if name in said:
            on = {each.name: said[name] for each in gates.values() if each.stage is stage} | on
    wrong = wrong or _lacking(gates, on) or list(map(_refusal, unserved(gates, on)))
    if wrong:
        raise InvalidGates(wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")
    return on


def _refusal(setting: str) -> str:
    """The error of NAME=VALUE, a value that this server does not serve."""
    has = "does not have" if setting.endswith("=true") else "always has"
    return f"{setting}: this server {has} this feature; leave the gate out"


def _lacking(gates: Mapping[str, Gate], on: Mapping[str, bool]) -> list[str]:
    """The errors of gates that are on although a gate that they depend on is off."""
    found = []
    for gate in gates.values():
        if gate.needs and on.get(gate.name, gate.default):
            off = [each for each in gate.needs if each in gates and not on.get(each, gates[each].default)]
            if off:
                found.append(f"{gate.name} is enabled, but depends on features that are disabled: [{' '.join(off)}]")
    return found


def unserved(gates: Mapping[str, Gate], said: Mapping[str, bool]) -> list[str]:
    """NAME=VALUE of each gate of `said` whose value this server does not serve, which is one other than the default."""

    def differs(name: str, value: bool) -> bool:
        gate = gates.get(name)
        return gate is not None and gate.served and gate.default != value and name not in SWITCHABLE

    return [f"{name}={_go(value)}" for name, value in said.items() if differs(name, value)]


def _go(value: bool) -> str:
    return "true" if value else "false"


Enabled = Callable[[str], bool]
"""Takes the name of a gate or of a change: whether it is on (`Gates.enabled`)."""
