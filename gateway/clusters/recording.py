"""The audit records of requests that no control plane answers: requests without credentials for a control plane that
rests, requests beyond a limit, and requests for a name that does not exist.
"""

from __future__ import annotations

from contextlib import suppress

from gateway.access.authentication import ANONYMOUS_USER
from gateway.access.authorization import AuthorizationUndecided
from gateway.audit.audit import Audit
from gateway.http.exchange import Request
from gateway.http.request_info import MalformedPath, RequestInfo, request_info
from gateway.http.send import Send
from gateway.http.status import StatusError
from gateway.requests.context import Receive, RequestContext, Scope


async def recorded(audit: Audit | None, scope: Scope, receive: Receive, send: Send, error: StatusError | None) -> Send:
    """Begins the audit record of a request, and returns a `send` that completes the record with the answer.

    `error` is the Status of the answer; None if the answer is not a Status. Only an answer 403 has a user in its
    record, the anonymous one: here all others are refused before their user is known.
    """
    if audit is None:
        return send
    headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
    request = Request(scope["method"], scope["path"], scope["query_string"], headers, receive)
    request.info = _info(request)
    context = RequestContext(request, scope, receive, send)
    heard = audit.listening(request, context, send)
    user = ANONYMOUS_USER if error is not None and error.code == 403 else None
    context.record = record = audit.record(request, user, scope, context)
    if record is not None:
        with suppress(AuthorizationUndecided):  # the request is refused in any case
            await record.begin()
        if error is not None:
            record.failed(error)
    return heard


def _info(request: Request) -> RequestInfo:
    try:
        return request_info(request.method, request.path, request.query)
    except MalformedPath:
        return RequestInfo(request.method.lower(), request.path)
