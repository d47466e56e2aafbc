"""How long a write waits for a recount of freed usage."""

from __future__ import annotations

import pytest

from gateway.controllers import resource_quotas
from gateway.quotas import recounts
from storage.entry import Change, ChangeType, Entry


def test_a_recount_that_is_put_off_comes_while_it_is_waited_for() -> None:
    """The objects are in another etcd than the quotas."""
    assert recounts.APART >= resource_quotas.MOST + 0.5


@pytest.mark.parametrize(
    ("kind", "tail", "frees"),
    [
        (ChangeType.MODIFIED, b'"status":{"phase":"Succeeded"}}', True),
        (ChangeType.MODIFIED, b'"status":{"phase":"Failed"}}', True),
        (ChangeType.MODIFIED, b'"status":{"phase":"Running"}}', False),
        (ChangeType.ADDED, b'"status":{"phase":"Failed"}}', False),
        (ChangeType.DELETED, b'"status":{"phase":"Running"}}', True),
    ],
)
def test_a_deletion_and_the_end_of_a_pod_free_something(kind: ChangeType, tail: bytes, frees: bool) -> None:
    change = Change(kind, 7, Entry(b"/registry/pods/n/p", b"", tail, 7), None)
    assert recounts._frees(change, b"/registry/pods/n/") is frees
    assert not recounts._frees(change, b"/registry/pods/other/")
    assert not recounts._frees(Change(kind, 7, change.entry, None, corrupt=True), b"/registry/pods/n/")
