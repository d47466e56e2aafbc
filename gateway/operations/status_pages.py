"""/statusz and /flagz: the version, start time and flags of the process, as text for people or as members of a document
(KEP-4827, KEP-4828)."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from gateway.observability.process import began
from gateway.release.gates import Gates
from gateway.release.release import Release
from gateway.settings.config import Settings
from gateway.settings.flags import FLAGS, SECRET

_HEAD = "\napiserver {}\n"  # by which clients recognize the page: the component is called so, as in kube-apiserver
_NOTE = "This page is for people and may change; programs read /metrics and /version.\n\n"


class Statusz(NamedTuple):
    """What /statusz says: start time, up time and versions; `paths` are the pages that it names."""

    began: float
    seconds: int
    binary: str
    emulation: str
    paths: Sequence[str]

    def text(self) -> str:
        """The text for people."""
        up = self.seconds
        rows = (
            ("Started", datetime.fromtimestamp(self.began, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")),
            ("Up", f"{up // 3600} hr {up % 3600 // 60:02} min {up % 60:02} sec"),
            ("Python version", platform.python_version()),
            ("Binary version", self.binary),
            ("Emulation version", self.emulation),
            ("Paths", " ".join(self.paths)),
        )
        return _HEAD.format("statusz") + _NOTE + "".join(f"{name}: {value}\n" for name, value in rows)

    def members(self) -> dict[str, Any]:
        """The members of a Statusz; its Go version is the one of /version."""
        return {
            "startTime": datetime.fromtimestamp(int(self.began), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "uptimeSeconds": self.seconds,
            "goVersion": f"python{platform.python_version()}",
            "binaryVersion": self.binary,
            "emulationVersion": self.emulation,
            "paths": list(self.paths),
        }


def status_of(paths: Sequence[str], release: Release) -> Statusz:
    """The process's present status."""
    since = began()
    return Statusz(since, int(time.time() - since), release.git_version.removeprefix("v"), release.minor, sorted(paths))


def flags_text(flags: Mapping[str, str]) -> str:
    """The text of /flagz for people."""
    return _HEAD.format("flagz") + _NOTE + "".join(f"{name}={value}\n" for name, value in flags.items())


def flag_values(settings: Settings, gates: Gates) -> dict[str, str]:
    """All flags with their values, sorted, and all feature gates; secrets are only "(set)"."""
    found = {}
    for flag in sorted(FLAGS, key=lambda each: each.name):
        value = getattr(settings, flag.setting)
        if flag.setting in SECRET and value:
            value = "(set)"
        elif flag.setting == "feature_gates":
            value = ",".join(f"{name}={str(on).lower()}" for name, _, on in sorted(gates.states()))
        elif isinstance(value, frozenset | tuple):
            value = ",".join(sorted(map(str, value)) if isinstance(value, frozenset) else map(str, value))
        found[flag.name] = "" if value is None else str(value)
    return found
