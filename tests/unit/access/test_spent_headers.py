"""Headers that name the user are read here, and are not forwarded to other servers."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest

from gateway.access.authentication import Authenticator
from gateway.access.spent_headers import SpentHeaders, token_among_protocols
from gateway.access.token_file import StaticTokens, parse_tokens
from gateway.forwarding.headers import sent
from gateway.http.exchange import Header, Request

UPGRADE: list[Header] = [(b"connection", b"Upgrade"), (b"upgrade", b"websocket")]
CONFIGURED = SpentHeaders(["X-Remote-User", "X-My-User", "X-My-Uid", "X-My-Group"], ["X-My-Extra-"])


def request(*headers: Header) -> Request:
    made = Request("GET", "/", b"", dict(reversed(headers)), None)  # type: ignore[arg-type]  # nothing is received
    made.scope = {"headers": list(headers), "client": ("10.1.1.1", 5)}
    return made


def shown(token: str) -> bytes:
    return b"base64url.bearer.authorization.k8s.io." + urlsafe_b64encode(token.encode()).rstrip(b"=")


@pytest.mark.parametrize("name", ["x-my-user", "x_my_user", "x-my-uid", "x-my-group", "x-my-extra-a", "x_my-extra_b"])
def test_headers_of_front_proxies_go_no_further(name: str) -> None:
    asked = request((name.encode(), b"root"), (name.encode(), b"again"), (b"x-mine", b"1"))
    CONFIGURED.take_off(asked, asked.scope)  # type: ignore[arg-type]  # a dict
    assert sent(asked) == [(b"x-mine", b"1"), (b"x-forwarded-for", b"10.1.1.1")]
    assert list(asked.headers) == [b"x-mine"]


@pytest.mark.parametrize("name", [b"x_remote_user", b"x-remote_group", b"impersonate_user", b"x-remote-extra-scopes"])
def test_fixed_headers_go_no_further_however_they_are_spelled(name: bytes) -> None:
    assert sent(request((name, b"root"))) == [(b"x-forwarded-for", b"10.1.1.1")]


def test_connection_does_not_name_headers_of_this_server_for_the_next_proxy() -> None:
    asked = request((b"connection", b"Upgrade, X-Remote-User, keep-alive"), (b"upgrade", b"SPDY/3.1"))
    assert sent(asked, upgrade=True)[0] == (b"connection", b"Upgrade, keep-alive")


def test_a_token_among_a_websockets_protocols_is_read_and_taken_off() -> None:
    asked = request(*UPGRADE, (b"sec-websocket-protocol", b"a, " + shown("tok")), (b"sec-websocket-protocol", b"b"))
    assert token_among_protocols(asked.headers, asked.scope["headers"]) == "tok"
    CONFIGURED.take_off(asked, asked.scope)  # type: ignore[arg-type]  # a dict
    assert asked.headers[b"sec-websocket-protocol"] == b"a,b"
    assert not any(b"bearer" in value for _, value in sent(asked, upgrade=True))


@pytest.mark.parametrize(
    ("protocols", "why"),
    [
        (shown("tok"), "missing additional subprotocol"),
        (shown("tok") + b", a, " + shown("other"), "multiple"),
        (shown("tok") + b"=, a", "encoding"),
        (shown("tok") + b"!, a", "encoding"),
        (b"base64url.bearer.authorization.k8s.io._w, a", "encoding"),
    ],
)
def test_such_a_token_is_refused_as_by_kube_apiserver(protocols: bytes, why: str) -> None:
    headers = [*UPGRADE, (b"sec-websocket-protocol", protocols)]
    with pytest.raises(ValueError, match=why):
        token_among_protocols(dict(headers), headers)


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ([*UPGRADE, (b"sec-websocket-protocol", shown("tok") + b", a")], "admin"),
        ([(b"sec-websocket-protocol", shown("tok") + b", a")], "system:anonymous"),
        ([*UPGRADE, (b"sec-websocket-protocol", shown("wrong") + b", a")], None),
        ([*UPGRADE, (b"sec-websocket-protocol", shown("tok"))], None),
        ([*UPGRADE, (b"authorization", b"Bearer wrong"), (b"sec-websocket-protocol", shown("tok") + b", a")], "admin"),
        ([*UPGRADE, (b"sec-websocket-protocol", b"a")], "system:anonymous"),
    ],
)
async def test_such_a_token_names_the_user(headers: list[Header], name: str | None) -> None:
    users = StaticTokens(parse_tokens("tok,admin,1\n"))
    user = await Authenticator([users], ["api"]).authenticate(dict(headers), headers)
    assert (user.name if user else None) == name
