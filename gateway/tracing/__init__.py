"""Traces of requests by OpenTelemetry: the file of --tracing-config-file, and the spans that go to its collector."""
