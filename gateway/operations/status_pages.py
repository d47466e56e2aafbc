"""/statusz and /flagz: pages for people with the version, start time and flags of the process (KEP-4827, KEP-4828)."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from gateway.observability.process import began
from gateway.release.gates import Gates
from gateway.release.release import Release
from gateway.settings.config import Settings
from gateway.settings.flags import FLAGS, SECRET

_HEAD = "apiserver-gateway {}\nThis page is for people and may change; programs read /metrics and /version.\n\n"


def statusz(paths: Sequence[str], release: Release) -> str:
    """The text of /statusz: start time, up time and versions; `paths` are the other pages that it names."""
    since = began()
    up = int(time.time() - since)
    started = datetime.fromtimestamp(since, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
    rows = (
        ("Started", started),
        ("Up", f"{up // 3600:02}hr {up % 3600 // 60:02}min {up % 60:02}sec"),
        ("Python version", platform.python_version()),
        ("Binary version", release.git_version.removeprefix("v")),
        ("Emulation version", release.minor),
        ("Paths", " ".join(paths)),
    )
    return _HEAD.format("statusz") + "".join(f"{name}: {value}\n" for name, value in rows)


def flagz(settings: Settings, gates: Gates) -> str:
    """The text of /flagz: all flags with their values, and all feature gates; secrets are only "(set)"."""
    lines = []
    for flag in sorted(FLAGS, key=lambda each: each.name):
        value = getattr(settings, flag.setting)
        if flag.setting in SECRET and value:
            value = "(set)"
        elif flag.setting == "feature_gates":
            value = ",".join(f"{name}={str(on).lower()}" for name, _, on in sorted(gates.states()))
        elif isinstance(value, frozenset | tuple):
            value = ",".join(sorted(map(str, value)) if isinstance(value, frozenset) else map(str, value))
        lines.append(f"{flag.name}={'' if value is None else value}\n")
    return _HEAD.format("flagz") + "".join(lines)
