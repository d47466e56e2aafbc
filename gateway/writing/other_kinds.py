"""Error messages for a body of another kind than the resource's: Go decodes it by its own kind, then converts it."""

from __future__ import annotations

from typing import Any

from gateway.kinds.resource import Resource
from gateway.kinds.scheme import internal_package, is_registered, unregistered
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeReport, decode
from gateway.schema.errors import DecodeError
from gateway.schema.types import Type


def unreadable_as(value: Any, version: str, kind: str) -> str | None:
    """Why a value cannot be read as the built-in kind that it names; None if it can."""
    type_ = _type(version, kind)
    known = type_ is not None or _type(version, kind.removesuffix("List")) is not None
    if not is_registered(kind, version, known):
        return unregistered(kind, version)
    if type_ is None:
        return None
    try:
        decode(type_, value, DecodeReport())
    except DecodeError as error:
        return str(error)
    return None


def _type(version: str, kind: str) -> Type | None:
    group, _, number = version.rpartition("/")
    try:
        return type_for(group, number, kind)
    except KeyError:
        return None


def unfit(value: Any, version: str, named: str, api_version: str, kind: str) -> str:
    """The error for a value of the built-in kind `named` in `version`, where `kind` in `api_version` is expected."""
    problem = unreadable_as(value, version, named)
    if problem is not None:
        return problem
    package = internal_package(api_version.rpartition("/")[0])
    return f"converting ({version.rpartition('/')[2]}.{named}) to ({package}.{kind}): unknown conversion"


_OF_ALL = frozenset({"apiVersion", "kind", "metadata"})


def unknown_by_name(value: Any, resource: Resource, report: DecodeReport) -> list[str] | None:
    """The unknown fields of a custom object, if no schema of its definition finds them; None if one does.

    As kube-apiserver prunes: by the schema of the version in the object, which may not exist, and only objects of the
    definition's group and kind. The `report` of a decoder has the unknown fields of the metadata, which always count.
    """
    if not resource.custom or not isinstance(value, dict):
        return None
    version, kind = str(value.get("apiVersion")), value.get("kind")
    if version == resource.api_version and kind == resource.kind:
        return None
    in_metadata = [text for text in report.unknown if text.startswith('unknown field "metadata.')]
    if kind != resource.kind or version.rpartition("/")[0] != resource.group:
        return in_metadata
    if version.rpartition("/")[2] in {each.version for each in resource.model.versions}:
        return None
    return [*in_metadata, *(f'unknown field "{name}"' for name in sorted(value.keys() - _OF_ALL))]
