"""Resources that several plug-ins look up."""

from __future__ import annotations

from gateway.kinds.identity import GroupVersionResource

NAMESPACES = GroupVersionResource("", "v1", "namespaces")
NODES = GroupVersionResource("", "v1", "nodes")
PODS = GroupVersionResource("", "v1", "pods")
