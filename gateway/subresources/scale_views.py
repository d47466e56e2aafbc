"""Reads a Scale from an object, and writes its replicas back: in built-in workloads, and by the paths of a CRD.

The rules of custom objects are those of the scale subresource of "CustomResourceDefinitions", as kube-apiserver has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from gateway.apply.scale import ReplicasPaths
from gateway.http import status
from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource
from gateway.kinds.scale_paths import ScalePaths, WrongType, at_path, steps
from gateway.subresources.selector_text import selector_text

_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_UNSET = -(2**31)  # stands for missing replicas before a write; a write that leaves it is refused


class ScaleView(Protocol):
    """The Scale of the objects of one resource."""

    @property
    def paths(self) -> ReplicasPaths:
        """Where each version of the object has its replicas."""

    @property
    def validated(self) -> bool:
        """Whether a Scale has rules of its own, beside those of the object."""

    def get(self, obj: JsonObject) -> JsonObject:
        """The Scale that a GET answers. Raises StatusError."""

    def before(self, obj: JsonObject) -> JsonObject:
        """The Scale that a write changes. Raises StatusError."""

    def scale(self, obj: JsonObject) -> JsonObject:
        """The Scale, even if the object lacks some of its fields. Raises StatusError."""

    def put(self, obj: JsonObject, replicas: int) -> None:
        """Sets the replicas of an object, in place. Raises StatusError."""


def view_of(resource: Resource) -> ScaleView:
    """How the objects of a resource are seen as a Scale."""
    if not resource.custom:
        return _Workload({resource.api_version: ("spec", "replicas")})
    versions = resource.model.versions.values()
    found = {version.api_version: ScalePaths.of(version.subresources) for version in versions}
    return _Custom(
        found[resource.api_version], {version: steps(at.spec) if at.spec else () for version, at in found.items()}
    )


@dataclass(frozen=True, slots=True)
class _Workload:
    """A built-in workload."""

    paths: ReplicasPaths
    validated: ClassVar[bool] = True

    def get(self, obj: JsonObject) -> JsonObject:
        return self.scale(obj)

    def before(self, obj: JsonObject) -> JsonObject:
        return self.scale(obj)

    def scale(self, obj: JsonObject) -> JsonObject:
        spec, state = obj.get("spec") or {}, obj.get("status") or {}
        selector = selector_text(spec.get("selector"), plain=obj["kind"] == "ReplicationController")
        return _scale(obj, spec.get("replicas", 1), state.get("replicas", 0), selector)

    def put(self, obj: JsonObject, replicas: int) -> None:
        obj["spec"]["replicas"] = replicas


@dataclass(frozen=True, slots=True)
class _Custom:
    """A custom object, with the paths of its definition."""

    at: ScalePaths
    paths: ReplicasPaths
    validated: ClassVar[bool] = False

    def get(self, obj: JsonObject) -> JsonObject:
        scale = self.scale(obj)
        if self._replicas(obj) is None:
            raise status.internal_error(f'the spec replicas field "{self.at.spec}" does not exist')
        return scale

    def before(self, obj: JsonObject) -> JsonObject:
        scale = self.scale(obj)
        if self._replicas(obj) is None:
            scale["spec"]["replicas"] = _UNSET
        return scale

    def scale(self, obj: JsonObject) -> JsonObject:
        try:
            wanted = self._replicas(obj) or 0
            actual = at_path(obj, steps(self.at.status), int, "int64") or 0
            selector = at_path(obj, steps(self.at.selector), str, "string") if self.at.selector else ""
        except WrongType as error:  # the object was stored before the CRD changed
            raise status.StatusError(500, "", str(error)) from None
        return _scale(obj, wanted, actual, selector or "")

    def put(self, obj: JsonObject, replicas: int) -> None:
        if replicas == _UNSET:
            raise status.bad_request(f'the spec replicas field "{self.at.spec}" cannot be empty')
        *parents, last = steps(self.at.spec)
        at = obj
        for i, step in enumerate(parents):
            at = at.setdefault(step, {})
            if not isinstance(at, dict):  # null; anything else was refused when it was read
                where = "".join(f".{each}" for each in parents[: i + 1])
                message = f"value cannot be set because {where} is not a map[string]interface{{}}"
                raise status.StatusError(500, "", message)
        at[last] = replicas

    def _replicas(self, obj: JsonObject) -> int | None:
        found: int | None = at_path(obj, steps(self.at.spec), int, "int64")
        return found


def _scale(obj: JsonObject, wanted: int, actual: int, selector: str) -> JsonObject:
    meta = obj["metadata"]
    shown: JsonObject = {"replicas": actual}
    if selector:
        shown["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in _KEPT if key in meta},
        "spec": {"replicas": wanted} if wanted else {},
        "status": shown,
    }
