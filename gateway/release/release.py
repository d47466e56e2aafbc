"""A release of Kubernetes, as this server serves it."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from functools import lru_cache

from gateway.jsontypes import JsonObject
from gateway.release.gates import Gates
from gateway.release.minors import DEFAULT, GIT_VERSIONS, compatible_with

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Release:
    """The outcome of --kubernetes-version, --emulated-version, --min-compatibility-version and --feature-gates; made
    once a process, and passed on.

    With emulation, APIs and gates are those of `minor`; types and messages are those of `binary` (KEP-4330).
    """

    minor: str  # "1.35"
    git_version: str  # of `binary`: "v1.36.3"
    gates: Gates
    binary: str  # the minor of --kubernetes-version; the same as `minor` without emulation
    compatible: str  # the minCompatibilityVersion: the lowest minor that replicas beside this server may have

    @property
    def major_and_minor(self) -> tuple[str, str]:
        """("1", "36") of `minor`."""
        major, _, minor = self.minor.partition(".")
        return major, minor

    def version_info(self) -> JsonObject:
        """The answer of /version: apimachinery's `version.Info`."""
        major, emulated = self.major_and_minor
        return {
            "major": major,
            "minor": self.binary.partition(".")[2],
            "emulationMajor": major,
            "emulationMinor": emulated,
            "minCompatibilityMajor": major,
            "minCompatibilityMinor": self.compatible.partition(".")[2],
            "gitVersion": self.git_version,
            "gitCommit": "",
            "gitTreeState": "",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": f"python{platform.python_version()}",
            "compiler": sys.implementation.name,
            "platform": f"{sys.platform}/{_ARCHITECTURES.get(platform.machine(), platform.machine())}",
        }


def release_of(
    gates: tuple[tuple[str, bool], ...] = (), minor: str = DEFAULT, emulated: str = "", compatible: str = ""
) -> Release:
    """The release of `minor` with these values of gates; it emulates the minor `emulated` unless that is "".

    `compatible` is the minCompatibilityVersion; "" means its default, the minor before the emulated one. The same
    arguments give the same object. Raises InvalidGates; KeyError for a minor that is not served.
    """
    emulated = emulated or minor
    return _release(gates, minor, emulated, compatible or compatible_with(emulated, minor))


@lru_cache(maxsize=8)
def _release(gates: tuple[tuple[str, bool], ...], minor: str, emulated: str, compatible: str) -> Release:
    return Release(emulated, GIT_VERSIONS[minor], Gates(emulated, gates, minor, compatible), minor, compatible)


DEFAULT_RELEASE = release_of()
DEFAULT_GATES = DEFAULT_RELEASE.gates
