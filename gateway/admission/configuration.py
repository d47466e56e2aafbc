"""--admission-control-config-file: an AdmissionConfiguration, and in it or beside it the configuration of each plug-in
(page "Admission Control in Kubernetes").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gateway.jsontypes import JsonObject
from gateway.settings.configuration_file import (
    GROUP,
    InvalidConfiguration,
    Leaf,
    Shape,
    checked,
    read_yaml,
)

__all__ = ("Document", "InvalidConfiguration", "Leaf", "Shape", "checked", "of_kind", "read_documents")

Document = JsonObject | None
"""The configuration of a plug-in, as parsed YAML; None if there is none."""

_KIND = "AdmissionConfiguration"
_VERSIONS = (f"{GROUP}/v1", "apiserver.k8s.io/v1alpha1")
_OLD = {"imagePolicy": "ImagePolicyWebhook", "podNodeSelectorPluginConfig": "PodNodeSelector"}
_PLUGIN = {"name": Leaf.TEXT, "path": Leaf.TEXT, "configuration": Leaf.ANYTHING}


def read_documents(path: Path) -> dict[str, JsonObject]:
    """The configurations in the file, by the plug-in's name. Raises OSError, InvalidConfiguration.

    Relative paths in it start from its directory. A file of the old form holds the configuration of ImagePolicyWebhook
    or PodNodeSelector itself, and is returned as the configuration of both.
    """
    found = read_yaml(path)
    if "kind" not in found and any(member in found for member in _OLD):
        return dict.fromkeys(_OLD.values(), found)
    documents: dict[str, JsonObject] = {}
    for plugin in of_kind(found, _KIND, _VERSIONS, {"plugins": [_PLUGIN]}).get("plugins") or ():
        name, given = plugin.get("name", ""), plugin.get("configuration")
        if name in documents:
            continue  # the first one counts
        if given is not None:
            if not isinstance(given, dict):
                raise InvalidConfiguration(f"the configuration of {name} must be an object")
            documents[name] = given
        elif plugin.get("path"):
            documents[name] = read_yaml(path.parent / plugin["path"])
    return documents


def of_kind(document: Document, kind: str, versions: Sequence[str], shape: Mapping[str, Shape]) -> JsonObject:
    """Checks kind, apiVersion and shape of a document, and returns it without kind and apiVersion; {} for None.

    Raises InvalidConfiguration.
    """
    if document is None:
        return {}
    rest = {key: value for key, value in document.items() if key not in ("kind", "apiVersion")}
    if document.get("kind") != kind or document.get("apiVersion") not in versions:
        raise InvalidConfiguration(f"it must be of kind {kind} and apiVersion {' or '.join(versions)}")
    return checked(rest, shape)
