"""The default roles and bindings of a minor: those that a kube-apiserver makes at its start."""

from __future__ import annotations

from pathlib import Path

from gateway.jsontypes import loads
from gateway.release.roles import Policy, policy_of


def default_policy(minor: str) -> Policy:
    """Objects by the plural of their kind; hack/rbac_policy.py has read those of the catalog's minor.

    Raises KeyError for a minor that is not known.
    """
    catalogued: Policy = loads(Path(__file__).with_name("bootstrap_policy.json").read_bytes())
    return policy_of(minor, catalogued)
