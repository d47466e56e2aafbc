"""Strategies of a server that refuses privileged containers (--allow-privileged=false)."""

from __future__ import annotations

from dataclasses import replace

from gateway.jsontypes import JsonObject
from gateway.kinds.pod_templates import TEMPLATES, at
from gateway.kinds.resource import Resource
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.cluster_policy import privileges
from gateway.validation.field import FieldError


def unprivileged(strategy: Strategy, resource: Resource) -> Strategy:
    """The strategy that also refuses privileged containers; `strategy` itself for a resource without pod specs."""
    path = _path(resource)
    if not path:
        return strategy
    where = ".".join(path)

    def more(obj: JsonObject) -> list[FieldError]:
        spec = at(obj, path)
        return [] if spec is None else privileges(spec, where)

    def validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
        return [*strategy.validate(obj, context), *more(obj)]

    def validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        return [*strategy.validate_update(obj, old, context), *more(obj)]

    return replace(strategy, validate=validate, validate_update=validate_update)


def _path(resource: Resource) -> tuple[str, ...]:
    """The path of the pod spec; empty if the resource has none."""
    if (resource.group, resource.resource) == ("", "pods"):
        return ("spec",) if resource.subresource in ("", "ephemeralcontainers", "resize") else ()
    template = TEMPLATES.get((resource.group, resource.resource))
    return (*template, "spec") if template and not resource.subresource else ()
