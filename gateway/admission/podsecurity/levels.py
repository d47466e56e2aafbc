"""Levels, versions, and the policy in the labels of a namespace (page "Pod Security Admission")."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple

from gateway.validation.field import FieldError, invalid

PREFIX = "pod-security.kubernetes.io/"
LABELS = tuple(f"{PREFIX}{mode}{suffix}" for mode in ("enforce", "audit", "warn") for suffix in ("", "-version"))
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]*)", re.ASCII)
_MOST = (1 << 63) - 1  # the largest minor version that is valid
WRONG_LEVEL = "must be one of privileged, baseline, restricted"
WRONG_VERSION = 'must be "latest" or "v1.x"'


class Level(IntEnum):
    """A level of the Pod Security Standards; a greater one allows less."""

    PRIVILEGED = 0
    BASELINE = 1
    RESTRICTED = 2

    __hash__ = int.__hash__  # Enum's own is slow, and each write of a pod needs it

    @property
    def text(self) -> str:
        """The name of the level in labels."""
        return self.name.lower()


_LEVELS = {level.text: level for level in Level}


class LevelVersion(NamedTuple):
    """A level in the form of one minor version of Kubernetes; `minor` None is the latest."""

    level: Level
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.level.text}:{self.version}"

    @property
    def version(self) -> str:
        """The version in labels: "latest" or "v1.x"."""
        return "latest" if self.minor is None else f"v1.{self.minor}"

    def equivalent(self, other: LevelVersion) -> bool:
        """Whether the two allow the same: all versions of privileged do."""
        return self == other or self.level is other.level is Level.PRIVILEGED


_ANYTHING = LevelVersion(Level.PRIVILEGED)


class PodSecurityLevels(NamedTuple):
    """The levels beyond which pods are refused (enforce), get audit annotations (audit), and get warnings (warn)."""

    enforce: LevelVersion = _ANYTHING
    audit: LevelVersion = _ANYTHING
    warn: LevelVersion = _ANYTHING

    @property
    def modes(self) -> tuple[LevelVersion, LevelVersion, LevelVersion]:
        """The three, enforced first."""
        return self.enforce, self.audit, self.warn

    @property
    def fully_privileged(self) -> bool:
        """Whether all three levels are privileged, so that everything is allowed."""
        return self.enforce.level is self.audit.level is self.warn.level is Level.PRIVILEGED

    def equivalent(self, other: PodSecurityLevels) -> bool:
        """Whether the two allow the same in each mode."""
        return all(one.equivalent(two) for one, two in zip(self.modes, other.modes, strict=True))


def parse_level(text: str) -> Level | None:
    """The level of that name; None if there is none."""
    return _LEVELS.get(text)


def parse_version(text: str) -> tuple[bool, int | None]:
    """Whether a text is a version, and its minor version; None for "latest", and for a text that is not a version."""
    if text == "latest":
        return True, None
    found = _VERSION.fullmatch(text)
    if found is None or len(found[1]) > 19 or int(found[1]) > _MOST:
        return False, None
    return True, int(found[1])


def policy_of(labels: dict[str, str], defaults: PodSecurityLevels) -> tuple[PodSecurityLevels, list[FieldError]]:
    """The policy of a namespace with these labels, and the errors in them.

    An invalid level means restricted for enforce, and privileged for audit and warn; an invalid version means latest.
    A valid enforce label without a warn label sets the level of warn too, if the default of that is less strict.
    """
    errors: list[FieldError] = []
    enforce = _mode(labels, "enforce", defaults.enforce, Level.RESTRICTED, errors)
    audit = _mode(labels, "audit", defaults.audit, Level.PRIVILEGED, errors)
    warn = _mode(labels, "warn", defaults.warn, Level.PRIVILEGED, errors)
    enforced = labels.get(PREFIX + "enforce") in _LEVELS
    if enforced and PREFIX + "warn" not in labels and enforce.level > warn.level:
        warn = warn._replace(level=enforce.level) if PREFIX + "warn-version" in labels else enforce
    return PodSecurityLevels(enforce, audit, warn), errors


def _mode(
    labels: dict[str, str], mode: str, default: LevelVersion, fallback: Level, errors: list[FieldError]
) -> LevelVersion:
    level, minor = default.level, default.minor
    label = PREFIX + mode
    text = labels.get(label)
    if text is not None:
        found = parse_level(text)
        if found is None:
            errors.append(_wrong(label, text, WRONG_LEVEL))
        level = fallback if found is None else found
    label = f"{label}-version"
    text = labels.get(label)
    if text is not None:
        right, minor = parse_version(text)
        if not right:
            errors.append(_wrong(label, text, WRONG_VERSION))
    return LevelVersion(level, minor)


def _wrong(label: str, value: str, problem: str) -> FieldError:
    return invalid(f"metadata.labels[{label}]", value, problem)
