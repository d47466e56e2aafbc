"""Nothing that travels through the phases of a write changes on its way."""

from __future__ import annotations

import ast
import dataclasses
import re
import types
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from gateway.admission.policies.mutating import _Reinvocations
from gateway.admission.record import Admission, Versioned
from gateway.admission.webhooks.mutating import _Rounds
from gateway.endpoints.endpoint import Endpoint
from gateway.http.request_info import RequestInfo
from gateway.jsontypes import dumps, loads
from gateway.kinds.identity import GroupVersion
from gateway.kinds.resource import Resource
from gateway.kinds.spec_templates import Specification
from gateway.kinds.write_context import NamedResource, WriteContext, WriteOptions
from gateway.release.release import Release
from gateway.validation.field import FieldError
from gateway.writing import admission, update, write
from gateway.writing.make import Made, Present
from gateway.writing.patch import maker_of
from storage.change import Charge
from storage.protocol import Store
from tests.unit.verbs.conftest import ADMIN, Api

ROOT = Path(__file__).parents[3]
OBJECT = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7"},
    "data": {"x": "1"},
    "binaryData": {"z": "AA=="},
}
CONTEXT = (WriteContext, write.Write)
RESULTS = (
    Present,
    Made,
    admission.Admitted,
    Admission,
    _Rounds,
    _Reinvocations,
    write.Prepared,
    write.Written,
    update._New,
)
MADE_BEFORE = (
    Endpoint,
    Store,
    Specification,
    NamedResource,
    RequestInfo,
    Release,
    Resource,
    Charge,
    write.Facet,
)  # or caches


def parts(hint: Any) -> Iterator[Any]:
    """The types that a field of this type may have."""
    if get_origin(hint) in (Union, types.UnionType, Sequence, tuple):
        for each in get_args(hint):
            yield from parts(each)
    else:
        yield get_origin(hint) or hint


def never_changes(kind: Any) -> bool:
    """Whether objects of a type stay as they were made."""
    if kind in (str, int, bool, float, bytes, types.NoneType, Callable, Ellipsis, FieldError, *MADE_BEFORE):
        return True
    if dataclasses.is_dataclass(kind):
        return bool(kind.__dataclass_params__.frozen) and all(map(never_changes, fields(kind)))  # type: ignore[union-attr]
    if isinstance(kind, type) and issubclass(kind, tuple):
        return all(map(never_changes, fields(kind)))
    return isinstance(kind, type) and issubclass(kind, Enum)


def fields(kind: type) -> list[Any]:
    return [part for hint in get_type_hints(kind, include_extras=False).values() for part in parts(hint)]


@pytest.mark.parametrize("kind", CONTEXT)
def test_the_context_of_a_write_has_no_field_that_changes(kind: type) -> None:
    hints = get_type_hints(kind)
    changing = {name for name, hint in hints.items() if not all(map(never_changes, parts(hint)))}
    assert changing == set()
    assert issubclass(kind, tuple), "a field cannot be set"


def test_of_an_admission_only_the_object_changes() -> None:
    hints = get_type_hints(Admission)
    assert hints.pop("versions") == dict[GroupVersion, Versioned], "which is a cache"
    changing = {name for name, hint in hints.items() if not all(map(never_changes, parts(hint)))}
    assert changing == {"obj", "old", "kept"}, "the plug-ins before validation change `obj` in place"


def test_who_what_options_deadline_and_release_are_in_one_context() -> None:
    assert {"request", "resource", "options", "deadline", "release"} <= get_type_hints(WriteContext).keys()
    assert not {WriteOptions, Release} & set(get_type_hints(write.Write).values()), "they would be there twice"


def test_a_phase_asks_its_context_for_the_release() -> None:
    asking = {
        path.name
        for path in (ROOT / "gateway" / "writing").glob("*.py")
        if ".release" in path.read_text(encoding="utf-8").replace("from gateway.release", "")
    }
    assert asking == {"write.py"}, "which gives it to the context"


@pytest.mark.parametrize("kind", RESULTS)
def test_the_result_of_a_phase_is_not_set_by_another_one(kind: type) -> None:
    assert issubclass(kind, tuple)
    assert not any(name in kind.__dict__ for name in ("__setattr__", "__dict__"))


def _names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names in a function that stand for a write, its context or its admission."""
    given = function.args
    every = (*given.posonlyargs, *given.args, *given.kwonlyargs)
    typed = {
        each.arg
        for each in every
        if each.annotation is not None
        and {"Write", "WriteContext", "Admission"} & set(ast.unparse(each.annotation).split(" | "))
    }
    return typed | {"write", "self._write", "admission", "self.admission", "self._admission"}


def _set(function: ast.AST) -> Iterator[str]:
    """The attributes that a function sets or deletes, such as "write.size"."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield ast.unparse(node)
        elif isinstance(node, ast.AugAssign):
            yield ast.unparse(node.target)


def test_nobody_sets_a_member_of_a_write_or_its_context() -> None:
    found = []
    for path in (ROOT / "gateway").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "Write" not in text and "Admission" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                roots = tuple(f"{name}." for name in _names(node))
                found += [f"{path.name}: {target}" for target in _set(node) if target.startswith(roots)]
    assert found == []


def test_only_its_own_methods_make_the_record_of_an_admission_that_follows() -> None:
    made = re.compile(r"\badmission\._replace\(|(?<!class )\bAdmission\(")
    paths = (ROOT / "gateway").rglob("*.py")
    assert [path.name for path in paths if made.search(path.read_text(encoding="utf-8"))] == ["record.py"]


PATCHES = {
    "application/json-patch+json": [{"op": "add", "path": "/data", "value": {"x": "2", "y": None}}],
    "application/merge-patch+json": {"data": {"x": "2"}, "unknown": 1},
    "application/strategic-merge-patch+json": {"metadata": {"labels": {"a": "b"}}},
    "application/apply-patch+yaml": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {}},
}


@pytest.mark.parametrize("media_type", PATCHES)
async def test_a_patch_makes_the_same_of_the_same_object_each_time(media_type: str) -> None:
    endpoint = Api().endpoints.of("", "v1", "configmaps")
    body, value = dumps(PATCHES[media_type]), dumps(OBJECT)
    options = WriteOptions(manager="m", force=True)
    one = write.begin_as(endpoint, ADMIN, "patch", "default", "a", "m", options=options)
    make = maker_of(one, media_type.encode(), body)

    def made() -> tuple[Any, ...]:
        found = make(Present(loads(value), value, 7, True, endpoint.convert))
        members = [] if found.kept is None else [name for name in found.obj if name in found.kept]
        return dumps(found.obj), members, found.unstored, found.warnings

    assert made() == made()
