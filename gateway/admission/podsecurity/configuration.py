"""PodSecurityConfiguration: the policy of namespaces without labels, and the exemptions.

Page "Enforce Pod Security Standards by Configuring the Built-in Admission Controller".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.admission.configuration import Document, InvalidConfiguration, Leaf, Shape, of_kind
from gateway.admission.podsecurity.levels import (
    WRONG_LEVEL,
    WRONG_VERSION,
    LevelVersion,
    PodSecurityLevels,
    parse_level,
    parse_version,
)
from gateway.validation.names import is_dns1123_label, is_dns1123_subdomain

_GROUP = "pod-security.admission.config.k8s.io"
_VERSIONS = tuple(f"{_GROUP}/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
_MODES = ("enforce", "warn", "audit")
_SHAPE: dict[str, Shape] = {
    "defaults": {f"{mode}{suffix}": Leaf.TEXT for mode in _MODES for suffix in ("", "-version")},
    "exemptions": {"usernames": [Leaf.TEXT], "namespaces": [Leaf.TEXT], "runtimeClasses": [Leaf.TEXT]},
}


@dataclass(frozen=True, slots=True)
class Exemptions:
    """Users, namespaces and RuntimeClasses whose pods are not checked."""

    usernames: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    runtime_classes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PodSecurityConfiguration:
    """The policy of namespaces without labels, and the exemptions."""

    defaults: PodSecurityLevels
    exemptions: Exemptions


def configuration_of(document: Document) -> PodSecurityConfiguration:
    """Parses a PodSecurityConfiguration. Raises InvalidConfiguration."""
    given = of_kind(document, "PodSecurityConfiguration", _VERSIONS, _SHAPE)
    errors: list[str] = []
    defaults = given.get("defaults") or {}
    modes = {mode: _mode(defaults, mode, errors) for mode in _MODES}
    exempt = given.get("exemptions") or {}
    exemptions = Exemptions(
        namespaces=_names(exempt, "namespaces", is_dns1123_label, errors),
        runtime_classes=_names(exempt, "runtimeClasses", is_dns1123_subdomain, errors),
        usernames=_names(exempt, "usernames", lambda name: [] if name else ["username must not be empty"], errors),
    )
    if errors:
        raise InvalidConfiguration("; ".join(errors))
    return PodSecurityConfiguration(PodSecurityLevels(**modes), exemptions)


def _mode(defaults: dict[str, str], mode: str, errors: list[str]) -> LevelVersion:
    text, version = defaults.get(mode) or "privileged", defaults.get(f"{mode}-version") or "latest"
    level, (right, minor) = parse_level(text), parse_version(version)
    if level is None:
        errors.append(f'defaults.{mode}: Invalid value: "{text}": {WRONG_LEVEL}')
    if not right:
        errors.append(f'defaults.{mode}-version: Invalid value: "{version}": {WRONG_VERSION}')
    return LevelVersion(PodSecurityLevels().enforce.level if level is None else level, minor)


def _names(
    exempt: dict[str, list[str]], member: str, problems: Callable[[str], Sequence[str]], errors: list[str]
) -> frozenset[str]:
    found: set[str] = set()
    for index, name in enumerate(exempt.get(member) or ()):
        path = f"exemptions.{member}[{index}]"
        if wrong := problems(name):
            errors.append(f'{path}: Invalid value: "{name}": {", ".join(wrong)}')
        elif name in found:
            errors.append(f'{path}: Duplicate value: "{name}"')
        found.add(name)
    return frozenset(found)
