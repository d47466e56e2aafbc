"""The admission plug-ins, in the order in which kube-apiserver runs them.

A plug-in is one module with a `PLUGIN`. gateway/settings/admission_plugins.py lists the plug-ins in their order. A
module is imported when its plug-in is enabled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from gateway.admission.chain import AdmissionChain, Kinds, Plugin, PluginParts, compile_chain
from gateway.admission.configuration import InvalidConfiguration, read_documents
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.resource import Resource
from gateway.settings.admission_plugins import PLUGINS


@cache
def plugin_of(name: str) -> Plugin:
    """The plug-in of a name in `PLUGINS` that has a module. Raises KeyError for an unknown name."""
    return _in_module(PLUGINS[name].module)


def _in_module(name: str) -> Plugin:
    plugin: Plugin = import_module(f"{__name__}.{name}").PLUGIN
    return plugin


def active(enabled: Collection[str], disabled: Collection[str]) -> list[Plugin]:
    """The enabled plug-ins that have a module, in their order. Their feature gates are not looked at."""
    return [plugin_of(name) for name in _names(enabled, disabled)]


def _names(enabled: Collection[str], disabled: Collection[str]) -> Iterator[str]:
    for name, place in PLUGINS.items():
        if place.module and name not in disabled and (place.default_on or name in enabled):
            yield name


def chain_for(
    resource: Resource,
    enabled: Collection[str],
    disabled: Collection[str],
    parts: PluginParts,
    always: Collection[str] = (),
) -> AdmissionChain:
    """The chain of a resource or subresource from the enabled plug-ins whose feature gates are on. `always` has the
    modules of plug-ins that kube-apiserver does not have, and that no flag names.
    """
    on, asked = parts.release.gates.enabled, _names(enabled, disabled)
    plugins = [plugin_of(name) for name in asked if not PLUGINS[name].asks or on(PLUGINS[name].asks)]
    return compile_chain([*plugins, *map(_in_module, always)], resource, parts)


def configure(
    path: Path | None, enabled: Collection[str], disabled: Collection[str], kinds: Kinds = builtin_registry
) -> dict[str, object]:
    """Configures each enabled plug-in with its part of --admission-control-config-file; the results by plug-in name.

    Objects in files have the rules of `kinds`. Call it once per process. Raises OSError, InvalidConfiguration.
    """
    documents = {} if path is None else read_documents(path)
    configured = dict[str, object]()
    for plugin in active(enabled, disabled):
        document = documents.get(plugin.name)
        try:
            if plugin.configure is not None:
                configured[plugin.name] = plugin.configure(document)
            elif plugin.manifests is not None:
                configured[plugin.name] = plugin.manifests(document, kinds)
        except InvalidConfiguration as error:
            raise InvalidConfiguration(f"{plugin.name}: {error}") from None
    return configured
