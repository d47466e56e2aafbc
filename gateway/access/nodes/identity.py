"""How a node is recognised: a user of the group system:nodes whose name is system:node:NAME."""

from __future__ import annotations

from gateway.http.user import User

NODE_PREFIX = "system:node:"
NODES_GROUP = "system:nodes"


def node_of(user: User) -> str | None:
    """The node's name if the user is a node ("" if it has none); None for other users."""
    if not user.name.startswith(NODE_PREFIX) or NODES_GROUP not in user.groups:
        return None
    return user.name[len(NODE_PREFIX) :]
