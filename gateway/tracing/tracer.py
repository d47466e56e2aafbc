"""Makes spans, and sends them to a collector by OTLP over gRPC.

Imports OpenTelemetry's SDK, an optional dependency: only a server with tracing imports this module.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased
from opentelemetry.trace import (
    Link,
    Span,
    SpanKind,
    StatusCode,
    format_trace_id,
    get_current_span,
    set_span_in_context,
    use_span,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from gateway.tracing.configuration import MILLION, TracingConfiguration

logger = logging.getLogger(__name__)

_SERVICE = "apiserver"
_EXPORT_TIMEOUT = 5  # seconds that the collector has for a batch of spans
_W3C = TraceContextTextMapPropagator()
_NOTHING: AbstractContextManager[None] = nullcontext()


class Tracer:
    """Begins the traces of a server process. To be made after the fork: it has a thread, which would not be forked."""

    def __init__(self, configuration: TracingConfiguration, instance: str) -> None:
        """`instance` is the name of this server among its replicas."""
        for chatty in ("opentelemetry.exporter", "opentelemetry.sdk"):
            logging.getLogger(chatty).setLevel(logging.CRITICAL)  # `_Told` logs a failure, and only once
        exporter = OTLPSpanExporter(endpoint=configuration.endpoint, insecure=True, timeout=_EXPORT_TIMEOUT)
        share = configuration.sampled_per_million
        self._provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(share / MILLION) if share else ALWAYS_OFF),
            resource=Resource({"service.name": _SERVICE, "service.instance.id": instance}),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(BatchSpanProcessor(_Told(exporter, configuration.endpoint)))
        self._tracer = self._provider.get_tracer("apiserver-gateway")

    def begin(
        self, name: str, given: Mapping[str, str], trusted: bool, attributes: Mapping[str, str], began: int
    ) -> RequestTrace:
        """The trace of a request that came at `began`, nanoseconds since the epoch.

        `given` are the request's headers of W3C Trace Context. Those of a `trusted` client name the parent span, and
        say whether the trace is recorded. Those of other clients are only a link, as in kube-apiserver.
        """
        others = _W3C.extract(dict(given), Context()) if given else Context()
        asked = get_current_span(others).get_span_context()
        span = self._tracer.start_span(
            name,
            context=others if trusted else Context(),
            kind=SpanKind.SERVER,
            attributes=attributes,
            links=[Link(asked)] if asked.is_valid and not trusted else [],
            start_time=began,
        )
        return RequestTrace(self, span)

    def started(self, name: str, context: Context, attributes: Mapping[str, str], began: int | None = None) -> Span:
        """A span within the one of `context`."""
        return self._tracer.start_span(name, context=context, attributes=attributes, start_time=began)

    def close(self) -> None:
        """Sends the spans that are still queued, which may take some seconds."""
        self._provider.shutdown()


class RequestTrace:
    """The trace of one request (a `Trace` of storage.instruments.trace)."""

    __slots__ = ("_context", "_root", "_tracer", "id")

    def __init__(self, tracer: Tracer, root: Span) -> None:
        self._tracer, self._root, self._context = tracer, root, set_span_in_context(root, Context())
        self.id = format_trace_id(root.get_span_context().trace_id) if root.is_recording() else ""  # "": not recorded

    def span(self, name: str, attributes: Mapping[str, str]) -> AbstractContextManager[object]:
        """A context manager: its block becomes a span below the current one."""
        if not self.id:
            return _NOTHING
        span = self._tracer.started(name, self._here(), attributes)
        return use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False)

    def has_been(self, name: str, attributes: Mapping[str, str], began: int, ended: int) -> None:
        """Adds a span that has ended; its times are nanoseconds since the epoch."""
        if self.id:
            self._tracer.started(name, self._context, attributes, began).end(ended)

    def headers(self) -> Sequence[tuple[str, str]]:
        """The headers that carry the trace's context (W3C Trace Context)."""
        carried: dict[str, str] = {}
        _W3C.inject(carried, self._here())
        return [*carried.items()]

    def answered(self, status: int) -> None:
        """Records the HTTP status of the response."""
        self._root.set_attribute("http.response.status_code", status)
        if status >= 500:
            self._root.set_status(StatusCode.ERROR)

    def end(self) -> None:
        """Ends the request's span."""
        self._root.end()

    def _here(self) -> Context:
        """The task's current span if it belongs to this trace, else the request's span.

        A task may still have the span of an earlier request of its connection.
        """
        here = get_current_span()
        same = here.get_span_context().trace_id == self._root.get_span_context().trace_id
        return set_span_in_context(here, Context()) if same else self._context


class _Told(SpanExporter):
    """Sends spans. Logs one line when the collector stops taking them, and one when it takes them again."""

    def __init__(self, exporter: SpanExporter, endpoint: str) -> None:
        self._exporter, self._endpoint, self._lost = exporter, endpoint, 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            if self._lost:
                logger.info("the collector accepts spans again", extra={"endpoint": self._endpoint, "lost": self._lost})
            self._lost = 0
            return result
        if not self._lost:
            logger.warning("the collector does not accept spans: they are dropped", extra={"endpoint": self._endpoint})
        self._lost += len(spans)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)
