"""Visitors: users of the root whom a control plane's object names as administrators. They have another name there.
System users, groups and service accounts of the root are never visitors. What a visitor may do there is what the
control plane's own RBAC gives the group root:admins: its ClusterRoleBinding is one of the objects that it begins with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.access.authentication import AudienceAgnostic, Authenticated, Authenticator, Headers, InvalidCredentials
from gateway.clusters.definition import ClusterDefinition
from gateway.controllers.bootstrap_objects import BootstrapObject
from gateway.http.client_chain import ClientChain
from gateway.http.user import User

PREFIX = "root:"
ADMINS = f"{PREFIX}admins"
_SYSTEM = "system:"


def binding() -> BootstrapObject:
    """The ClusterRoleBinding that makes visitors administrators."""
    group = "rbac.authorization.k8s.io"
    content = {
        "metadata": {"name": ADMINS},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": ADMINS}],
    }
    return BootstrapObject(group, "v1", "clusterrolebindings", content)


class Visitors:
    """Authenticates users of the root in a control plane."""

    def __init__(self, root: Authenticator, of: Callable[[], ClusterDefinition | None]) -> None:
        """`root` knows the root's users; `of` returns the control plane as it is described now, None without one."""
        self._root, self._of = root, of

    def authenticate(self, chain: ClientChain, headers: Headers) -> User | None:
        """The visitor who shows a client certificate that the root trusts. Raises InvalidCredentials for another."""
        return self._inside(self._root.of_certificate(chain, headers))

    def _inside(self, user: User | None) -> User | None:
        described = self._of()
        if user is None or described is None or user.name.startswith(_SYSTEM):
            return None
        if user.name in described.users or not described.groups.isdisjoint(user.groups):
            return User(f"{PREFIX}{user.name}", (ADMINS,), user.uid and f"{PREFIX}{user.uid}")
        return None

    def enter(self, own: Authenticator) -> None:
        """Makes `own`, the authenticator of the control plane, accept the visitors too."""
        own.add(AudienceAgnostic(VisitorTokens(self, self._root), own.audiences))
        own.add_certificates(self)


class VisitorTokens:
    """Authenticates visitors by bearer tokens of the root."""

    def __init__(self, visitors: Visitors, root: Authenticator) -> None:
        self._visitors, self._root = visitors, root

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        """The visitor of a token; None if it is not a visitor's token."""
        described = self._visitors._of()
        if described is None or not (described.users or described.groups):
            return None
        try:
            found = await self._root.review(token, self._root.audiences)
        except InvalidCredentials:
            return None
        user = self._visitors._inside(found.user)
        return None if user is None else Authenticated(user, tuple(audiences))
