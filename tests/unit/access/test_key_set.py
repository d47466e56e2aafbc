"""The keys of an issuer: a key that cannot be fetched or used is logged, with the name of the issuer or key."""

from __future__ import annotations

import pytest

from gateway.access.issuers.key_set import KeySet, KeySetError, _usable
from tests.logged import of
from tests.unit.outbound.servers import Peer, serving


async def test_an_issuer_that_is_not_there(caplog: pytest.LogCaptureFixture) -> None:
    async def speaks_no_tls(peer: Peer) -> None:
        await peer.say(b"no TLS")

    async with serving(speaks_no_tls) as target:
        issuer = f"https://127.0.0.1:{target.port}"
        keys = KeySet(issuer, "", "")
        with pytest.raises(KeySetError, match="openid-configuration"):
            await keys.keys("a", known=False)
    assert f"keys of the issuer {issuer} cannot be fetched: Get " in caplog.text


def test_a_key_that_is_none(caplog: pytest.LogCaptureFixture) -> None:
    assert _usable([{"kty": "RSA", "kid": "broken", "n": "!", "e": "AQAB"}, "no key", {"kty": "oct"}]) == []
    assert [vars(record)["kid"] for record in of(caplog, "gateway")] == ["broken"]
    assert "a key of an issuer cannot be read" in caplog.text
