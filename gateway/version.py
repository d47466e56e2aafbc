"""The Kubernetes version whose API is served."""

from __future__ import annotations

import platform
import sys

from gateway.jsontypes import JsonObject

MAJOR, MINOR = "1", "36"
GIT_VERSION = "v1.36.3"


def version_info() -> JsonObject:
    """What /version answers, as apimachinery's `version.Info`."""
    return {
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": MINOR,
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": "35",
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": sys.implementation.name,
        "platform": f"{sys.platform}/{_ARCHITECTURES.get(platform.machine(), platform.machine())}",
    }


_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
