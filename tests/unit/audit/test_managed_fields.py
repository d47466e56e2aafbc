"""Managed fields are cut out of JSON as if it had been parsed."""

from __future__ import annotations

import json
import time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.audit.managed_fields import cut_out_managed_fields
from gateway.audit.objects import EncodedObject, embedded
from tests.limits import at_most_cpu

NAMES = ("metadata", "managedFields", "items", "rows", "object", "a", '"', "\\", '{"managedFields":[')
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(NAMES) | st.text(max_size=4)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.sampled_from(NAMES), below, max_size=5),
    max_leaves=40,
)
METADATA = st.fixed_dictionaries({"managedFields": VALUES}, optional={"a": VALUES, "metadata": VALUES})
ITEMS = st.fixed_dictionaries({"metadata": METADATA | VALUES}, optional={"object": VALUES, "spec": VALUES, "a": VALUES})
WRAPPED = st.fixed_dictionaries({"object": ITEMS | VALUES}, optional={"metadata": METADATA, "managedFields": VALUES})
LISTS = st.lists(ITEMS | WRAPPED | VALUES, max_size=4) | VALUES
OBJECTS = st.fixed_dictionaries(
    {"metadata": METADATA | VALUES}, optional={"items": LISTS, "rows": LISTS, "managedFields": VALUES, "spec": ITEMS}
)


@given(OBJECTS | VALUES, st.randoms(use_true_random=False), st.booleans())
def test_the_text_has_what_the_parsed_value_has(value: Any, random: Any, indented: bool) -> None:
    if isinstance(value, dict):
        names = list(value)
        random.shuffle(names)
        value = {name: value[name] for name in names}
    data = json.dumps(value, indent=2 if indented else None, separators=(",", ": " if indented else ":")).encode()
    parsed = embedded(EncodedObject(data, own=True), True)
    assert orjson.loads(cut_out_managed_fields(data)) == orjson.loads(orjson.dumps(parsed))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b'{"metadata":{"managedFields":[{"f":{}}],"name":"a"}}', b'{"metadata":{"name":"a"}}'),
        (b'{"metadata":{"name":"a","managedFields":null}}', b'{"metadata":{"name":"a"}}'),
        (b'{"metadata":{"managedFields":[]}}', b'{"metadata":{}}'),
        (b'{"spec":{"metadata":{"managedFields":[]}}}', b'{"spec":{"metadata":{"managedFields":[]}}}'),
        (b'{"items":[[{"metadata":{"managedFields":[]}}]]}', b'{"items":[[{"metadata":{"managedFields":[]}}]]}'),
        (b'{"items":[],"rows":[{"metadata":{"managedFields":[]}}]}',) * 2,
    ],
)
def test_only_members_of_metadata_are_cut_out(text: bytes, found: bytes) -> None:
    assert cut_out_managed_fields(text) == found


@pytest.mark.parametrize("filling", [b"[],", b'"",', b'"\\\\\\"",'])
def test_a_megabyte_takes_a_bounded_time(filling: bytes) -> None:
    """It runs in the thread of a sink, where each string, array and object is a step of its own."""
    data = b'{"metadata":{"managedFields":[]},"a":[' + filling * ((1 << 20) // len(filling)) + b"1]}"
    began = time.thread_time()
    cut_out_managed_fields(data)
    at_most_cpu(time.thread_time() - began, 1.0)
