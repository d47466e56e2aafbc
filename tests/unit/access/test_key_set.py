"""The keys of an issuer: a key that cannot be fetched or used is logged, with the name of the issuer or key."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from gateway.access.issuers import key_set
from gateway.access.issuers.key_set import KeySet, KeySetError, _candidates, _usable
from tests.integration.access.strangers import Strangers, new_key
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
    said = [{"kty": "RSA", "kid": "broken", "n": "!", "e": "AQAB"}, "no key", {"kty": "oct"}]
    assert _usable(_candidates(said)) == []
    assert [vars(record)["kid"] for record in of(caplog, "gateway")] == ["broken"]
    assert "1 of the keys of an issuer cannot be used" in caplog.text


async def test_a_key_that_is_gone_is_gone_here_after_ten_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that the test sets. Each use of a token looks, and only what is old is fetched again."""
    issuer, clock = Strangers(tmp_path), [100.0]
    monkeypatch.setattr(key_set, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    try:
        keys = KeySet(issuer.url, "", issuer.authority)
        gone = issuer.keys[0].public.identity
        assert len(await keys.keys(gone)) == 1
        issuer.keys = [new_key()]
        for seconds, known in ((5.0, 1), (4.5, 0)):
            clock[0] += seconds
            keys.look()
            if keys._looking is not None:
                await keys._looking
            assert len(await keys.keys(gone)) == known
    finally:
        issuer.close()
