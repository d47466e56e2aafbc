"""Whom calls out trust: whatever is given is an end of the chain."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from gateway.credentials.certificates import ensure_certificates, server_context
from gateway.outbound.errors import CallError
from gateway.outbound.names import check_name
from gateway.outbound.trust import trusting

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
