"""The stages authentication and impersonation."""

from __future__ import annotations

from time import monotonic, time

from gateway.access.authentication import EXTRA_SPACE, Authenticator, bearer_token, has_extra_space
from gateway.access.authorization import Authorizer
from gateway.access.client_certificates import expiry_of
from gateway.access.impersonation import Impersonation, impersonates
from gateway.access.spent_headers import SpentHeaders
from gateway.http.client_chain import ClientChain
from gateway.http.status import StatusError
from gateway.http.websocket import PROTOCOL
from gateway.kinds.attributes import Attributes
from gateway.release.gates import Enabled
from gateway.requests.context import Outcome, RequestContext, Run
from storage.instruments import Counter, counter, exponential, histogram

DURATION = histogram(
    "authentication_duration_seconds",
    "Duration of authentication, by result.",
    "result",
    buckets=exponential(0.001, 2, 15),
)
EXPIRY = histogram(
    "apiserver_client_certificate_expiration_seconds",
    "Remaining lifetime of the client certificates of requests.",
    buckets=(0, 1800, 3600, 7200, 21600, 43200, *(86400 * days for days in (1, 2, 4, 7, 30, 90, 180, 360))),
).labels()
ATTEMPTS = counter("authentication_attempts", "Attempts to authenticate a request, by result.", "result")
USERS = counter("authenticated_user_requests", "Authenticated requests, by kind of user.", "username")
CACHED = counter(
    "authentication_token_cache_request_total", "Credentials, by whether the cache had the result.", "status"
)
FETCHES = counter(
    "authentication_token_cache_fetch_total", "Tokens that were not in the cache and were authenticated.", "status"
)
_HITS, _MISSES = CACHED.labels("hit"), CACHED.labels("miss")
_SUCCEEDED = DURATION.labels("success")
ATTEMPTS.reads(lambda: {labels: sum(child.counts) for labels, child in DURATION.children()})
_NAMED = frozenset({"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"})


def _class_of(name: str) -> str:
    """The label of a user in metrics: a well-known name, "email_id" or "other", so that there are few labels."""
    return name if name in _NAMED else "email_id" if "@" in name else "other"


class _Users(dict[str, Counter]):
    """The counters of users of static tokens, by name."""

    def __missing__(self, name: str) -> Counter:
        found = self[name] = USERS.labels(_class_of(name))
        return found


def authentication(authenticator: Authenticator, spent: SpentHeaders) -> Run:
    """Sets the user, and removes the headers that have authenticated it.

    A request without valid credentials is refused only later, so that the audit log contains it.
    """
    takes_off, users = spent.are_any, _Users()

    def find_user(context: RequestContext) -> Outcome:
        chain: ClientChain | None = context.scope.get("client_chain")
        context.user = authenticator.known(context.request.headers, chain)
        if context.user is None:
            return ask(context, chain)
        _SUCCEEDED.counts[0] += 1  # it took almost no time
        _HITS.value += 1
        users[context.user.name].value += 1
        if takes_off or PROTOCOL in context.request.headers:
            spent.take_off(context.request, context.scope)
        return None

    async def ask(context: RequestContext, chain: ClientChain | None) -> None:
        request, scope, began = context.request, context.scope, monotonic()
        user = await authenticator.authenticate(request.headers, scope["headers"], chain, request.path)
        context.user = user
        if chain is None and has_extra_space(request.headers.get(b"authorization", b"")):
            request.warnings.append(EXTRA_SPACE)
        seconds = monotonic() - began
        has_token = bearer_token(request.headers.get(b"authorization", b"")) is not None
        if user is None:
            DURATION.labels("error" if has_token or chain is not None else "failure").observe(seconds)
        else:
            _SUCCEEDED.observe(seconds)
        if has_token:
            _MISSES.inc()
            FETCHES.labels("error" if user is None else "ok").inc()
        if chain is not None and user is not None:
            EXPIRY.observe(max(0.0, expiry_of(chain) - time()))
        if user is not None:
            USERS.labels(_class_of(user.name)).inc()
            spent.take_off(request, scope)

    return find_user


def impersonation(authorizer: Authorizer, enabled: Enabled) -> Run:
    """Sets the attributes and the request's user: the impersonated one if Impersonate-* headers name one. `enabled`
    tells which features and changes the release has.

    Raises StatusError 401 if no user was authenticated, 400 and 403 as Impersonation does.
    """
    allowed = Impersonation(
        authorizer,
        constrained=enabled("ConstrainedImpersonation"),
        refuses_nameless=enabled("ImpersonationWithoutUserRefused"),
    )

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
