"""The CEL types for the expressions of a policy, and the type errors of its expressions."""

from __future__ import annotations

from gateway.cel.builtin_types import declare_builtin
from gateway.cel.schema_types import SchemaDeclaration, declare
from gateway.cel.typed_expressions import TypedExpressions
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersion, GroupVersionKind
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.schema.catalog import type_for


def declared_type(resource: Resource) -> SchemaDeclaration | None:
    """The CEL declaration of a resource's objects; None if their type is unknown."""
    version = resource.model_version
    if version.openapi is None:
        return declare_builtin(version.type)
    declared = declare(version.openapi, root=True)
    metadata = declare_builtin(type_for("", "v1", "Namespace").fields["metadata"].type)
    if declared is not None and declared.fields is not None and metadata is not None:
        declared.fields["metadata"] = "metadata", metadata
    return declared


def param_type(spec: JsonObject, registry: Registry) -> SchemaDeclaration | None:
    """The CEL declaration of a policy's params; None if there are none, or their type is unknown."""
    if (kind := spec.get("paramKind")) is None:
        return None
    version = GroupVersion.parse(kind.get("apiVersion", ""))
    resource = registry.by_kind(version.group, version.version, kind.get("kind", ""))
    return None if resource is None else declared_type(resource)


def expression_warnings(
    spec: JsonObject, kinds: list[tuple[GroupVersionKind, SchemaDeclaration | None]], params: SchemaDeclaration | None
) -> list[JsonObject]:
    """The expressionWarnings of a policy's status, in the order of its validations.

    `kinds`: the kinds to check against, with their declarations. `params`: the declaration of the params.
    """
    variables = [(each["name"], each["expression"]) for each in spec.get("variables") or ()]
    known = [
        (gvk, TypedExpressions(gvk.kind, of_object, params, params="paramKind" in spec, variables=variables))
        for gvk, of_object in kinds
    ]
    warnings = list[JsonObject]()
    for at, validation in enumerate(spec.get("validations") or ()):
        for field in ("expression", "messageExpression"):
            if not (text := validation.get(field)):
                continue
            found = [
                f"{gvk.group}/{gvk.version}, Kind={gvk.kind}: {problem}\n"
                for gvk, expressions in known
                if (problem := expressions.problem(text))
            ]
            if found:
                warnings.append({"fieldRef": f"spec.validations[{at}].{field}", "warning": "\n".join(found)})
    return warnings
