"""Objects as Go's internal types show them in messages: all fields, under Go's names, and differences of two."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.field import Verbatim

# JSON name -> (Go name, value when absent) or (Go name, fields of the struct that it holds), in Go's order
Fields = Mapping[str, tuple[str, Any]]


class Struct(dict[str, tuple[str, Any]]):
    """The fields of a struct. A struct held by value, not by pointer, is never absent."""

    def __init__(self, fields: Fields, *, by_value: bool = False) -> None:
        super().__init__(fields)
        self.by_value = by_value


SECRET = Struct({"name": ("Name", ""), "namespace": ("Namespace", "")})
_LISTS = Struct({"limits": ("Limits", None), "requests": ("Requests", None)}, by_value=True)
_SOURCE = {"apiGroup": ("APIGroup", None), "kind": ("Kind", ""), "name": ("Name", "")}
CLAIM_SPEC = Struct(
    {
        "accessModes": ("AccessModes", None),
        "selector": ("Selector", None),
        "resources": ("Resources", _LISTS),
        "volumeName": ("VolumeName", ""),
        "storageClassName": ("StorageClassName", None),
        "volumeMode": ("VolumeMode", None),
        "dataSource": ("DataSource", Struct(_SOURCE)),
        "dataSourceRef": ("DataSourceRef", Struct({**_SOURCE, "namespace": ("Namespace", None)})),
        "volumeAttributesClassName": ("VolumeAttributesClassName", None),
    }
)
_CSI = Struct(
    {
        "driver": ("Driver", ""),
        "volumeHandle": ("VolumeHandle", ""),
        "readOnly": ("ReadOnly", False),
        "fsType": ("FSType", ""),
        "volumeAttributes": ("VolumeAttributes", None),
        "controllerPublishSecretRef": ("ControllerPublishSecretRef", SECRET),
        "nodeStageSecretRef": ("NodeStageSecretRef", SECRET),
        "nodePublishSecretRef": ("NodePublishSecretRef", SECRET),
        "controllerExpandSecretRef": ("ControllerExpandSecretRef", SECRET),
        "nodeExpandSecretRef": ("NodeExpandSecretRef", SECRET),
    }
)
VOLUME_SOURCE = Struct(
    {
        "gcePersistentDisk": ("GCEPersistentDisk", None),
        "awsElasticBlockStore": ("AWSElasticBlockStore", None),
        "hostPath": ("HostPath", Struct({"path": ("Path", ""), "type": ("Type", None)})),
        "glusterfs": ("Glusterfs", None),
        "nfs": ("NFS", Struct({"server": ("Server", ""), "path": ("Path", ""), "readOnly": ("ReadOnly", False)})),
        "rbd": ("RBD", None),
        "quobyte": ("Quobyte", None),
        "iscsi": ("ISCSI", None),
        "flexVolume": ("FlexVolume", None),
        "cinder": ("Cinder", None),
        "cephfs": ("CephFS", None),
        "fc": ("FC", None),
        "flocker": ("Flocker", None),
        "azureFile": ("AzureFile", None),
        "vsphereVolume": ("VsphereVolume", None),
        "azureDisk": ("AzureDisk", None),
        "photonPersistentDisk": ("PhotonPersistentDisk", None),
        "portworxVolume": ("PortworxVolume", None),
        "scaleIO": ("ScaleIO", None),
        "local": ("Local", Struct({"path": ("Path", ""), "fsType": ("FSType", None)})),
        "storageos": ("StorageOS", None),
        "csi": ("CSI", _CSI),
    }
)
_REQUIREMENTS = {"key": ("Key", ""), "operator": ("Operator", ""), "values": ("Values", None)}
NODE_AFFINITY = Struct(
    {
        "required": (
            "Required",
            Struct(
                {
                    "nodeSelectorTerms": (
                        "NodeSelectorTerms",
                        [
                            Struct(
                                {
                                    "matchExpressions": ("MatchExpressions", [Struct(_REQUIREMENTS)]),
                                    "matchFields": ("MatchFields", [Struct(_REQUIREMENTS)]),
                                }
                            )
                        ],
                    )
                }
            ),
        )
    }
)


def go_form(struct: Struct, value: JsonObject) -> dict[str, Any]:
    """The value with Go's names in Go's order, absent fields filled in."""
    shown: dict[str, Any] = {}
    for key, (name, kind) in struct.items():
        member = value.get(key)
        if isinstance(kind, Struct):
            shown[name] = None if member is None and not kind.by_value else go_form(kind, member or {})
        elif isinstance(kind, list):
            shown[name] = member if member is None else [go_form(kind[0], item) for item in member]
        else:
            shown[name] = kind if member is None else member
    return shown


def verbatim(struct: Struct, value: JsonObject | None) -> Verbatim:
    """The JSON of a struct, for the bad value of a message."""
    return Verbatim("null" if value is None else json.dumps(go_form(struct, value), separators=(",", ":")))


def difference(struct: Struct, old: JsonObject, new: JsonObject) -> str:
    """The unified diff of both values' indented JSON."""
    before, after = (_lines(go_form(struct, value)) for value in (old, new))
    return "".join(list(difflib.unified_diff(before, after))[2:])


def _lines(value: Any) -> list[str]:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return [f"{line}\n" for line in text.split("\n")]
