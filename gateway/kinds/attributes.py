"""The attributes of a request, who wants to do what: the input of authorization, impersonation and audit.

As apiserver's `authorizer.Attributes`. The context of a write is in `gateway.kinds.write_context`, the input of
admission in `gateway.admission.record`.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from gateway.http.request_info import RequestInfo
from gateway.http.user import User


class Operation(Enum):
    """What is done, as admission names it."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"

    __hash__ = object.__hash__  # there is one of each; Enum's own hash is computed in Python, several times a write


class Attributes(NamedTuple):
    """`info` has the verb, the path and what that names: group, version, resource, subresource, namespace, name."""

    user: User
    info: RequestInfo
