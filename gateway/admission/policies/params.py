"""The parameters of a policy: which objects its bindings name or select (page "Validating Admission Policy")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersion
from gateway.kinds.objects import NotServed, Objects
from gateway.kinds.resource import Resource
from gateway.selectors.label_selector import Matches, compile_selector

ByKind = Callable[[str, str, str], Resource | None]


class ConfigurationError(Exception):
    """A policy or a binding cannot be used for a request; the message says why, in kube-apiserver's words."""


@dataclass(frozen=True, slots=True)
class ParamKind:
    """The kind of a policy's parameters."""

    group: str
    version: str
    kind: str

    @classmethod
    def of(cls, spec: JsonObject) -> ParamKind | None:
        """The parameter kind of a policy's spec; None if it has none."""
        if (given := spec.get("paramKind")) is None:
            return None
        version = GroupVersion.parse(given["apiVersion"])
        return cls(version.group, version.version, given["kind"])

    def resource(self, by_kind: ByKind) -> Resource:
        """The resource that serves the kind. Raises ConfigurationError if there is none, or it is not stored."""
        found = by_kind(self.group, self.version, self.kind)
        if found is None or not found.storage_prefix:
            written = f"{self.group}/{self.version}, Kind={self.kind}"
            raise ConfigurationError(f"failed to find resource referenced by paramKind: '{written}'")
        return found


@dataclass(frozen=True, slots=True)
class ParamRef:
    """The paramRef of a binding: one object by its name, or those that a label selector matches."""

    name: str
    namespace: str
    matches: Matches | None
    required: bool

    @classmethod
    def of(cls, spec: JsonObject) -> ParamRef | None:
        """The paramRef of a binding's spec; None if it has none."""
        if (given := spec.get("paramRef")) is None:
            return None
        selector = compile_selector(given.get("selector"))
        required = given.get("parameterNotFoundAction") == "Deny"
        return cls(given.get("name", ""), given.get("namespace", ""), selector, required)

    async def collect(self, resource: Resource, objects: Objects, namespace: str) -> list[JsonObject]:
        """The parameter objects for a request in a namespace ("" for none). Callers must not change them.

        Raises ConfigurationError.
        """
        within = ""
        if resource.namespaced:
            within = self.namespace or namespace
            if not within:
                unusable = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                raise ConfigurationError(unusable)
        elif self.namespace:
            raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        found = await self._read(resource, objects, within)
        if not found and self.required:
            missing = "no params found for policy binding with `Deny` parameterNotFoundAction"
            raise ConfigurationError(missing)
        return found

    async def _read(self, resource: Resource, objects: Objects, within: str) -> list[JsonObject]:
        try:
            if not self.name:
                return await objects.select(resource.gvr, within, self.matches)
            one = await objects.get(resource.gvr, within, self.name)
        except NotServed as error:
            raise ConfigurationError(str(error)) from None
        return [] if one is None else [one]
