"""The attributes of a request, its user and its action: the input of authorization, impersonation and audit.

The same as apiserver's `authorizer.Attributes`. The context of a write is in `gateway.kinds.write_context`, the input
of admission in `gateway.admission.record`.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from gateway.http.request_info import RequestInfo
from gateway.http.user import User


class Operation(Enum):
    """The operation of a request, under admission's names."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"

    __hash__ = object.__hash__  # members are singletons; Enum's own hash is slow, and is needed several times a write


class Attributes(NamedTuple):
    """`info` has the verb, the path, and its parts: group, version, resource, subresource, namespace, name."""

    user: User
    info: RequestInfo
