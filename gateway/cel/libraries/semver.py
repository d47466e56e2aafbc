"""Kubernetes' library of semantic versions (https://semver.org, version 2.0.0)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.cel.values import EvaluationError, register
from gateway.validation.field import go_quote

_NUMBER = re.compile("[0-9]+", re.ASCII)
_WORD = re.compile("[0-9A-Za-z-]+", re.ASCII)
_UINT_MAX = (1 << 64) - 1


@dataclass(slots=True, frozen=True, eq=False)
class SemanticVersion:
    """A semantic version. `before` has the pre-release identifiers. The build metadata is dropped."""

    major: int
    minor: int
    patch: int
    before: tuple[int | str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SemanticVersion) and compare(self, other) == 0

    def __hash__(self) -> int:
        return hash((self.major, self.minor, self.patch, self.before))


register(SemanticVersion, "kubernetes.Semver")


def compare(one: SemanticVersion, other: SemanticVersion) -> int:
    """-1, 0 or 1 (semver.org, rule 11)."""
    first, second = (one.major, one.minor, one.patch), (other.major, other.minor, other.patch)
    if first != second:
        return 1 if first > second else -1
    if not one.before or not other.before:
        return bool(other.before) - bool(one.before)
    for mine, its in zip(one.before, other.before, strict=False):
        if mine != its:
            return _compare_parts(mine, its)
    return (len(one.before) > len(other.before)) - (len(one.before) < len(other.before))


def _compare_parts(one: int | str, other: int | str) -> int:
    if isinstance(one, int) and isinstance(other, int):
        return 1 if one > other else -1
    if isinstance(one, str) and isinstance(other, str):
        return 1 if one > other else -1
    return -1 if isinstance(one, int) else 1


def _number(text: str, name: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in {name} number {go_quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{name.capitalize()} number must not contain leading zeroes {go_quote(text)}")
    if int(text[:30]) > _UINT_MAX:
        raise EvaluationError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return int(text)


def _patch(text: str) -> tuple[str, str | None, str | None]:
    """The patch number, the pre-release and the build metadata of a text; None for one that is missing."""
    rest, plus, build = text.partition("+")
    number, dash, before = rest.partition("-")
    return number, before if dash else None, build if plus else None


def _before(text: str) -> int | str:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if _NUMBER.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {go_quote(text)}")
        return int(text[:30])
    if not _WORD.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {go_quote(text)}")
    return text


def parse(text: str) -> SemanticVersion:
    """Parses a version. Raises EvaluationError."""
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "major"), _number(parts[1], "minor")
    patch, before, build = _patch(parts[2])
    number = _number(patch, "patch")
    found = tuple(_before(each) for each in before.split(".")) if before is not None else ()
    for each in build.split(".") if build is not None else ():
        if not each:
            raise EvaluationError("Build meta data is empty")
        if not _WORD.fullmatch(each):
            raise EvaluationError(f"Invalid character(s) found in build meta data {go_quote(each)}")
    return SemanticVersion(major, minor, number, found)


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for at, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[at] = stripped if stripped[:1].isdigit() else f"0{stripped}"
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise EvaluationError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _semver(text: str, normalize: bool = False) -> SemanticVersion:
    return parse(_normalized(text) if normalize else text)


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except EvaluationError:
        return False
    return True


OVERLOADS: dict[str, Callable[..., Any]] = {
    "string_to_semver": _semver,
    "string_bool_to_semver": _semver,
    "is_semver_string": _is_semver,
    "is_semver_string_bool": _is_semver,
    "semver_is_greater_than": lambda one, other: compare(one, other) > 0,
    "semver_is_less_than": lambda one, other: compare(one, other) < 0,
    "semver_compare_to": compare,
    "semver_major": lambda of: of.major,
    "semver_minor": lambda of: of.minor,
    "semver_patch": lambda of: of.patch,
}
