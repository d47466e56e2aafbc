"""The audit records of requests that no control plane answers: without credentials for one that rests, beyond a limit,
or of a name that does not exist.
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
    """The `send` for an answer, so that the audit log has it; `error` is what is answered, None for no Status.

    The record has a user only if the answer is 403: nobody but anonymous clients is answered so.
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
        with suppress(AuthorizationUndecided):  # what is refused anyway is refused
            await record.begin()
        if error is not None:
            record.failed(error)
    return heard


def _info(request: Request) -> RequestInfo:
    try:
        return request_info(request.method, request.path, request.query)
    except MalformedPath:
        return RequestInfo(request.method.lower(), request.path)
