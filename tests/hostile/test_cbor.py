"""CBOR bodies, in which one or two bytes may be a complete value."""

from __future__ import annotations

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import held_at_most
from tests.hostile.test_bodies import MAPS, send

LIMIT = 0.1
CBOR = "application/cbor"
HEAD = b"\xd9\xd9\xf7\xa4\x4aapiVersion\x42v1\x44kind\x49ConfigMap\x48metadata\xa1\x44name\x41x\x43foo"

MEMBERS = {
    "times": (b"\xc1\x01", 40_000),
    "bytes for later base64": (b"\xd6\x41a", 30_000),
    "maps": (b"\xa0", 90_000),
    "strings that are tagged as times": (b"\xc0\x60", 40_000),
}


@pytest.fixture(scope="module")
def server_flags() -> tuple[str, ...]:
    return ("--feature-gates=CBORServingAndStorage=true",)


@pytest.mark.parametrize("case", MEMBERS)
def test_many_small_values_hold_nobody(server: ApiServer, case: str) -> None:
    value, count = MEMBERS[case]
    assert send(server, "POST", f"{MAPS}?dryRun=All", HEAD + b"\x80", CBOR)[0] == 201
    with held_at_most(server, LIMIT):
        body = HEAD + b"\x9a" + count.to_bytes(4, "big") + value * count
        status, text = send(server, "POST", f"{MAPS}?dryRun=All", body, CBOR)
    assert status == 201, text[:300]
