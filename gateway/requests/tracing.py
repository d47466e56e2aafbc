"""The spans of a request: one for the whole request, and one for each stage for which kube-apiserver has a span, with
the same name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from time import monotonic, time_ns
from typing import TYPE_CHECKING

from gateway.http.exchange import Request, Response
from gateway.http.sending import audit_id
from gateway.http.user import MASTERS_GROUP
from gateway.requests.context import Outcome, RequestContext, Run, Stage
from gateway.requests.measures import scope_of

if TYPE_CHECKING:
    from gateway.tracing.tracer import RequestTrace, Tracer

AFTER = "authentication"  # the user decides whether the sampling flag of the client's traceparent counts
_TRUSTED = frozenset({MASTERS_GROUP, "system:monitoring"})
_STAGES = {
    "audit": "audit",
    "impersonation": "constrainedimpersonation",
    "priority-and-fairness": "priorityandfairness",
    "authorization": "authorization",
    "representation": "SerializeObject",
}
_VERBS = {
    "get": "Get",
    "list": "List",
    "watch": "WatchServer.HandleHTTP",
    "create": "Create",
    "update": "Update",
    "patch": "Patch",
    "delete": "Delete",
    "deletecollection": "Delete",
}
_CONTEXT = ("traceparent", "tracestate")
_LONGEST_AGENT = 1024  # characters


def traced(stages: Sequence[Stage], tracer: Tracer) -> Iterator[Stage]:
    """Wraps stages so that traced requests get spans, and inserts the stage that begins a trace."""
    for stage in stages:
        if stage.name == "verb":
            yield stage._replace(run=_spanned(stage.run, None))
        elif stage.name in _STAGES:
            yield stage._replace(run=_spanned(stage.run, _STAGES[stage.name]))
        else:
            yield stage
        if stage.name == AFTER:
            yield Stage("tracing", _begin(tracer))


def _begin(tracer: Tracer) -> Run:
    def begin(context: RequestContext) -> Outcome:
        request, user = context.request, context.user
        given = {
            name: value.decode("latin-1")
            for name in _CONTEXT
            if (value := request.headers.get(name.encode())) is not None
        }
        trusted = user is not None and not _TRUSTED.isdisjoint(user.groups)
        request.audit_id = request.audit_id or audit_id(request.headers)
        offset = time_ns() - int(monotonic() * 1e9)
        began = offset + int(context.began * 1e9)
        trace = tracer.begin(_name(request), given, trusted, _of_http(context), began)
        for name, since, until in context.waits:
            trace.has_been(name, {}, offset + int(since * 1e9), offset + int(until * 1e9))
        context.trace = trace
        return None

    return begin


def _spanned(run: Run, name: str | None) -> Run:
    """Wraps a stage in a span; `name` None means the name and attributes of the request's verb."""

    def stage(context: RequestContext) -> Outcome:
        trace = context.trace
        if trace is None or not trace.id:
            return run(context)
        verb = context.request.info.verb
        named = name or _VERBS.get(verb, verb)
        attributes = {} if name else _of_verb(context)
        began = time_ns()
        outcome = run(context)
        if outcome is None or isinstance(outcome, Response):
            trace.has_been(named, attributes, began, time_ns())
            return outcome
        return waited(trace, named, attributes, outcome)

    async def waited(
        trace: RequestTrace, named: str, attributes: dict[str, str], outcome: Awaitable[Response | None]
    ) -> Response | None:
        with trace.span(named, attributes):
            return await outcome

    return stage


def _name(request: Request) -> str:
    """The method and path of a request, with placeholders for namespace and name."""
    info = request.info
    if not info.is_resource:
        return request.method
    parts = [info.prefix, *([info.group] if info.group else []), info.version]
    parts += ["namespaces", "{:namespace}"] if info.namespace else []
    parts += [info.resource, *(["{:name}"] if info.name else []), *([info.subresource] if info.subresource else [])]
    return f"{request.method} /{'/'.join(parts)}"


def _of_http(context: RequestContext) -> dict[str, str]:
    """The attributes of the request's span: OpenTelemetry's conventions for HTTP, and the Audit-ID."""
    request, scope = context.request, context.scope
    query = scope["query_string"].decode("latin-1")
    return {
        "http.request.method": request.method,
        "url.path": request.path,
        "url.scheme": "https",
        "http.target": f"{request.path}?{query}" if query else request.path,
        "client.address": str((scope.get("client") or ("",))[0]),
        "user_agent.original": _agent(request),
        "audit-id": request.audit_id.decode("latin-1"),
    }


def _of_verb(context: RequestContext) -> dict[str, str]:
    """The attributes of the verb's span, as in kube-apiserver."""
    request = context.request
    info = request.info
    return {
        "accept": request.headers.get(b"accept", b"").decode("latin-1"),
        "audit-id": request.audit_id.decode("latin-1"),
        "client": str((context.scope.get("client") or ("",))[0]),
        "api-group": info.group,
        "api-version": info.version,
        "name": info.name,
        "subresource": info.subresource,
        "namespace": info.namespace,
        "protocol": f"HTTP/{context.scope.get('http_version', '1.1')}",
        "resource": info.resource,
        "scope": scope_of(info),
        "url": request.path,
        "user-agent": _agent(request),
        "verb": request.method,
    }


def _agent(request: Request) -> str:
    return request.headers.get(b"user-agent", b"").decode("latin-1")[:_LONGEST_AGENT]
