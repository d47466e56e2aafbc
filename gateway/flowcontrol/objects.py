"""Facts: the priority levels and flow schemas that every cluster has from its start ("API Priority and Fairness",
"Mandatory Configuration Objects" and "Suggested Configuration Objects").
"""

from __future__ import annotations

from collections.abc import Iterator

from gateway.jsontypes import JsonObject

GROUP = "flowcontrol.apiserver.k8s.io"
SCHEMAS, LEVELS = "flowschemas", "prioritylevelconfigurations"
EXEMPT, CATCH_ALL = "exempt", "catch-all"

# name -> shares, lendable percent, (queues, hand size); no queues: reject
_LEVELS: dict[str, tuple[int, int, tuple[int, int] | None]] = {
    "catch-all": (5, 0, None),
    "global-default": (20, 50, (128, 6)),
    "leader-election": (10, 0, (16, 4)),
    "node-high": (40, 25, (64, 6)),
    "system": (30, 33, (64, 6)),
    "workload-high": (40, 50, (128, 6)),
    "workload-low": (100, 90, (128, 6)),
}
_EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
_EVERY_URL = {"verbs": ["*"], "nonResourceURLs": ["*"]}
_PROBES = {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}
_NODES = {**_EVERYTHING, "apiGroups": [""], "resources": ["nodes", "nodes/status"]}


def _leases(*verbs: str) -> JsonObject:
    return {"verbs": [*verbs], "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "namespaces": ["*"]}


# name -> level, precedence, distinguisher, subjects, rules for resources, rules for other URLs
_Schema = tuple[str, int, str, tuple[str, ...], list[JsonObject], list[JsonObject]]
_EVERYBODY = ("system:unauthenticated", "system:authenticated")
_ALL: tuple[list[JsonObject], list[JsonObject]] = ([_EVERYTHING], [_EVERY_URL])
_SCHEMAS: dict[str, _Schema] = {
    "exempt": ("exempt", 1, "", ("system:masters",), *_ALL),
    "probes": ("exempt", 2, "", _EVERYBODY, [], [_PROBES]),
    "system-leader-election": (
        "leader-election", 100, "ByUser",
        ("user:system:kube-controller-manager", "user:system:kube-scheduler", "account:kube-system/*"),
        [_leases("get", "create", "update")], [],
    ),
    "system-node-high": ("node-high", 400, "ByUser", ("system:nodes",), [_NODES, _leases("*")], []),
    "system-nodes": ("system", 500, "ByUser", ("system:nodes",), *_ALL),
    "kube-controller-manager": ("workload-high", 800, "ByNamespace", ("user:system:kube-controller-manager",), *_ALL),
    "kube-scheduler": ("workload-high", 800, "ByNamespace", ("user:system:kube-scheduler",), *_ALL),
    "kube-system-service-accounts": ("workload-high", 900, "ByNamespace", ("account:kube-system/*",), *_ALL),
    "service-accounts": ("workload-low", 9000, "ByUser", ("system:serviceaccounts",), *_ALL),
    "global-default": ("global-default", 9900, "ByUser", _EVERYBODY, *_ALL),
    "catch-all": ("catch-all", 10000, "ByUser", _EVERYBODY, *_ALL),
}  # fmt: skip


def default_levels() -> Iterator[tuple[str, JsonObject]]:
    """The names and specs of all priority levels."""
    yield EXEMPT, {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}
    for name, (shares, lendable, queues) in _LEVELS.items():
        response: JsonObject = {"type": "Reject"}
        if queues:
            queuing = {"queues": queues[0], "handSize": queues[1], "queueLengthLimit": 50}
            response = {"type": "Queue", "queuing": queuing}
        limited = {"nominalConcurrencyShares": shares, "limitResponse": response, "lendablePercent": lendable}
        yield name, {"type": "Limited", "limited": limited}


def default_schemas() -> Iterator[tuple[str, JsonObject]]:
    """The names and specs of all flow schemas."""
    for name, (level, precedence, by, subjects, resources, urls) in _SCHEMAS.items():
        rule: JsonObject = {"subjects": [_subject(each) for each in subjects]}
        rule |= {"resourceRules": resources} if resources else {}
        rule |= {"nonResourceRules": urls} if urls else {}
        spec: JsonObject = {"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence}
        spec |= {"distinguisherMethod": {"type": by}} if by else {}
        yield name, {**spec, "rules": [rule]}


def _subject(text: str) -> JsonObject:
    kind, _, name = text.partition(":")
    if kind == "user":
        return {"kind": "User", "user": {"name": name}}
    if kind == "account":
        namespace, _, account = name.partition("/")
        return {"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": account}}
    return {"kind": "Group", "group": {"name": text}}
