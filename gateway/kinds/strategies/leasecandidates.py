"""LeaseCandidates: who may become the leader that a Lease names (KEP-4355)."""

from __future__ import annotations

from gateway.cel.libraries.semver import SemanticVersion, compare, parse
from gateway.cel.values import EvaluationError
from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.leases import OLDEST, judge_strategy
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import immutable
from gateway.validation.field import FieldError, invalid, required
from gateway.validation.formats import is_config_map_key

_BINARY, _EMULATED = "binaryVersion", "emulationVersion"
_ZERO = SemanticVersion(0, 0, 0)  # that of a text which cannot be read


def _spec(obj: JsonObject) -> JsonObject:
    spec: JsonObject = obj.get("spec") or {}
    return spec


def _version(spec: JsonObject, name: str) -> tuple[SemanticVersion, list[FieldError]]:
    text = spec.get(name, "")
    try:
        return (parse(text) if text else _ZERO), []
    except EvaluationError:
        return _ZERO, [invalid(f"spec.{name}", text, "must be a valid semantic version")]


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    spec = _spec(obj)
    found = [] if spec.get("leaseName") else [required("spec.leaseName", "")]
    (emulated, wrong), (binary, also) = _version(spec, _EMULATED), _version(spec, _BINARY)
    shown, strategy = spec.get(_BINARY, ""), spec.get("strategy", "")
    found += wrong
    found += also if shown else [required(f"spec.{_BINARY}", "")]
    if shown and spec.get(_EMULATED) and compare(binary, emulated) < 0:
        found.append(invalid(f"spec.{_BINARY}", shown, f"must be greater than or equal to `{_EMULATED}`"))
    if not strategy:
        return [*found, required("spec.strategy", "")]
    if strategy == OLDEST and emulated == _ZERO:
        found.append(required(f"spec.{_EMULATED}", f"must be specified when `strategy` is '{OLDEST}'"))
    return found + judge_strategy(strategy)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    new, before = _spec(obj).get("leaseName", ""), _spec(old).get("leaseName", "")
    return _validate(obj, context) + immutable("spec.leaseName", new, before)


def _name(name: str, prefix: bool) -> list[str]:
    return list(is_config_map_key(name))


STRATEGIES = {
    "": Strategy(
        validate=_validate,
        validate_update=_validate_update,
        validate_name=_name,
        standard_finalizers=False,
        allow_create_on_update=True,
        allow_unconditional_update=False,
    )
}
