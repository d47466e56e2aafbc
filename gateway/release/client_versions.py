"""Versions of groups that a release's Go client knows, where releases differ: data/client_versions.json.

    {"versions": {GROUP: {the first minor: its versions}}}

The client comes with the server's own code, so that emulation does not matter.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from gateway.jsontypes import loads
from gateway.release.minors import number


@lru_cache(maxsize=4)
def client_versions(binary: str) -> tuple[tuple[str, str], ...]:
    """Groups and versions that clients of the minor `binary` know, of the groups in the data."""
    content = loads((Path(__file__).parent / "data" / "client_versions.json").read_bytes())
    found: list[tuple[str, str]] = []
    for group, by_minor in content["versions"].items():
        since = [minor for minor in by_minor if number(minor) <= number(binary)]
        if since:
            found += [(group, version) for version in by_minor[max(since, key=number)]]
    return tuple(found)
