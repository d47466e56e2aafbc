"""Authenticates requests to a control plane at rest. Only a request with valid credentials wakes the control plane.

The checks are those of the control plane. At rest there are no caches, so objects such as the service account of a
token are read from etcd.
"""

from __future__ import annotations

from gateway.access.authentication import Authenticator
from gateway.clusters.visitors import Visitors
from gateway.http.status import StatusError
from gateway.http.user import ANONYMOUS
from gateway.requests.context import Scope
from gateway.settings.control_planes import ClusterCredentials


class Door:
    """Checks the credentials of requests for one control plane that rests."""

    def __init__(self, authenticator: Authenticator, visitors: Visitors, credentials: ClusterCredentials) -> None:
        """`authenticator` was made for this door with these `credentials`, and reads etcd."""
        self._authenticator, self.credentials = authenticator, credentials
        visitors.enter(authenticator)

    async def check(self, scope: Scope) -> None:
        """Raises StatusError 401 for a request without valid credentials, 403 for an anonymous one; StorageError."""
        headers = dict(reversed(scope["headers"]))
        chain = scope.get("client_chain")
        user = await self._authenticator.authenticate(headers, scope["headers"], chain, scope["path"])
        if user is None:
            raise StatusError(401, "Unauthorized", "Unauthorized")
        if user.name == ANONYMOUS:
            raise StatusError(403, "Forbidden", "the control plane rests: an anonymous request does not wake it")
