"""The default roles and bindings that a kube-apiserver of some minor makes at its start."""

from __future__ import annotations

from pathlib import Path

from gateway.jsontypes import JsonObject, loads
from gateway.release.minors import CATALOGUED
from gateway.release.roles import emulated_policy, policy_of


def default_policy(minor: str, binary: str = "") -> dict[str, list[JsonObject]]:
    """The objects, by the plural of their kind. hack/rbac_policy.py generates the file for the catalog's minor.

    `binary` is the binary version if the server emulates `minor` (--emulated-version). Raises KeyError for an unknown
    minor.
    """
    if binary not in ("", minor):
        return emulated_policy(default_policy(binary), default_policy(minor))
    catalogued: dict[str, list[JsonObject]] = loads(Path(__file__).with_name("bootstrap_policy.json").read_bytes())
    if minor == CATALOGUED:
        return catalogued

    return policy_of(minor, catalogued)
