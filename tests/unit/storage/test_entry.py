"""A resourceVersion is put into an object's bytes and removed from them without parsing."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from storage.entry import MARK, entry_of, with_version
from tests.unit.storage.canonical import HEAD, PREFIX, canonical, labels_and_fields_of

# What could be taken for the uid or the version by who only looks for bytes.
TRAPS = ['"uid":"', '","uid":"x', ',"resourceVersion":"7"', "\\", '\\"uid":"', '"metadata":{', "é€😀", "\n \n", ""]
TEXT = st.one_of(st.sampled_from(TRAPS), st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12))
UID = st.uuids().map(str) | st.just("")
OBJECTS = st.fixed_dictionaries(
    {"name": TEXT, "uid": UID, "labels": st.dictionaries(TEXT, TEXT, max_size=3)},
    optional={"annotations": st.dictionaries(TEXT, TEXT, max_size=3), "spec": st.dictionaries(TEXT, TEXT, max_size=3)},
)
REVISIONS = st.integers(1, 1 << 62)


@given(OBJECTS, REVISIONS)
def test_a_value_comes_back_out_of_its_entry(members: dict[str, Any], revision: int) -> None:
    value = canonical(**members)
    assert entry_of(PREFIX + b"x", value, revision, HEAD).stored().value == value


@given(OBJECTS, REVISIONS, st.text(" \t", min_size=1).map(str.encode))
def test_blanks_at_the_end_come_back_and_are_not_shown(members: dict[str, Any], revision: int, blanks: bytes) -> None:
    value = canonical(**members)
    ended = value[: -len(MARK)] + blanks + MARK
    entry = entry_of(PREFIX + b"x", ended, revision, HEAD)
    assert entry.stored().value == ended
    assert entry.tail == entry_of(PREFIX + b"x", value, revision, HEAD).tail
    assert entry.at(revision + 1).tail == entry_of(PREFIX + b"x", value, revision + 1, HEAD).tail
    assert with_version(ended, revision) == with_version(value, revision)
    assert with_version(ended, 0) == with_version(value, 0)


@given(OBJECTS, REVISIONS)
def test_an_entry_is_the_object_with_its_version_after_the_uid(members: dict[str, Any], revision: int) -> None:
    value = canonical(**members)
    entry = entry_of(PREFIX + b"x", value, revision, HEAD)
    shown, stored = orjson.loads(HEAD + entry.tail), orjson.loads(value)
    assert list(shown["metadata"])[:3] == ["name", "uid", "resourceVersion"]
    assert shown["metadata"].pop("resourceVersion") == str(revision)
    assert shown == stored
    assert with_version(value, revision) == HEAD + entry.tail + b"\n"


@given(OBJECTS, REVISIONS, REVISIONS)
def test_a_deletion_carries_the_object_under_its_own_revision(members: dict[str, Any], before: int, after: int) -> None:
    value = canonical(**members)
    entry = entry_of(PREFIX + b"x", value, before, HEAD)
    assert entry.at(after).tail == entry_of(PREFIX + b"x", value, after, HEAD).tail
    assert entry.at(after).revision == after


def test_without_a_version_nothing_is_spliced_in() -> None:
    value = canonical("a")
    assert with_version(value, 0) == value[: -len(MARK)] + b"\n"


def test_attributes_are_read_once_and_kept_by_a_deletion() -> None:
    entry = entry_of(PREFIX + b"x", canonical("a", labels={"app": "web"}), 5, HEAD)
    read = entry.labels_and_fields(labels_and_fields_of)
    assert (read.labels, read.fields) == ({"app": "web"}, {"metadata.name": "a"})
    assert entry.labels_and_fields(labels_and_fields_of) is read
    assert entry.at(6).labels_and_fields(labels_and_fields_of) is read
