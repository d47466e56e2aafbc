"""What a request is about: who asks to do what. Authorization, impersonation and audit are asked about nothing else.

As apiserver's `authorizer.Attributes`. What a write is told on its way is `gateway.kinds.write_context`; what admission
looks at is `gateway.admission.record`.
"""

from __future__ import annotations

from typing import NamedTuple

from gateway.http.request_info import RequestInfo
from gateway.http.user import User


class Attributes(NamedTuple):
    """`info` has the verb, the path and what that names: group, version, resource, subresource, namespace, name."""

    user: User
    info: RequestInfo
