"""What was charged stands while the quota's usage has changed by charges alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.jsontypes import JsonObject, dumps
from gateway.quotas.charge_state import _is_charge
from storage.cache import ResourceCache
from storage.entry import MARK, Change, ChangeType, Entry
from tests.unit.storage.canonical import HEAD, SPEC

KEY = b"/registry/resourcequotas/n/q"


def entry(used: JsonObject, revision: int) -> Entry:
    """A stored quota, of which nobody manages the fields."""
    cache = ResourceCache(replace(SPEC, prefix=b"/registry/resourcequotas/"))
    rest = {"metadata": {"name": "q", "namespace": "n", "uid": "u"}, "spec": {}, "status": {"hard": {}, "used": used}}
    cache.load([(KEY, HEAD + dumps(rest)[1:] + MARK, revision)])
    found = cache.get(KEY)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("before", "after", "stands"),
    [
        ({"pods": "1"}, {"pods": "1"}, True),
        ({"pods": "1"}, {"pods": "2"}, True),
        ({"pods": "2"}, {"pods": "1"}, False),
        ({}, {"pods": "1"}, False),
        ({"pods": "1"}, {}, False),
        ({"pods": "1", "secrets": "9"}, {"pods": "2", "secrets": "1"}, True),
    ],
)
def test_a_usage_that_nobody_manages_only_grows_by_charges(before: JsonObject, after: JsonObject, stands: bool) -> None:
    change = Change(ChangeType.MODIFIED, 8, entry(after, 8), entry(before, 7))
    assert _is_charge(change, ["pods"]) is stands


def test_what_is_no_change_of_a_quota_that_can_be_read_is_no_charge() -> None:
    one, other = entry({"pods": "1"}, 7), entry({"pods": "1"}, 8)
    assert _is_charge(Change(ChangeType.MODIFIED, 8, other, one), ["pods"])
    assert not _is_charge(Change(ChangeType.MODIFIED, 8, other, one, corrupt=True), ["pods"])
    assert not _is_charge(Change(ChangeType.DELETED, 8, other, one), ["pods"])
    assert not _is_charge(Change(ChangeType.MODIFIED, 8, other, None), ["pods"])
