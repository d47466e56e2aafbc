"""Metrics: families of counters, gauges and histograms, declared beside the code that they measure.

    from storage.instruments import counter

    REQUESTS = counter("apiserver_request_total", "Requests that were answered.", "verb", "code")
    child = REQUESTS.labels("GET", "200")  # once: where a route, an endpoint or a plug-in is made
    child.inc()                            # each time

A child is one family member with fixed label values. Things that can be deleted, such as a custom kind, own children:
`owners` drops the children with the owner.

Families are global to the process, as process_cpu_seconds_total is; no decision depends on their values. `reads` gives
a family a function that returns its values at each scrape. Names, labels and buckets are kube-apiserver's wherever it
has them. `exposition` writes all families as text, `snapshot` adds up those of several processes, and hack/metrics.py
makes docs/reference/metrics.md from the declarations.
"""

from storage.instruments.families import (
    ALPHA,
    BETA,
    STABLE,
    Counter,
    Counters,
    Gauge,
    Gauges,
    Histogram,
    Histograms,
    counter,
    exponential,
    gauge,
    histogram,
)
from storage.instruments.owners import by, owners

__all__ = [
    "ALPHA",
    "BETA",
    "STABLE",
    "Counter",
    "Counters",
    "Gauge",
    "Gauges",
    "Histogram",
    "Histograms",
    "by",
    "counter",
    "exponential",
    "gauge",
    "histogram",
    "owners",
]
