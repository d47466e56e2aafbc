"""Whether a patch has changed an object, of which most is shared with the old one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway.jsontypes import identical
from gateway.writing.unchanged_members import UnchangedMembers

TEXTS = st.dictionaries(st.sampled_from("ab"), st.sampled_from(["", "1", "2"]), max_size=2)
MANAGERS = st.lists(st.fixed_dictionaries({"manager": st.sampled_from("xy"), "fieldsV1": st.just({"f:a": {}})}))
NUMBERS = st.sampled_from([1, 1.0, True, 1 << 64, float(1 << 64)])
METADATA = st.fixed_dictionaries(
    {"name": st.just("o")},
    optional={"labels": TEXTS, "annotations": TEXTS, "managedFields": MANAGERS, "generation": NUMBERS},
)


@given(METADATA, METADATA, NUMBERS, NUMBERS)
def test_an_object_is_unchanged_if_it_is_the_same_json(before: Any, after: Any, status: Any, other: Any) -> None:
    spec = {"a": 1}
    old, new = ({"metadata": m, "spec": spec, "status": {"n": s}} for m, s in ((before, status), (after, other)))
    assert UnchangedMembers(old, ["spec"]).is_all_of(new) == identical(old, new)
