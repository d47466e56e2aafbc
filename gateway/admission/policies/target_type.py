"""The kind whose objects a mutation is applied to, in the version that the policy asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.admission.custom_objects import metadata_of
from gateway.http.status import internal_error
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionKind
from gateway.kinds.resource import Resource
from gateway.kinds.scheme import internal_package, unregistered
from gateway.patches.unstructured import converted, mismatch
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeError, DecodeReport, decode
from gateway.schema.types import Type


@dataclass(frozen=True, slots=True)
class TargetType:
    """The type of the objects that a mutation changes.

    `described`: whether the kind's own group version has its schema, so that configurations can be applied to it.
    `new`: whether the object is being created.
    """

    gvk: GroupVersionKind
    type: Type
    default: Callable[[JsonObject], None]
    custom: bool
    described: bool
    new: bool

    @classmethod
    def of(cls, resource: Resource, kind: GroupVersionKind, *, new: bool = True) -> TargetType:
        """The type of a resource's objects in the version of `kind`."""
        if resource.foreign_kind:
            return cls(kind, resource.type, resource.default, resource.custom, described=False, new=new)
        version = resource.model.versions[kind.group_version]
        if version.gvk == kind:
            default = version.default_applied or version.default  # nulls stay: validation refuses them
            return cls(kind, version.type, default, version.openapi is not None, described=True, new=new)
        return cls(kind, resource.type, resource.default, resource.custom, described=True, new=new)

    def read(self, value: JsonObject) -> JsonObject:
        """Decodes the result of a JSON patch strictly, and sets defaults. Raises StatusError 500."""
        if not isinstance(value, dict):
            raise internal_error("json: cannot unmarshal array into Go value of type struct")
        if self.custom:
            return self._defaulted(dict(value))
        kind, version = value.get("kind") or self.gvk.kind, value.get("apiVersion") or self.gvk.api_version
        if (kind, version) != (self.gvk.kind, self.gvk.api_version):
            raise internal_error(self._of_another(value, str(kind), str(version)))
        report = DecodeReport()
        try:
            read = decode(self.type, value, report)
        except DecodeError as error:
            raise internal_error(str(error)) from None
        if report.problems:
            raise internal_error(f"strict decoding error: {', '.join(report.problems)}")
        return self._defaulted(read)

    def _of_another(self, value: JsonObject, kind: str, version: str) -> str:
        group, _, number = version.rpartition("/")
        try:
            type_ = type_for(group, number, kind)
        except KeyError:
            return unregistered(kind, version)
        report = DecodeReport()
        try:
            decode(type_, value, report)
        except DecodeError as error:
            return str(error)
        if report.problems:
            return f"strict decoding error: {', '.join(report.problems)}"
        into = f"{internal_package(self.gvk.group)}.{self.gvk.kind}"
        return f"failed to convert object: converting ({number}.{kind}) to ({into}): unknown conversion"

    def converted(self, value: JsonObject) -> JsonObject:
        """Decodes the result of an ApplyConfiguration, and sets defaults. Raises ValueError."""
        if self.custom:
            return self._defaulted(dict(value))
        try:
            read = converted(self.type, value, DecodeReport())
        except DecodeError as error:
            shown = f"{self.gvk.group}/{self.gvk.version}, Kind={self.gvk.kind}"
            what = mismatch(value, self.type) or str(error)
            raise ValueError(f"unable to convert unstructured object to {shown}: {what}") from None
        return self._defaulted(read)

    def _defaulted(self, obj: JsonObject) -> JsonObject:
        obj["kind"], obj["apiVersion"] = self.gvk.kind, self.gvk.api_version
        if self.custom or "metadata" in self.type.fields:
            obj["metadata"] = metadata_of(obj, new=self.new) if self.custom else dict(obj.get("metadata") or {})
        self.default(obj)
        return obj
