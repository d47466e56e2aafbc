"""The changes of behaviour that came with a minor and have no feature gate: data/changes.json.

    {"changes": {NAME: {"since": the first minor with the change, "what": the new behaviour, "source": the file
                        upstream, "emulated": true if a server that emulates an earlier minor goes without it}}}

Rules ask for a change by its name, as for a gate (`Gates.enabled`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gateway.jsontypes import loads
from gateway.release.minors import number


@cache
def changes() -> Mapping[str, Mapping[str, Any]]:
    """All changes by name."""
    content: dict[str, Any] = loads((Path(__file__).parent / "data" / "changes.json").read_bytes())
    found: dict[str, dict[str, Any]] = content["changes"]
    return found


def is_there(minor: str, name: str, binary: str = "") -> bool | None:
    """Whether a minor has a change; None if no change has that name.

    A server of the minor `binary` that emulates `minor` has the changes of `binary`, except those that follow the
    emulated version upstream.
    """
    change = changes().get(name)
    if change is None:
        return None
    return number(minor if change.get("emulated") or not binary else binary) >= number(change["since"])
