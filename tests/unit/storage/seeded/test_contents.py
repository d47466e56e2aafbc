"""What is derived from seeds is made once where their values are equal, and for each part where they are not."""

from __future__ import annotations

from storage.seeded.contents import Contents


def test_equal_values_share_what_is_derived() -> None:
    contents, made = Contents([b"a", b"b"], lambda place: place == 0), list[int]()

    def make() -> int:
        made.append(len(made))
        return made[-1]

    assert [contents.derived(0, "x", make), contents.derived(0, "x", make)] == [0, 0]
    assert contents.derived(0, "y", make) == 1, "another result"
    assert [contents.derived(1, "x", make), contents.derived(1, "x", make)] == [2, 3]
    nothing = Contents([b"a"])
    assert [nothing.derived(0, "x", lambda: None), nothing.derived(0, "x", lambda: 1)] == [None, None]
