"""Which headers of requests and answers are forwarded."""

from __future__ import annotations

from typing import Any

from gateway.forwarding.headers import asks_for_upgrade, returned, sent
from gateway.http.exchange import Header, Request


def request(*headers: Header) -> Request:
    made = Request("GET", "/", b"", dict(reversed(headers)), None)  # type: ignore[arg-type]  # nothing is received
    scope: dict[str, Any] = {"headers": list(headers), "client": ("10.1.1.1", 5)}
    made.scope = scope
    return made


def test_credentials_and_what_is_about_the_connection_stay_here() -> None:
    asked = request(
        (b"authorization", b"Bearer secret"),
        (b"connection", b"x-hop, close"),
        (b"x-hop", b"1"),
        (b"te", b"trailers"),
        (b"upgrade", b"h2c"),
        (b"transfer-encoding", b"chunked"),
        (b"content-length", b"5"),
        (b"host", b"here"),
        (b"impersonate-user", b"bob"),
        (b"x-remote-user", b"root"),
        (b"x-forwarded-uri", b"/theirs"),
        (b"x-mine", b"a"),
        (b"x-mine", b"b"),
        (b"x-forwarded-for", b"1.1.1.1"),
    )
    found = [(b"x-mine", b"a"), (b"x-mine", b"b"), (b"te", b"trailers"), (b"x-forwarded-uri", b"/ours")]
    assert sent(asked, (b"x-forwarded-uri", b"/ours")) == [*found, (b"x-forwarded-for", b"1.1.1.1, 10.1.1.1")]


def test_an_upgrade_is_asked_for_as_the_client_does() -> None:
    asked = request((b"connection", b"keep-alive, Upgrade"), (b"upgrade", b"SPDY/3.1"), (b"authorization", b"x"))
    assert asks_for_upgrade(asked)
    assert sent(asked, upgrade=True)[:2] == [(b"connection", b"keep-alive, Upgrade"), (b"upgrade", b"SPDY/3.1")]
    assert (b"user-agent", b"Go-http-client/1.1") in sent(asked, upgrade=True)
    assert asks_for_upgrade(request((b"connection", b"Upgrade")))
    assert not asks_for_upgrade(request((b"upgrade", b"x"))) and not asks_for_upgrade(request())


def test_answers_lose_what_is_about_their_connection() -> None:
    answer = [(b"connection", b"x-hop"), (b"x-hop", b"1"), (b"keep-alive", b"x"), (b"set-cookie", b"a")]
    answer.append((b"access-control-allow-origin", b"*"))
    assert returned(answer) == [(b"set-cookie", b"a")]
