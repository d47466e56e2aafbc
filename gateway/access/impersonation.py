"""Impersonate-* headers ("User impersonation"): not served yet, and so refused, since a request that was to be another
user's must not be carried out as one's own.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.http import status
from gateway.http.status import bad_request
from gateway.http.user import User
from gateway.validation.field import go_quote

_PREFIX = b"impersonate-"
_USER = b"impersonate-user"
_OTHERS = frozenset({b"impersonate-group", b"impersonate-uid"})
_EXTRA = b"impersonate-extra-"


def refuse_impersonation(headers: Mapping[bytes, bytes], user: User) -> None:
    """Raises StatusError 403 when the headers name a user to be, 400 when they name none but something else of one.

    The words are those for who may not impersonate; header names are in lower case.
    """
    if not any(name.startswith(_PREFIX) for name in headers):
        return
    wanted = headers.get(_USER, b"")
    if wanted:
        name = wanted.decode("utf-8", "replace")
        subject = f"User {go_quote(user.name)}"
        cause = f'{subject} cannot impersonate resource "users" in API group "" at the cluster scope'
        raise status.forbidden("", "users", name, cause)
    if any(name in _OTHERS or name.startswith(_EXTRA) for name in headers):
        raise bad_request("requested impersonation without impersonating a user name")
