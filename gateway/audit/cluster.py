"""How an audit event names the control plane below /clusters that its request was for."""

from __future__ import annotations

CLUSTER = "control_plane"
"""The key of an ASGI scope that has the name. The scopes of the root's requests lack it."""

ANNOTATION = "apiserver-gateway.dev/control-plane"
