"""--authorization-mode=Node: a kubelet may do what the role system:node allows, and read the objects that the pods on
its node refer to.

As kube-apiserver's `plugin/pkg/auth/authorizer/node`, with its messages. It never denies: it allows, or has no opinion.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.access.authorization import ALLOWED, NO_OPINION, Decision, Verdict
from gateway.access.nodes.graph import NodeGraph
from gateway.access.nodes.identity import node_of
from gateway.access.rbac.rules import PolicyRule
from gateway.access.selection import selects_node
from gateway.http.request_info import RequestInfo
from gateway.kinds.attributes import Attributes
from gateway.release.gates import Enabled
from gateway.validation.field import go_quote

LEASES = "kube-node-lease"
_READ = frozenset({"get", "list", "watch"})
_MANY = frozenset({"list", "watch", "deletecollection"})
_OWN = frozenset({"get", "create", "update", "patch", "delete"})


def _no(reason: str) -> Verdict:
    return Verdict(Decision.NO_OPINION, reason)


class NodeAuthorizer:
    """Decides about requests of nodes; has no opinion on other users."""

    def __init__(self, graph: NodeGraph, rules: Sequence[PolicyRule], enabled: Enabled) -> None:
        """`rules` are those of the role system:node; `enabled` tests features and changes of the release."""
        self._graph, self._rules = graph, tuple(rules)
        self._asks_certificates = enabled("PodCertificateRequest")
        self._has_volume_health, self._narrowed = enabled("CSIVolumeHealth"), enabled("NodeWritesNarrowed")

    def known(self, attributes: Attributes) -> Verdict | None:
        """NO_OPINION for a user that is not a node; None for a node."""
        return NO_OPINION if node_of(attributes.user) is None else None

    async def authorize(self, attributes: Attributes) -> Verdict:
        """The verdict on a request."""
        node = node_of(attributes.user)
        if node is None:
            return NO_OPINION
        if not node:
            return _no(f"unknown node for user {go_quote(attributes.user.name)}")
        info = attributes.info
        if not info.is_resource:
            return self._by_rules(info)
        match info.group, info.resource:
            case ("", "secrets" | "configmaps"):
                return await self._read_of_namespace(node, info)
            case ("", "persistentvolumeclaims") if info.subresource == "status":
                if info.verb not in ("update", "patch"):
                    return _no("can only get/update/patch this type")
                return await self._related(node, info)
            case ("", "persistentvolumeclaims" | "persistentvolumes"):
                return await self._get(node, info)
            case ("resource.k8s.io", "resourceclaims") | ("storage.k8s.io", "volumeattachments"):
                return await self._get(node, info)
            case ("", "serviceaccounts"):
                return await self._service_account(node, info)
            case ("coordination.k8s.io", "leases"):
                return _lease(node, info)
            case ("storage.k8s.io", "csinodes"):
                if info.subresource == "status" and self._narrowed:
                    return self._csi_node_status(node, info)
                return _csi_node(node, info)
            case ("resource.k8s.io", "resourceslices"):
                return await self._slice(node, info)
            case ("", "nodes"):
                return _node(node, info)
            case ("", "pods"):
                return await self._pod(node, info)
            case ("certificates.k8s.io", "podcertificaterequests"):
                return await self._certificate(node, info) if self._asks_certificates else NO_OPINION
        return self._by_rules(info)

    def _by_rules(self, info: RequestInfo) -> Verdict:
        combined = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        return ALLOWED if any(rule.allows(info, combined) for rule in self._rules) else NO_OPINION

    async def _related(self, node: str, info: RequestInfo) -> Verdict:
        if not info.name:
            return _no("No Object name found")
        if await self._graph.is_related(node, info.resource, info.namespace, info.name):
            return ALLOWED
        return _no(f"no relationship found between node '{node}' and this object")

    async def _get(self, node: str, info: RequestInfo) -> Verdict:
        if info.verb != "get":
            return _no("can only get individual resources of this type")
        if info.subresource:
            return _no("cannot get subresource")
        return await self._related(node, info)

    async def _read_of_namespace(self, node: str, info: RequestInfo) -> Verdict:
        if info.verb not in _READ:
            return _no("can only read resources of this type")
        if info.subresource:
            return _no("cannot read subresource")
        if not info.namespace:
            return _no("can only read namespaced object of this type")
        return await self._related(node, info)

    async def _service_account(self, node: str, info: RequestInfo) -> Verdict:
        if info.verb == "get" and not info.subresource:
            return await self._read_of_namespace(node, info)
        if info.verb != "create" or not info.name:
            return _no("can only create tokens for individual service accounts")
        if info.subresource != "token":
            return _no("can only create token subresource of serviceaccount")
        return await self._related(node, info)

    async def _slice(self, node: str, info: RequestInfo) -> Verdict:
        if info.subresource:
            return _no("cannot authorize ResourceSlice subresources")
        if info.verb == "create":
            return ALLOWED
        if info.verb in _OWN:
            return await self._related(node, info)
        if info.verb not in _MANY:
            verbs = "get, watch, list, create, update, patch, delete, deletecollection"
            return _no(f"only the following verbs are allowed for a ResourceSlice: {verbs}")
        if selects_node(info, "spec.nodeName", node):
            return ALLOWED
        return _no("can only list/watch/deletecollection resourceslices with nodeName field selector")

    def _csi_node_status(self, node: str, info: RequestInfo) -> Verdict:
        if not self._has_volume_health:
            return _no("CSINode status access requires CSIVolumeHealth feature")
        if info.verb not in ("get", "update", "patch"):
            return _no("can only get, update, or patch CSINode status")
        if info.name != node:
            return _no("can only access CSINode with the same name as the requesting node")
        return ALLOWED

    async def _certificate(self, node: str, info: RequestInfo) -> Verdict:
        if info.subresource:
            return _no("nodes may not access the status subresource of PodCertificateRequests")
        match info.verb:
            case "create":
                return ALLOWED
            case "get":
                return await self._related(node, info)
            case "list" | "watch":
                if selects_node(info, "spec.nodeName", node):
                    return ALLOWED
                return _no("can only list/watch podcertificaterequests with nodeName field selector")
        return _no(f"nodes may not {info.verb} podcertificaterequests")

    async def _pod(self, node: str, info: RequestInfo) -> Verdict:
        match info.subresource, info.verb:
            case ("", "get"):
                return await self._get(node, info)
            case ("", "list" | "watch"):
                if selects_node(info, "spec.nodeName", node):
                    return ALLOWED
                if info.name:
                    return await self._related(node, info)
                return _no("can only list/watch pods with spec.nodeName field selector")
            case ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create"):
                return ALLOWED
        return NO_OPINION


def _lease(node: str, info: RequestInfo) -> Verdict:
    if info.verb not in _OWN:
        return _no("can only get, create, update, patch, or delete a node lease")
    if info.namespace != LEASES:
        return _no(f"can only access leases in the {go_quote(LEASES)} system namespace")
    if info.verb != "create" and info.name != node:
        return _no("can only access node lease with the same name as the requesting node")
    return ALLOWED


def _csi_node(node: str, info: RequestInfo) -> Verdict:
    if info.verb not in _OWN:
        return _no("can only get, create, update, patch, or delete a CSINode")
    if info.subresource:
        return _no("cannot authorize CSINode subresources")
    if info.verb != "create" and info.name != node:
        return _no("can only access CSINode with the same name as the requesting node")
    return ALLOWED


def _node(node: str, info: RequestInfo) -> Verdict:
    match info.subresource, info.verb:
        case ("", "create" | "update" | "patch") | ("status", "update" | "patch"):
            return ALLOWED
        case ("", "get" | "list" | "watch"):
            if info.name == node:
                return ALLOWED
            which = f"'{info.name}'" if info.name else "all nodes"
            return _no(f"node '{node}' cannot read {which}, only its own Node object")
    return NO_OPINION
