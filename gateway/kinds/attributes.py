"""The attributes of a request, who wants to do what: the input of authorization, impersonation and audit.

As apiserver's `authorizer.Attributes`. The context of a write is in `gateway.kinds.write_context`, the input of
admission in `gateway.admission.record`.
"""

from __future__ import annotations

from typing import NamedTuple

from gateway.http.request_info import RequestInfo
from gateway.http.user import User


class Attributes(NamedTuple):
    """`info` has the verb, the path and what that names: group, version, resource, subresource, namespace, name."""

    user: User
    info: RequestInfo
