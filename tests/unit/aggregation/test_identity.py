"""An extension API server gets the user as it is, or no request."""

from __future__ import annotations

import pytest

from gateway.aggregation.identity import lines_on_behalf_of, on_behalf_of
from gateway.http.user import User
from gateway.outbound.errors import CallError


def test_a_user_is_named_with_all_that_it_has() -> None:
    user = User("álice\tb", ("g", "system:authenticated"), "u1", (("example.org/Role", ("a", "")),))
    assert on_behalf_of(user) == (
        (b"x-remote-user", "álice\tb".encode()),
        (b"x-remote-uid", b"u1"),
        (b"x-remote-group", b"g"),
        (b"x-remote-group", b"system:authenticated"),
        (b"x-remote-extra-example.org%2FRole", b"a"),
        (b"x-remote-extra-example.org%2FRole", b""),
    )


STRANGE = ["a\n", "a\r\nX-Remote-Group: system:masters", "a\0", "a\x01b", "a\x7f", " alice", "alice ", "\talice"]


@pytest.mark.parametrize("text", STRANGE)
def test_a_user_who_would_arrive_as_another_one_is_not_passed_on(text: str) -> None:
    """Without its name, the extension API server would see nobody; without the spaces, somebody else."""
    for user in (User(text), User("u", (text,)), User("u", (), text), User("u", (), "", (("k", (text,)),))):
        for name in (on_behalf_of, lines_on_behalf_of):
            with pytest.raises(CallError, match="invalid header field value for"):
                name(user)
