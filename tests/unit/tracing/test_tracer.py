"""A failing trace collector is one line in the log, and its recovery another."""

from __future__ import annotations

import logging

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from gateway.tracing.tracer import _Told
from tests.logged import of


class Failing(SpanExporter):
    """An exporter that fails a given number of times."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    def export(self, spans: object) -> SpanExportResult:
        self.failures -= 1
        return SpanExportResult.FAILURE if self.failures >= 0 else SpanExportResult.SUCCESS


def test_lost_spans_are_said_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    told = _Told(Failing(3), "localhost:4317")
    for _ in range(5):
        told.export([ReadableSpan("a"), ReadableSpan("b")])
    said = of(caplog, "gateway.tracing")
    assert [record.getMessage() for record in said] == [
        "the collector does not accept spans: they are dropped",
        "the collector accepts spans again",
    ]
    assert vars(said[1])["lost"] == 6
