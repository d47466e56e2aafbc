"""Metrics of the server itself: versions, feature gates, and the number of metric families."""

from __future__ import annotations

from collections import Counter

from gateway.release.release import Release
from storage.instruments import BETA, counter, gauge
from storage.instruments.families import declared

FEATURES = gauge(
    "kubernetes_feature_enabled",
    "Whether a feature gate is on (1) or off (0).",
    "name",
    "stage",
    level=BETA,
    across="max",
)
VERSION = gauge(
    "version_info", "The versions of a component.", "component", "binary", "emulation", "min_compat", across="max"
)
REGISTERED = counter(
    "registered_metrics_total", "Families of metrics.", "stability_level", "deprecated_version", level=BETA
)
DISABLED = counter("disabled_metrics_total", "Families of metrics that are switched off.", level=BETA)
HIDDEN = counter(
    "hidden_metrics_total", "Families of metrics that are hidden, because they are deprecated.", level=BETA
)


def follow(release: Release) -> None:
    """Makes the families report this server's versions and feature gates."""
    binary = release.git_version.removeprefix("v")
    VERSION.labels("kube", binary, release.minor, release.compatible).set(1)
    FEATURES.reads(lambda: {(name, stage): float(on) for name, stage, on in release.gates.states()})
    REGISTERED.reads(
        lambda: {(level, ""): n for level, n in Counter(each.level for each in declared() if each.level).items()}
    )
    DISABLED.reads(lambda: {(): 0})
    HIDDEN.reads(lambda: {(): 0})
