"""Traces of requests by OpenTelemetry: what --tracing-config-file says, and the spans that go to its collector."""
