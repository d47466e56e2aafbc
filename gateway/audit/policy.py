"""The audit policy: which requests are recorded, at which level. A file of kind Policy, audit.k8s.io/v1.

As in apiserver's `pkg/audit/policy` and `pkg/apis/audit/validation`, the first rule that matches a request decides. A
request that no rule matches is not recorded.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any

from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.settings.configuration_file import InvalidConfiguration, load_yaml
from gateway.validation.names import is_dns1123_subdomain

logger = logging.getLogger(__name__)

API_VERSION = "audit.k8s.io/v1"
_LARGEST = 4 << 20  # bytes
_POLICY = {"apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"}
_LISTS = ("users", "userGroups", "verbs", "namespaces", "nonResourceURLs", "omitStages")
_RULE = {*_LISTS, "level", "resources", "omitManagedFields"}
_RESOURCES = {"group", "resources", "resourceNames"}


class AuditLevel(IntEnum):
    """How much of a request is recorded."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3

    @property
    def text(self) -> str:
        """The level's name in policies and events."""
        return _NAMES[self]


_NAMES = {
    AuditLevel.NONE: "None",
    AuditLevel.METADATA: "Metadata",
    AuditLevel.REQUEST: "Request",
    AuditLevel.REQUEST_RESPONSE: "RequestResponse",
}
_LEVELS = {name: level for level, name in _NAMES.items()}


class AuditStage(StrEnum):
    """The stage of a request at which an event is made."""

    REQUEST_RECEIVED = "RequestReceived"
    RESPONSE_STARTED = "ResponseStarted"
    RESPONSE_COMPLETE = "ResponseComplete"
    PANIC = "Panic"


_STAGES = {stage.value: stage for stage in AuditStage}


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources of a group that a rule matches; all of the group if it names none."""

    group: str
    resources: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()

    def match(self, info: RequestInfo) -> bool:
        if self.group not in (info.group, "*"):
            return False
        if not self.resources:
            return True
        if self.names and info.name not in self.names:
            return False
        combined = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        wanted = {combined, "*", f"{info.resource}/*"}
        if info.subresource:
            wanted.add(f"*/{info.subresource}")
        return not wanted.isdisjoint(self.resources)


@dataclass(frozen=True, slots=True)
class AuditRule:
    """One rule: its conditions, of which empty ones match every request, and what it records."""

    level: AuditLevel
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    resources: tuple[Resources, ...] = ()
    paths: tuple[str, ...] = ()
    omitted: frozenset[AuditStage] = frozenset()
    without_managed_fields: bool = False

    def matches(self, user: User | None, info: RequestInfo) -> bool:
        """Whether the rule matches a request; `user` is None if authentication found none."""
        if self.users and (user is None or user.name not in self.users):
            return False
        if self.groups and (user is None or self.groups.isdisjoint(user.groups)):
            return False
        if self.verbs and info.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return info.is_resource and self._matches_resource(info)
        if self.paths:
            return not info.is_resource and any(_path_matches(info.path, path) for path in self.paths)
        return True

    def _matches_resource(self, info: RequestInfo) -> bool:
        if self.namespaces and info.namespace not in self.namespaces:
            return False
        return not self.resources or any(each.match(info) for each in self.resources)


def _path_matches(path: str, wanted: str) -> bool:
    return wanted in ("*", path) or (wanted.endswith("*") and path.startswith(wanted.rstrip("*")))


@dataclass(frozen=True, slots=True)
class AuditPolicy:
    """The rules, in order."""

    rules: tuple[AuditRule, ...]

    def rule_for(self, user: User | None, info: RequestInfo) -> AuditRule | None:
        """The first rule that matches; None if the request is not recorded."""
        for rule in self.rules:
            if rule.matches(user, info):
                return rule if rule.level else None
        return None


def read_policy(path: Path) -> AuditPolicy:
    """Reads the policy from a YAML or JSON file. Raises OSError, InvalidConfiguration."""
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise InvalidConfiguration(f"it is larger than {_LARGEST} bytes")
    return policy_of(load_yaml(data))


def policy_of(found: Any) -> AuditPolicy:
    """Reads the policy from a parsed object. Unknown fields cause a warning, as in kube-apiserver. Raises
    InvalidConfiguration.
    """
    if not isinstance(found, dict) or found.get("kind") != "Policy" or found.get("apiVersion") != API_VERSION:
        raise InvalidConfiguration(f"it must be of kind Policy and apiVersion {API_VERSION}")
    _warn_of_unknown(found, _POLICY, "")
    rules, omitted = found.get("rules") or [], _stages(found, "")
    without = _boolean(found, "omitManagedFields", "") or False
    if not isinstance(rules, list):
        raise InvalidConfiguration("rules must be a list")
    if not rules:
        raise InvalidConfiguration("it has no rules")
    return AuditPolicy(tuple(_rule(each, f"rules[{index}]", omitted, without) for index, each in enumerate(rules)))


def _rule(found: Any, at: str, omitted: frozenset[AuditStage], without: bool) -> AuditRule:
    if not isinstance(found, dict):
        raise InvalidConfiguration(f"{at} must be an object")
    _warn_of_unknown(found, _RULE, f"{at}.")
    level = found.get("level") or ""
    if level not in _LEVELS:
        given = f"{level!r} is not supported: " if level else "required: "
        raise InvalidConfiguration(f"{at}.level: {given}give {', '.join(_LEVELS)}")
    texts = {name: _texts(found, name, at) for name in _LISTS}
    resources = found.get("resources") or []
    if not isinstance(resources, list):
        raise InvalidConfiguration(f"{at}.resources must be a list")
    paths = texts["nonResourceURLs"]
    _check_paths(paths, f"{at}.nonResourceURLs")
    if paths and (resources or texts["namespaces"]):
        raise InvalidConfiguration(
            f"{at}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs"
        )
    own = _boolean(found, "omitManagedFields", f"{at}.")
    return AuditRule(
        _LEVELS[level],
        frozenset(texts["users"]),
        frozenset(texts["userGroups"]),
        frozenset(texts["verbs"]),
        frozenset(texts["namespaces"]),
        tuple(_resources(each, f"{at}.resources[{index}]") for index, each in enumerate(resources)),
        paths,
        omitted | _stages(found, f"{at}."),
        without if own is None else own,
    )


def _resources(found: Any, at: str) -> Resources:
    if not isinstance(found, dict):
        raise InvalidConfiguration(f"{at} must be an object")
    _warn_of_unknown(found, _RESOURCES, f"{at}.")
    group = found.get("group") or ""
    if not isinstance(group, str) or (group not in ("", "*") and is_dns1123_subdomain(group)):
        raise InvalidConfiguration(f"{at}.group: {group!r} is not a name of an API group")
    resources, names = _texts(found, "resources", at), _texts(found, "resourceNames", at)
    if names and not resources:
        raise InvalidConfiguration(f"{at}.resourceNames: using resourceNames requires at least one resource")
    return Resources(group, resources, frozenset(names))


def _check_paths(paths: Sequence[str], at: str) -> None:
    for index, path in enumerate(paths):
        if path != "*" and not path.startswith("/"):
            raise InvalidConfiguration(f"{at}[{index}]: {path!r} must begin with a '/'")
        if "*" in path[:-1]:
            raise InvalidConfiguration(f"{at}[{index}]: {path!r} may have '*' as its last character only")


def _stages(found: JsonObject, at: str) -> frozenset[AuditStage]:
    names = _texts(found, "omitStages", at.rstrip("."))
    for index, name in enumerate(names):
        if name not in _STAGES:
            raise InvalidConfiguration(f"{at}omitStages[{index}]: {name!r}: allowed stages are {','.join(_STAGES)}")
    return frozenset(_STAGES[name] for name in names)


def _texts(found: JsonObject, name: str, at: str) -> tuple[str, ...]:
    values = found.get(name) or []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InvalidConfiguration(f"{at}{'.' if at else ''}{name} must be a list of texts")
    return tuple(values)


def _boolean(found: JsonObject, name: str, at: str) -> bool | None:
    value = found.get(name)
    if value is not None and not isinstance(value, bool):
        raise InvalidConfiguration(f"{at}{name} must be true or false")
    return value


def _warn_of_unknown(found: JsonObject, known: set[str], at: str) -> None:
    for name in found:
        if name not in known:
            logger.warning('--audit-policy-file: unknown field "%s%s" is ignored', at, name)
