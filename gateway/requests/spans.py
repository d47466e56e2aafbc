"""The spans of a request: one for the whole request, and one for each stage for which kube-apiserver has a span, with
the same name.
"""

from __future__ import annotations

from contextlib import nullcontext
from time import monotonic, time_ns
from typing import NamedTuple

from gateway.http.exchange import Request, Response
from gateway.http.user import MASTERS_GROUP
from gateway.requests.context import Outcome, RequestContext, Run, Steps
from gateway.requests.measures import scope_of
from gateway.tracing.tracer import RequestTrace, Tracer

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


async def passed(context: RequestContext, steps: Steps) -> Response:
    """Passes the stages as `Handler.passed` does. A request that is traced gets a span for each stage of `_STAGES`."""
    for name, run in steps:
        span = _span_of(name, context)
        began, began_span = monotonic(), time_ns()
        outcome = run(context)
        if outcome is None or isinstance(outcome, Response):
            if span is not None:
                span.trace.has_been(span.name, span.attributes, began_span, time_ns())
        else:
            try:
                with nullcontext() if span is None else span.trace.span(span.name, span.attributes):
                    outcome = await outcome
            finally:
                context.waits.append((name, began, monotonic()))
        if outcome is not None:
            return outcome
    raise AssertionError("the last stage answers")


class _Span(NamedTuple):
    trace: RequestTrace
    name: str
    attributes: dict[str, str]


def _span_of(stage: str, context: RequestContext) -> _Span | None:
    """The span that a stage is to have; the verb's has the name and the attributes of the request's verb."""
    trace = context.trace
    if trace is None or not trace.id:
        return None
    if stage == "verb":
        verb = context.request.info.verb
        return _Span(trace, _VERBS.get(verb, verb), _of_verb(context))
    return _Span(trace, _STAGES[stage], {}) if stage in _STAGES else None


def tracing(tracer: Tracer) -> Run:
    """Begins the trace of a request. The user decides whether the sampling flag of the client's traceparent counts."""

    def begin(context: RequestContext) -> Outcome:
        request, user = context.request, context.user
        given = {
            name: value.decode("latin-1")
            for name in _CONTEXT
            if (value := request.headers.get(name.encode())) is not None
        }
        trusted = user is not None and not _TRUSTED.isdisjoint(user.groups)
        offset = time_ns() - int(monotonic() * 1e9)
        began = offset + int(context.began * 1e9)
        trace = tracer.begin(_name(request), given, trusted, _of_http(context), began)
        for name, since, until in context.waits:
            trace.has_been(name, {}, offset + int(since * 1e9), offset + int(until * 1e9))
        context.trace = trace
        return None

    return begin


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
