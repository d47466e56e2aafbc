"""The default roles and bindings of a minor: those that a kube-apiserver makes at its start."""

from __future__ import annotations

from pathlib import Path

from gateway.jsontypes import JsonObject, loads
from gateway.release.minors import CATALOGUED


def default_policy(minor: str) -> dict[str, list[JsonObject]]:
    """Objects by the plural of their kind; hack/rbac_policy.py has read those of the catalog's minor.

    Raises KeyError for a minor that is not known.
    """
    catalogued: dict[str, list[JsonObject]] = loads(Path(__file__).with_name("bootstrap_policy.json").read_bytes())
    if minor == CATALOGUED:
        return catalogued
    from gateway.release.roles import policy_of  # most servers are of the catalog's minor

    return policy_of(minor, catalogued)
