"""Requests are not proxied to addresses that only this host can reach."""

from __future__ import annotations

import pytest

from gateway.http.status import StatusError
from gateway.outbound.names import resolved
from gateway.proxies.addresses import allowed_address, is_global_unicast


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("10.0.0.1", True),
        ("8.8.8.8", True),
        ("fd00::1", True),
        ("2001:db8::1", True),
        ("127.0.0.1", False),
        ("127.9.9.9", False),
        ("::1", False),
        ("::ffff:127.0.0.1", False),
        ("169.254.169.254", False),
        ("fe80::1", False),
        ("224.0.0.1", False),
        ("0.0.0.0", False),
        ("::", False),
        ("255.255.255.255", False),
        ("", False),
        ("localhost", False),
    ],
)
def test_global_unicast(address: str, allowed: bool) -> None:
    assert is_global_unicast(address) is allowed


async def test_a_name_is_allowed_by_its_addresses() -> None:
    assert await allowed_address("10.0.0.1", resolved) == "10.0.0.1"
    for host in ("localhost", "127.0.0.1", "no.such.host.invalid"):
        with pytest.raises(StatusError) as raised:
            await allowed_address(host, resolved)
        assert raised.value.code == 400
