"""The resource of the root that describes control planes: its CustomResourceDefinition, and an object as it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.jsontypes import JsonObject, loads
from gateway.release.minors import GIT_VERSIONS
from storage.entry import Entry
from storage.seeded.seeds import BORN

GROUP, VERSION, PLURAL, KIND = "apiserver-gateway.dev", "v1alpha1", "controlplanes", "ControlPlane"
FINALIZER = f"{GROUP}/keys"
"""The finalizer of a control plane, as long as etcd may have keys of it."""

MADE = BORN
"""Below the prefix of a control plane: the key that says that it has all objects that it begins with. Each write of a
request compares it, so none is made once it is gone.
"""
ANNOUNCEMENTS = b"working/"
"""Below the common prefix, where no control plane is: a key for each one that may have unfinished work, by uid."""

_SYSTEM = "system:"
READY, MAKING, ENDING = "Ready", "Making", "Ending"
_MOST_ADMINS, _LONGEST = 64, 256

_TEXT = {"type": "string"}
_LABEL = "self.metadata.name.size() <= 63 && !self.metadata.name.contains('.')"


def _names(what: str) -> JsonObject:
    rule = {"rule": "!self.startsWith('system:')", "message": f"a {what} of the system cannot enter a control plane"}
    items = {**_TEXT, "minLength": 1, "maxLength": _LONGEST, "x-kubernetes-validations": [rule]}
    said = f"The {what}s of the root that enter the control plane as its administrators."
    listed = {"type": "array", "items": items, "maxItems": _MOST_ADMINS, "x-kubernetes-list-type": "set"}
    return {**listed, "description": said}


_ADMINS = {
    "type": "object",
    "description": "The root's users who may enter the control plane, as members of its group root:admins.",
    "properties": {"users": _names("user"), "groups": _names("group")},
}
_TEMPLATE = {
    **_TEXT,
    "maxLength": 63,
    "description": "The control plane whose objects this one begins with, as they are when it is made. They cannot be "
    "exchanged later.",
    "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "the template cannot be changed"}],
}
_VERSION = {
    **_TEXT,
    "enum": list(GIT_VERSIONS),
    "description": "The version of Kubernetes that the control plane serves; that of the server if it is not set.",
}
_LIMITED = {
    "objects": "The number of all objects, with those that it begins with.",
    "bytes": "The bytes of all objects together, as JSON.",
    "requests": "The requests that run at the same time; as many more may wait for a moment.",
    "watches": "The watches that are open at the same time.",
}
_LIMITS = {
    "type": "object",
    "description": "What the control plane may have. What is not named has no limit. Administrators are limited too.",
    "properties": {
        name: {"type": "integer", "format": "int64", "minimum": 1, "description": said}
        for name, said in _LIMITED.items()
    },
}
_CONDITION = {
    "type": "object",
    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
    "properties": {
        **dict.fromkeys(("type", "reason", "message"), _TEXT),
        "status": {**_TEXT, "enum": ["True", "False", "Unknown"]},
        "lastTransitionTime": {**_TEXT, "format": "date-time"},
    },
}
_STATUS = {
    "type": "object",
    "properties": {
        "phase": {**_TEXT, "description": "Making, Ready or Ending."},
        "url": {**_TEXT, "description": "The server's URL for clients of the control plane."},
        "secret": {**_TEXT, "description": "The Secret of kube-system with the kubeconfig of its administrator."},
        "conditions": {
            "type": "array",
            "items": _CONDITION,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        },
    },
}
_COLUMNS = [
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Version", "type": "string", "jsonPath": ".spec.version"},
    {"name": "URL", "type": "string", "jsonPath": ".status.url"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def definition() -> JsonObject:
    """The CustomResourceDefinition, without kind and apiVersion."""
    schema = {
        "type": "object",
        "x-kubernetes-validations": [{"rule": _LABEL, "message": "the name must be a DNS label"}],
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"admins": _ADMINS, "template": _TEMPLATE, "version": _VERSION, "limits": _LIMITS},
            },
            "status": _STATUS,
        },
    }
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": _COLUMNS,
    }
    names = {"plural": PLURAL, "singular": "controlplane", "kind": KIND, "listKind": f"{KIND}List"}
    names["shortNames"] = ["cp"]  # type: ignore[assignment]
    spec = {"group": GROUP, "scope": "Cluster", "names": names, "versions": [version]}
    return {"metadata": {"name": f"{PLURAL}.{GROUP}"}, "spec": spec}


@dataclass(frozen=True, slots=True)
class ClusterLimits:
    """The limits of a control plane; 0 means no limit."""

    objects: int = 0
    bytes: int = 0
    requests: int = 0
    watches: int = 0


@dataclass(frozen=True, slots=True)
class ClusterDefinition:
    """A control plane as its object describes it. `users` and `groups` of the root enter it as administrators."""

    name: str
    uid: str
    users: frozenset[str]
    groups: frozenset[str]
    template: str  # the name of a control plane, or ""
    phase: str
    is_ending: bool
    is_finalized: bool  # whether it has the finalizer
    limits: ClusterLimits = ClusterLimits()
    version: str = ""  # the minor of Kubernetes that it serves; "" is that of the server


def described(entry: Entry, _before: ClusterDefinition | None) -> ClusterDefinition:
    """Reads a stored object. Raises LookupError, TypeError for one that is not valid."""
    obj: Any = loads(entry.head + entry.tail)
    spec = obj.get("spec") or {}
    meta, admins, limits = obj["metadata"], spec.get("admins") or {}, spec.get("limits") or {}
    return ClusterDefinition(
        meta["name"],
        meta["uid"],
        frozenset(each for each in admins.get("users") or () if not each.startswith(_SYSTEM)),
        frozenset(each for each in admins.get("groups") or () if not each.startswith(_SYSTEM)),
        spec.get("template") or "",
        (obj.get("status") or {}).get("phase") or MAKING,
        bool(meta.get("deletionTimestamp")),
        FINALIZER in (meta.get("finalizers") or ()),
        ClusterLimits(**{name: int(limits.get(name) or 0) for name in _LIMITED}),
        spec.get("version") or "",
    )
