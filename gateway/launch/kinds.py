"""The built-in kinds of a server, by its settings."""

from __future__ import annotations

from gateway.kinds.builtin import builtin_registry
from gateway.kinds.registry import Registry
from gateway.kinds.service_objects import family_of
from gateway.schema.catalog import serve
from gateway.settings.config import Settings
from gateway.settings.release import chosen_release


def registry_of(settings: Settings) -> Registry:
    """The built-in kinds of a process, as `kinds_of`. As a side effect, the process serves the schemas of the binary's
    minor.
    """
    serve(chosen_release(settings).binary)
    return kinds_of(settings)


def kinds_of(settings: Settings) -> Registry:
    """The built-in kinds that --runtime-config leaves on or switches on."""
    release = chosen_release(settings)
    family = family_of(settings.service_cluster_ip_range)
    if not settings.runtime_config:
        return builtin_registry(family, release)
    from gateway.kinds.enablement import switched_off, switched_on

    registry = builtin_registry(family, release, switched_on(release, settings.runtime_config))
    registry.switch_off(switched_off(registry, settings.runtime_config))
    return registry
