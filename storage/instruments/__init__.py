"""What is measured: families of counters, gauges and histograms, declared beside what they measure.

    from storage.instruments import counter

    REQUESTS = counter("apiserver_request_total", "Requests that were answered.", "verb", "code")
    child = REQUESTS.labels("GET", "200")  # once: where a route, an endpoint or a plug-in is made
    child.inc()                            # each time

What can go, such as a custom kind, owns children: `owners` drops them with it.

A family belongs to the process, as process_cpu_seconds_total does: nothing is decided by what it holds. `reads` gives
a family a function that tells its values when somebody asks. Names, labels and buckets are kube-apiserver's wherever it
has them. `exposition` writes all families as text, `snapshot` adds up those of several processes, and hack/metrics.py
makes docs/metrics.md of what is declared.
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
