"""The changes of behaviour that came with a minor and have no feature gate: data/changes.json.

    {"changes": {NAME: {"since": the first minor with the change, "what": the new behaviour, "source": the file
                        upstream, "compatible": the least minCompatibilityVersion with it, if it depends on that}}}

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


def is_there(binary: str, compatible: str, name: str) -> bool | None:
    """Whether a server of the minor `binary` has a change; None if no change has that name.

    Emulation does not matter: changes come with the server's own code. A few depend on `compatible`, which is the
    minCompatibilityVersion.
    """
    change = changes().get(name)
    if change is None:
        return None
    if "compatible" in change:
        return number(compatible) >= number(change["compatible"])
    return number(binary) >= number(change["since"])
