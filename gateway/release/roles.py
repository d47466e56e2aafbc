"""Which default roles and bindings a minor has others of (data/roles.json, which hack/minors/roles.py makes)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gateway.jsontypes import JsonObject, loads
from gateway.release.minors import CATALOGUED

Policy = dict[str, list[JsonObject]]
"""Objects by the plural of their kind, each list in the order of namespaces and names."""

BY_GATES = frozenset(
    {
        *("system:controller:device-taint-eviction-controller", "system:controller:resource-claim-controller"),
        "system:controller:kube-apiserver-serving-clustertrustbundle-publisher",
        *("system:controller:podcertificaterequestcleaner", "system:controller:storage-version-migrator-controller"),
        *("system:cluster-trust-bundle-discovery", "system:kube-scheduler", "system:monitoring"),
    }
)
"""Default roles that follow from feature gates: an emulated minor has its own of these."""
NODE = "system:node"
_OF_NODES = frozenset({"clustertrustbundles", "podcertificaterequests"})
"""The role of nodes, and the resources in its rules that follow from gates; its other rules are the server's own."""


def policy_of(minor: str, catalogued: Policy) -> Policy:
    """The default roles and bindings of a minor, out of those of the catalog's. Raises KeyError for another minor."""
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
    """Those of a server that emulates a minor: its own, but for what follows from feature gates."""
    found: Policy = {}
    for kind, objects in binary.items():
        there = {each["metadata"]["name"]: each for each in emulated[kind]}
        own = (each for each in objects if each["metadata"]["name"] not in BY_GATES)
        kept = (_of_nodes(each, there) if each["metadata"]["name"] == NODE else each for each in own)
        theirs = (each for name, each in there.items() if name in BY_GATES)
        found[kind] = sorted((*kept, *theirs), key=lambda each: _name("", each))
    return found


def _of_nodes(own: JsonObject, there: dict[str, JsonObject]) -> JsonObject:
    """The role of nodes, without what the emulated minor's lacks because of a gate."""
    if "rules" not in own:
        return own
    gone = _OF_NODES - {name for rule in there[NODE]["rules"] for name in rule.get("resources", ())}
    return {**own, "rules": [rule for rule in own["rules"] if gone.isdisjoint(rule.get("resources", ()))]}


def _name(kind: str, obj: JsonObject) -> str:
    meta = obj["metadata"]
    return f"{kind}/{meta.get('namespace', '')}/{meta['name']}"
