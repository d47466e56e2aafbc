"""ApplyConfiguration: a mutation's value is merged into the object as by server-side apply, without field managers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gateway.admission.policies.foreign_values import foreign_problems
from gateway.admission.policies.json_values import JsonValues
from gateway.admission.policies.keyed_maps import Unfit, fitting
from gateway.admission.policies.target_type import TargetType
from gateway.apply.merge import merged
from gateway.apply.nonconformity import nonconformity
from gateway.apply.shapes import Shape, shape_of
from gateway.cel.patch_objects import misnamed
from gateway.cel.values import EvaluationError
from gateway.jsontypes import JsonObject
from gateway.schema.types import Type, TypeKind

_FREE_ATOM = "runtime.RawExtension"


class MutationFailed(Exception):
    """A mutation cannot be made; the message says why, in kube-apiserver's words."""


def apply_configuration(obj: JsonObject, value: Any, target: TargetType, read: Iterable[Any]) -> JsonObject:
    """Merges a configuration, which is the value of an expression, into the object, and returns the result.

    `read` is the JSON that the expression could read. Raises MutationFailed.
    """
    if wrong := misnamed(value):
        raise MutationFailed("type mismatch: " + "\n".join(wrong))
    value = fitting(value, read)
    if isinstance(value, Unfit):
        raise MutationFailed("invalid return type: *dynamic.ObjectVal")
    if foreign := list(foreign_problems(value, target.type)) if target.described else []:
        raise _unfit(foreign[0] if len(foreign) == 1 else "\n  ".join(("errors:", *foreign)))
    try:
        config = JsonValues(exact=True).of(value)
    except EvaluationError as error:
        raise MutationFailed(str(error)) from None
    config["apiVersion"], config["kind"] = target.gvk.api_version, target.gvk.kind
    if not target.described:
        kind = f"{target.gvk.api_version}, Kind={target.gvk.kind}"
        raise _unfit(f"no corresponding type for {kind}")
    if (problem := nonconformity(config, target.type)) is not None:
        raise _unfit(problem)
    if atomic := list(atoms(config, target.type)):
        forbidden = f"may not mutate atomic arrays, maps or structs: {', '.join(atomic)}"
        raise MutationFailed(f"error applying patch: invalid ApplyConfiguration: {forbidden}")
    if (problem := nonconformity(obj, target.type, duplicates=True)) is not None:
        what = f"failed to convert original object to typed object: {problem}"
        raise MutationFailed(f"error applying patch: {what}")
    try:
        return target.converted(merged(obj, config, target.type))
    except ValueError as error:
        raise MutationFailed(str(error)) from None


def _unfit(problem: str) -> MutationFailed:
    return MutationFailed(f"error applying patch: failed to convert patch object to typed object: {problem}")


def atoms(value: Any, type_: Type, path: str = "") -> Iterator[str]:
    """The paths of the atomic values in a configuration: applying a part of one would remove the rest of it."""
    if isinstance(value, dict):
        if type_.atomic if type_.kind in (TypeKind.STRUCT, TypeKind.MAP) else _is_free_atom(type_):
            yield path
        for name, each in value.items():
            if (field := type_.fields.get(name)) is not None:
                yield from atoms(each, field.type, f"{path}.{name}")
    elif isinstance(value, list):
        if type_.kind is not TypeKind.LIST or type_.list_type not in ("map", "set"):
            yield path
        for at, each in enumerate(value):
            if type_.kind is TypeKind.LIST and type_.elem is not None:
                yield from atoms(each, type_.elem, f"{path}[{at}]")
            elif shape_of(type_) is Shape.FREE:
                yield from _free_atoms(each, f"{path}[{at}]")


def _free_atoms(value: Any, path: str) -> Iterator[str]:
    """The atomic values in a list without a schema: each of its maps and lists is one."""
    if isinstance(value, dict | list):
        yield path
    for at, each in enumerate(value if isinstance(value, list) else ()):
        yield from _free_atoms(each, f"{path}[{at}]")


def _is_free_atom(type_: Type) -> bool:
    return type_.kind is TypeKind.ANY and type_.name == _FREE_ATOM
