"""The stages that find out who asks, and as whom the request is carried out."""

from __future__ import annotations

from gateway.access.authentication import Authenticator
from gateway.access.authorization import Authorizer
from gateway.access.impersonation import Impersonation, impersonates
from gateway.http.status import StatusError
from gateway.kinds.attributes import Attributes
from gateway.requests.context import Outcome, RequestContext, Run


def authentication(authenticator: Authenticator) -> Run:
    """Sets who asks; nobody is refused yet, so that the audit log knows of those who are."""

    def find_user(context: RequestContext) -> Outcome:
        certificate = context.scope.get("client_certificate", b"")
        context.user = authenticator.known(context.request.headers, certificate)
        return None if context.user is not None else ask(context, certificate)

    async def ask(context: RequestContext, certificate: bytes) -> None:
        request, scope = context.request, context.scope
        context.user = await authenticator.authenticate(request.headers, scope["headers"], certificate, request.path)

    return find_user


def impersonation(authorizer: Authorizer) -> Run:
    """Sets the attributes, with another user where the headers name one.

    Raises StatusError 401 where nobody was found who asks, 400 and 403.
    """
    allowed = Impersonation(authorizer)

    def look(context: RequestContext) -> Outcome:
        request, user = context.request, context.user
        if user is None:
            raise StatusError(401, "Unauthorized", "Unauthorized")
        request.user = user
        context.attributes = Attributes(user, request.info)
        return impersonate(context) if impersonates(request.headers) else None

    async def impersonate(context: RequestContext) -> None:
        request, user = context.request, context.request.user
        request.user = await allowed.user(context.scope["headers"], context.attributes)
        context.attributes = Attributes(request.user, request.info)
        if context.record is not None and request.user is not user:
            context.record.impersonated(request.user, allowed.constraint(user.name))

    return look
