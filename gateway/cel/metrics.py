"""Metrics of compilation and evaluation times, with the names of apiserver's `pkg/cel/metrics`."""

from __future__ import annotations

from storage.instruments import BETA, histogram

COMPILATION = histogram(
    "apiserver_cel_compilation_duration_seconds", "Time to compile an expression.", level=BETA
).labels()
EVALUATION = histogram(
    "apiserver_cel_evaluation_duration_seconds", "Time to evaluate an expression.", level=BETA
).labels()
