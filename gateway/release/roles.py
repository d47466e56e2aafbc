"""The default roles and bindings of each minor that differ from the catalog's (data/roles.json, made by
hack/minors/roles.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gateway.jsontypes import JsonObject, loads
from gateway.release.minors import CATALOGUED

Policy = dict[str, list[JsonObject]]
"""Objects by the plural of their kind; each list is sorted by namespace and name."""

BY_GATES = frozenset(
    {
        *("system:controller:device-taint-eviction-controller", "system:controller:resource-claim-controller"),
        "system:controller:kube-apiserver-serving-clustertrustbundle-publisher",
        *("system:controller:podcertificaterequestcleaner", "system:controller:storage-version-migrator-controller"),
        *("system:cluster-trust-bundle-discovery", "system:kube-scheduler", "system:monitoring"),
    }
)
"""Default roles that depend on feature gates: with emulation, these come from the emulated minor."""
NODE = "system:node"
_OF_NODES = frozenset({"clustertrustbundles", "podcertificaterequests"})
"""`NODE` is the role of nodes, and `_OF_NODES` are the resources whose rules in it depend on feature gates.

With emulation, its other rules are those of the server's own minor.
"""


def policy_of(minor: str, catalogued: Policy) -> Policy:
    """The default roles and bindings of a minor, given those of the catalog. Raises KeyError for an unknown minor."""
    if minor == CATALOGUED:
        return catalogued
    content: dict[str, Any] = loads((Path(__file__).parent / "data" / "roles.json").read_bytes())
    others: dict[str, JsonObject | None] = content[minor]
    found: Policy = {}
    for kind, objects in catalogued.items():
        named = {_name(kind, each): each for each in objects}
        named |= {name: each for name, each in others.items() if name.partition("/")[0] == kind and each is not None}
        found[kind] = [named[name] for name in sorted(named) if others.get(name, named[name]) is not None]
    return found


def emulated_policy(binary: Policy, emulated: Policy) -> Policy:
    """The default roles and bindings of a server that emulates a minor.

    They are the server's own (`binary`); those that depend on feature gates are from `emulated`.
    """
    found: Policy = {}
    for kind, objects in binary.items():
        there = {each["metadata"]["name"]: each for each in emulated[kind]}
        own = (each for each in objects if each["metadata"]["name"] not in BY_GATES)
        kept = (_of_nodes(each, there) if each["metadata"]["name"] == NODE else each for each in own)
        theirs = (each for name, each in there.items() if name in BY_GATES)
        found[kind] = sorted((*kept, *theirs), key=lambda each: _name("", each))
    return found


def _of_nodes(own: JsonObject, there: dict[str, JsonObject]) -> JsonObject:
    """The role of nodes without the rules that the emulated minor lacks because of a gate."""
    if "rules" not in own:
        return own
    gone = _OF_NODES - {name for rule in there[NODE]["rules"] for name in rule.get("resources", ())}
    return {**own, "rules": [rule for rule in own["rules"] if gone.isdisjoint(rule.get("resources", ()))]}


def _name(kind: str, obj: JsonObject) -> str:
    meta = obj["metadata"]
    return f"{kind}/{meta.get('namespace', '')}/{meta['name']}"
