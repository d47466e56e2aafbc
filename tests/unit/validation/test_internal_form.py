"""Values as errors show them."""

from __future__ import annotations

from gateway.validation.internal_form import go_json, internal_list_json


def test_a_type_that_the_table_lacks_is_shown_by_its_json() -> None:
    """A patch of volumeClaimTemplates was answered with 500 by 1.37, when the table lacked its type."""
    assert internal_list_json("NoSuchType", [{"spec": {"a": 1}}]) == go_json([{"spec": {"a": 1}}])
