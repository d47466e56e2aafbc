"""Resumed TLS sessions: each connection gets one ticket for the next connection."""

from __future__ import annotations

import ssl
from pathlib import Path

from gateway.credentials.certificates import ensure_certificates, server_context
from gateway.outbound.trust import trusting


def connected(
    client: ssl.SSLContext, server: ssl.SSLContext, session: ssl.SSLSession | None = None
) -> tuple[ssl.SSLObject, int]:
    """The client's end of a connection after its handshake, and the bytes that come after that."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server, server_hostname="a.example.com", session=session)
    answering = server.wrap_bio(to_server, to_client, server_side=True)
    for side in (asking, answering, asking):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    answering.do_handshake()
    size = to_client.pending
    try:
        asking.read()
    except ssl.SSLWantReadError:
        return asking, size
    raise AssertionError("nothing was written")


def test_a_client_that_comes_back_goes_on_with_its_session(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path, ["a.example.com"])
    served, client = server_context(files.certificate, files.key), trusting(files.ca.read_text())
    first, size = connected(client, served)
    served.num_tickets = 2
    assert 2 * size == connected(client, served)[1], "one ticket a connection is enough, as in Go"
    assert first.session is not None
    assert not first.session_reused and connected(client, served, first.session)[0].session_reused
