"""Authorization: may this user do this (Kubernetes, "Authorization overview")."""

from __future__ import annotations

from typing import Protocol

from gateway.access.user import AUTHENTICATED_GROUP, User
from gateway.http.request_info import RequestInfo

# what ClusterRole system:public-info-viewer lets everybody read, signed in or not
PUBLIC_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})


class Authorizer(Protocol):
    """Decides on a request; `None` allows it, a text says why not (it may be empty)."""

    def authorize(self, user: User, info: RequestInfo) -> str | None: ...


class AuthenticatedOnly:
    """Lets every authenticated user do everything, and others read what is public."""

    def authorize(self, user: User, info: RequestInfo) -> str | None:
        if AUTHENTICATED_GROUP in user.groups:
            return None
        if not info.is_resource and info.verb == "get" and info.path in PUBLIC_PATHS:
            return None
        return ""
