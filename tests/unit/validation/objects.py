"""Objects for tests of validation: minimal valid ones with changes, and the errors of a create or an update."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from gateway.defaults import apply_defaults
from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.strategies import strategy_for
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Gates
from gateway.release.minors import DEFAULT
from gateway.validation.field import FieldError

REGISTRY = builtin_registry()
MINIMAL: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("minimal.yaml").read_text())


def merged(obj: JsonObject, changes: JsonObject) -> JsonObject:
    """An object with members changed, at any depth, and those that are None removed."""
    result = dict(obj)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = deepcopy(value)
    return result


def made(resource: str, changes: JsonObject | None = None) -> JsonObject:
    """A minimal object with changes, defaulted."""
    version, _, _ = resource.rpartition("/")
    known = MINIMAL[resource]
    meta = {"name": "a", **({"namespace": "default"} if known["namespaced"] else {})}
    obj: JsonObject = {"apiVersion": version, "kind": known["kind"], "metadata": meta}
    obj = merged(merged(obj, known["members"]), changes or {})
    apply_defaults(version, known["kind"], obj)
    return obj


def _rules(resource: str, minor: str = DEFAULT) -> tuple[Strategy, WriteContext]:
    group_version, _, plural = resource.rpartition("/")
    group, _, version = group_version.rpartition("/")
    described = REGISTRY.resources[group, version, plural, ""]
    context = WriteContext(
        Attributes(User("admin"), RequestInfo("create", "")), described, "default", "a", now="2024-01-02T03:04:05Z"
    )
    return strategy_for(group, plural, gates=Gates(minor)), context


def created(resource: str, changes: JsonObject | None = None, minor: str = DEFAULT) -> JsonObject:
    """A minimal object with changes, as a create prepares it."""
    strategy, context = _rules(resource, minor)
    obj = made(resource, changes)
    strategy.prepare_for_create(obj, context)
    return obj


def create_errors(resource: str, changes: JsonObject, minor: str = DEFAULT) -> list[str]:
    """What a create of a minimal object with changes is told."""
    strategy, context = _rules(resource, minor)
    return _told(strategy.validate(created(resource, changes, minor), context), minor)


def _told(errors: list[FieldError], minor: str) -> list[str]:
    return [str(error.as_told(Gates(minor).enabled)) for error in errors]


def updated(
    resource: str, changes: JsonObject, before: JsonObject | None = None, minor: str = DEFAULT
) -> tuple[JsonObject, list[str]]:
    """Updates a minimal object, which has `before` in it, with `changes`. Returns the new object and the errors."""
    strategy, context = _rules(resource, minor)
    old = created(resource, before, minor)
    old["metadata"]["resourceVersion"] = "7"
    obj = merged(deepcopy(old), changes)
    apply_defaults(obj["apiVersion"], obj["kind"], obj)
    strategy.prepare_for_update(obj, old, context)
    return obj, _told(strategy.validate_update(obj, old, context), minor)


def update_errors(
    resource: str, changes: JsonObject, before: JsonObject | None = None, minor: str = DEFAULT
) -> list[str]:
    return updated(resource, changes, before, minor)[1]
