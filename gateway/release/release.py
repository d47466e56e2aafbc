"""A release of Kubernetes, as this server serves it."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from functools import lru_cache

from gateway.jsontypes import JsonObject
from gateway.release.gates import Gates
from gateway.release.minors import DEFAULT, GIT_VERSIONS, before

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Release:
    """What follows from --kubernetes-version and --feature-gates; made once a process and passed on."""

    minor: str  # "1.36"
    git_version: str  # "v1.36.3"
    gates: Gates

    @property
    def major_and_minor(self) -> tuple[str, str]:
        """("1", "36")."""
        major, _, minor = self.minor.partition(".")
        return major, minor

    @property
    def before(self) -> str:
        """The minor that replicas beside this server may have at least: "1.35"."""
        return before(self.minor)

    def version_info(self) -> JsonObject:
        """What /version answers, as apimachinery's `version.Info`."""
        major, minor = self.major_and_minor
        return {
            "major": major,
            "minor": minor,
            "emulationMajor": major,
            "emulationMinor": minor,
            "minCompatibilityMajor": major,
            "minCompatibilityMinor": self.before.partition(".")[2],
            "gitVersion": self.git_version,
            "gitCommit": "",
            "gitTreeState": "",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": f"python{platform.python_version()}",
            "compiler": sys.implementation.name,
            "platform": f"{sys.platform}/{_ARCHITECTURES.get(platform.machine(), platform.machine())}",
        }


@lru_cache(maxsize=4)
def release_of(gates: tuple[tuple[str, bool], ...] = (), minor: str = DEFAULT) -> Release:
    """The release of a minor with gates as said, the same object for the same.

    Raises InvalidGates; KeyError for a minor that is not served.
    """
    return Release(minor, GIT_VERSIONS[minor], Gates(minor, gates))


DEFAULT_GATES = release_of().gates
