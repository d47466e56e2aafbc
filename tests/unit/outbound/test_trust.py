"""Trust in outgoing calls: each given certificate is a trust anchor, and names are verified."""

from __future__ import annotations

import asyncio
import ssl
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from gateway.credentials.certificates import ensure_certificates, server_context
from gateway.outbound.client import Client
from gateway.outbound.errors import CallError
from gateway.outbound.names import check_name
from gateway.outbound.request import OutboundRequest
from gateway.outbound.target import Target
from gateway.outbound.trust import MOST_AUTHORITIES, context_of, trusting
from tests.limits import at_most_cpu
from tests.unit.outbound.servers import saying, serving

GET = OutboundRequest("GET", "/")
END = "-----END CERTIFICATE-----\n"  # the first certificate of a file is the owner's own


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext, name: str) -> None:
    """A handshake without a network; raises ssl.SSLError, CallError."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server, server_hostname=name)
    answering = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(2):
        for side in (asking, answering):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    check_name(asking.getpeercert() or {}, name)


@pytest.mark.parametrize("given", ["ca", "certificate"])
def test_the_authority_and_the_servers_own_certificate_will_do(tmp_path: Path, given: str) -> None:
    files = ensure_certificates(tmp_path / "one", ["hook.example.com"])
    served = server_context(files.certificate, files.key)
    trusted = trusting(getattr(files, given).read_text().partition(END)[0] + END)
    shake_hands(trusted, served, "hook.example.com")
    with pytest.raises(CallError, match=r"not other\.example\.com"):
        shake_hands(trusted, served, "other.example.com")


def test_strangers_are_not_trusted(tmp_path: Path) -> None:
    files, others = (ensure_certificates(tmp_path / name, ["hook.example.com"]) for name in ("one", "other"))
    for given in (others.certificate, others.ca):
        with pytest.raises(ssl.SSLCertVerificationError):
            shake_hands(trusting(given.read_text()), server_context(files.certificate, files.key), "hook.example.com")


def many_authorities(number: int) -> str:
    """Different certificates, in PEM."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    found = []
    for serial in range(1, number + 1):
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"ca {serial}")])
        times = (now - timedelta(1), now + timedelta(1))
        builder = x509.CertificateBuilder(name, name, key.public_key(), serial, *times)
        found.append(builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode())
    return "".join(found)


def test_a_bundle_of_an_object_holds_nobody() -> None:
    bundle = many_authorities(MOST_AUTHORITIES)
    began = time.thread_time()
    assert context_of(bundle).cert_store_stats()["x509"] == MOST_AUTHORITIES
    at_most_cpu(time.thread_time() - began, 0.1)
    with pytest.raises(ValueError, match=f"more than {MOST_AUTHORITIES} certificates"):
        context_of(bundle + many_authorities(1))


@pytest.mark.parametrize(("authorities", "insecure"), [("", False), ("", True)])
def test_a_server_chooses_no_group_in_which_this_one_computes(authorities: str, insecure: bool) -> None:
    """In DHE, the server of a webhook would choose numbers of up to 10 000 bits."""
    offered = {each["name"] for each in trusting(authorities, insecure=insecure).get_ciphers()}
    assert offered, "there are ciphers"
    assert all(each.startswith(("TLS_", "ECDHE-")) for each in offered), offered


@pytest.mark.parametrize(
    ("host", "name", "message"),
    [
        ("127.0.0.1", "hook.example.com", ""),
        (
            "127.0.0.1",
            "other.example.com",
            r"x509: certificate is valid for .*hook\.example\.com, not other.example.com",
        ),
        ("127.0.0.1", "10.1.2.3", "x509: (certificate is valid for|cannot validate)"),
    ],
)
def test_names_are_compared(tmp_path: Path, host: str, name: str, message: str) -> None:
    files = ensure_certificates(tmp_path, ["hook.example.com"])
    trust = trusting(files.ca.read_text())

    async def run() -> None:
        async with serving(lambda peer: peer.answer(), server_context(files.certificate, files.key), trust) as target:
            named = Target(host, target.port, trust, name)
            if not message:
                assert (await Client().call(named, GET, 60)).body == b"yes"
                return
            with pytest.raises(CallError, match=message):
                await Client().call(named, GET, 60)

    asyncio.run(run())


def test_strangers_and_servers_without_tls_are_not_asked(tmp_path: Path) -> None:
    ours, theirs = (ensure_certificates(tmp_path / each, ["localhost"]) for each in ("ours", "theirs"))
    trust = trusting(ours.ca.read_text())

    async def run() -> None:
        async with serving(lambda peer: peer.answer(), server_context(theirs.certificate, theirs.key), trust) as target:
            with pytest.raises(CallError, match="x509: certificate signed by unknown authority"):
                await Client().call(target, GET, 60)
        async with serving(saying(b""), None, trust) as target:
            with pytest.raises(CallError):
                await Client().call(target, GET, 60)
        with pytest.raises(CallError, match=f"dial tcp 127.0.0.1:{target.port}: connect: connection refused"):
            await Client().call(target, GET, 60)

    asyncio.run(run())
