"""Metrics that releases show differently: data/metrics.json.

    {"metrics": {NAME: {the first minor: its form, a `Form` of storage.instruments.snapshot}}}

Metrics come with the server's own code, so that emulation does not matter. A family that is not named, or has no form
for a minor, is shown as it is declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from gateway.jsontypes import loads
from gateway.release.minors import number
from storage.instruments.snapshot import Form


@lru_cache(maxsize=4)
def forms(binary: str) -> Mapping[str, Form]:
    """The forms of the families in a server of the minor `binary`, by name."""
    content: dict[str, Any] = loads((Path(__file__).parent / "data" / "metrics.json").read_bytes())
    found = {}
    for name, by_minor in content["metrics"].items():
        since = [minor for minor in by_minor if number(minor) <= number(binary)]
        if since:
            found[name] = _form(by_minor[max(since, key=number)])
    return found


def _form(given: dict[str, Any]) -> Form:
    labels, only = given.get("labels"), given.get("only")
    return Form(
        given.get("hidden", False),
        given.get("level", ""),
        None if labels is None else tuple(labels),
        None if only is None else (only[0], only[1]),
    )
