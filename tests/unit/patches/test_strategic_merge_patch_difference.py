"""A strategic merge patch made from two objects turns the first into the second, with lists in order."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.patches import strategic_merge_patch
from gateway.schema.catalog import type_for
from gateway.schema.types import Type, TypeKind
from tests.examples import examples

POD = type_for("", "v1", "Pod")

WORDS = st.sampled_from(["a", "b", "c", "d"])


def keyed(key: str, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    item = st.fixed_dictionaries({key: WORDS}, optional=members)
    return st.lists(item, min_size=1, max_size=4, unique_by=lambda value: value[key])


CONTAINERS = keyed(
    "name",
    image=WORDS,
    args=st.lists(WORDS, min_size=1, max_size=3),
    env=keyed("name", value=WORDS),
    volumeMounts=keyed("mountPath", name=WORDS),
)
PODS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "labels": st.dictionaries(WORDS, WORDS, min_size=1, max_size=3),
                "finalizers": st.lists(WORDS, min_size=1, max_size=4, unique=True),
            },
        ),
        "spec": st.fixed_dictionaries(
            {"containers": CONTAINERS},
            optional={"nodeName": WORDS, "tolerations": st.lists(st.fixed_dictionaries({"key": WORDS}), max_size=2)},
        ),
    }
)


def difference(source: dict[str, Any], target: dict[str, Any], type_: Type) -> dict[str, Any]:
    """The patch from `source` to `target`, as kubectl makes it."""
    patch: dict[str, Any] = {key: None for key in source if key not in target}
    for key, value in target.items():
        before = source.get(key)
        if before == value:
            continue
        field = type_.fields[key]
        if field.type.kind is TypeKind.STRUCT and before is not None:
            patch[key] = difference(before, value, field.type)
        elif field.type.kind is TypeKind.MAP and before is not None:
            patch[key] = {name: None for name in before if name not in value} | value
        elif field.type.kind is TypeKind.LIST and before and "merge" in field.patch_strategies:
            patch.update(list_difference(key, before, value, field.patch_merge_key, field.type))
        else:
            patch[key] = value
    return patch


def list_difference(key: str, before: list[Any], after: list[Any], merge_key: str, type_: Type) -> dict[str, Any]:
    if not merge_key:
        patch: dict[str, Any] = {f"$setElementOrder/{key}": after, key: [v for v in after if v not in before]}
        gone = [value for value in before if value not in after]
        return patch | ({f"$deleteFromPrimitiveList/{key}": gone} if gone else {})
    old, new = ({item[merge_key]: item for item in items} for items in (before, after))
    assert type_.elem is not None
    changes = [
        difference(old[name], item, type_.elem) | {merge_key: name} if name in old else item
        for name, item in new.items()
        if item != old.get(name)
    ]
    gone = [{merge_key: name, "$patch": "delete"} for name in old if name not in new]
    return {f"$setElementOrder/{key}": [{merge_key: name} for name in new], key: changes + gone}


@settings(max_examples=examples(150), deadline=None)
@given(PODS, PODS)
def test_patch_of_a_difference_reproduces_the_target(source: dict[str, Any], target: dict[str, Any]) -> None:
    patch = difference(source, target, POD)
    result = strategic_merge_patch.apply(source, patch, POD)
    assert result == target
    assert strategic_merge_patch.apply(result, {}, POD) == target
