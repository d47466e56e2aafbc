"""Scenarios as they are sent to a control plane below /clusters, whose users are another server's.

A control plane has one administrator, and no file of tokens: its administrator impersonates the users of tokens.csv.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

_REQUESTS = "request", "watch", "upgrade"  # what a step does


def rewritten(directory: Path, to: Path, token: str) -> Path:
    """Copies the scenarios of a directory. Its administrator has this token. Returns the copy's folder."""
    with (directory / "tokens.csv").open(encoding="utf-8") as file:
        users = {f"bearer {shown}": headers_of(token, *user) for shown, *user in csv.reader(file)}
    administrator = next(iter(users.values()))
    for path in (directory / "scenarios").glob("*/*.yaml"):
        copy = to / path.relative_to(directory)
        copy.parent.mkdir(parents=True, exist_ok=True)
        scenario = yaml.safe_load(path.read_text(encoding="utf-8"))
        for step in scenario["steps"]:
            if any(name in step for name in _REQUESTS):
                step["headers"] = asked_by(users, administrator, step.get("headers") or {})
        copy.write_text(yaml.safe_dump(scenario, sort_keys=False), encoding="utf-8")
    return to / "scenarios"


def asked_by(
    users: Mapping[str, Mapping[str, Any]], administrator: Mapping[str, Any], given: dict[str, Any]
) -> dict[str, Any]:
    """The headers of a request. Those who impersonate somebody are not impersonated themselves."""
    if "Authorization" not in given:
        impersonates = any(name.lower().startswith("impersonate-") for name in given)
        return given if impersonates else {**given, **administrator}
    shown = given["Authorization"]
    return {**given, **(users.get(shown.lower(), {}) if isinstance(shown, str) else {})}


def headers_of(token: str, name: str, uid: str, groups: str = "") -> dict[str, Any]:
    """The headers by which the administrator with a token is a user of the file."""
    shown: dict[str, Any] = {"Authorization": f"Bearer {token}", "Impersonate-User": name, "Impersonate-Uid": uid}
    return shown | ({"Impersonate-Group": groups.split(",")} if groups else {})
