"""Authorization: may this user do this (Kubernetes, "Authorization overview")."""

from __future__ import annotations

from typing import Protocol

from gateway.http import status
from gateway.http.status import StatusError
from gateway.http.user import AUTHENTICATED_GROUP
from gateway.kinds.attributes import Attributes
from gateway.validation.field import go_quote

# what ClusterRole system:public-info-viewer lets everybody read, signed in or not
PUBLIC_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})


class Authorizer(Protocol):
    """Decides by the user and the request info of attributes.

    `None` allows it, a text says why not (it may be empty).
    """

    def authorize(self, attributes: Attributes) -> str | None: ...


class AuthenticatedOnly:
    """Lets every authenticated user do everything, and others read what is public."""

    def authorize(self, attributes: Attributes) -> str | None:
        if AUTHENTICATED_GROUP in attributes.user.groups:
            return None
        info = attributes.info
        if not info.is_resource and info.verb == "get" and info.path in PUBLIC_PATHS:
            return None
        return ""


def forbidden(attributes: Attributes, reason: str) -> StatusError:
    """403 in kube-apiserver's words; `reason` is appended where the authorizer gave one."""
    info = attributes.info
    message = _message(attributes).translate(_SANITIZED) + (f": {reason}" if reason else "")
    if info.is_resource:
        error = status.forbidden(info.group, info.resource, info.name, message)
    else:
        error = StatusError(403, "Forbidden", f"forbidden: {message}", {})
    error.headers = ((b"x-content-type-options", b"nosniff"),)
    return error


_SANITIZED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def _message(attributes: Attributes) -> str:
    info = attributes.info
    subject = f"User {go_quote(attributes.user.name)} cannot {info.verb}"
    if not info.is_resource:
        return f"{subject} path {go_quote(info.path)}"
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    scope = f"in the namespace {go_quote(info.namespace)}" if info.namespace else "at the cluster scope"
    return f"{subject} resource {go_quote(resource)} in API group {go_quote(info.group)} {scope}"
