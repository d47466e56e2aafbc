"""The admission plug-ins, in the order in which kube-apiserver runs them.

A plug-in is one module with a `PLUGIN`; gateway/settings/admission_plugins.py says which there are, in which order. A
module is imported when its plug-in is on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from gateway.admission.chain import Chain, Plugin, PluginParts, compile_chain
from gateway.admission.configuration import InvalidConfiguration, read_documents
from gateway.kinds.resource import Resource
from gateway.settings.admission_plugins import PLUGINS


@cache
def plugin_of(name: str) -> Plugin:
    """The plug-in of a name that does something. Raises KeyError where there is none."""
    plugin: Plugin = import_module(f"{__name__}.{PLUGINS[name].module}").PLUGIN
    return plugin


def active(enabled: Collection[str], disabled: Collection[str]) -> list[Plugin]:
    """The plug-ins that are on and do something, in their order; each is at work where its gate is on, too."""
    return [plugin_of(name) for name in _names(enabled, disabled)]


def _names(enabled: Collection[str], disabled: Collection[str]) -> Iterator[str]:
    for name, place in PLUGINS.items():
        if place.module and name not in disabled and (place.default_on or name in enabled):
            yield name


def chain_for(resource: Resource, enabled: Collection[str], disabled: Collection[str], parts: PluginParts) -> Chain:
    """The chain of a resource or subresource from the plug-ins that are on."""
    on, asked = parts.release.gates.enabled, _names(enabled, disabled)
    plugins = [plugin_of(name) for name in asked if not PLUGINS[name].asks or on(PLUGINS[name].asks)]
    return compile_chain(plugins, resource, parts)


def configure(path: Path | None, enabled: Collection[str], disabled: Collection[str]) -> dict[str, object]:
    """What each plug-in that is on makes of its part of --admission-control-config-file, by its name.

    To be called once a process. Raises OSError, InvalidConfiguration.
    """
    documents = {} if path is None else read_documents(path)
    configured = {}
    for plugin in active(enabled, disabled):
        if plugin.configure is not None:
            try:
                configured[plugin.name] = plugin.configure(documents.get(plugin.name))
            except InvalidConfiguration as error:
                raise InvalidConfiguration(f"{plugin.name}: {error}") from None
    return configured
