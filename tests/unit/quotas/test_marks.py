"""A mark tells which process's group has charged a quota."""

from __future__ import annotations

from gateway.launch.forked_call import ForkedCall
from gateway.quotas.marks import is_of_another, new_mark


def test_marks_are_of_this_process_and_differ() -> None:
    marks = {new_mark() for _ in range(100)}
    assert len(marks) == 100 and not any(map(is_of_another, marks))


def test_a_forked_process_is_another_one() -> None:
    """As each of several workers is, and each server of a pool's."""
    with ForkedCall(new_mark) as child:
        mark = child.result()
    assert len(mark) == len(new_mark()) and is_of_another(mark)
