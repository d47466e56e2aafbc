"""The Kubernetes release that the settings choose."""

from __future__ import annotations

from gateway.release.release import Release, release_of
from gateway.settings.config import Settings


def chosen_release(settings: Settings, *, gates: bool = True) -> Release:
    """The release of the flags; without `gates`, --feature-gates is left out.

    The same settings give the same object. Raises InvalidGates.
    """
    said = settings.feature_gates if gates else ()
    minors = settings.kubernetes_version, settings.emulated_version, settings.min_compatibility_version
    return release_of(said, *minors)
