"""OpenSSL does not compute with elliptic curves that a certificate of the other side describes."""

from __future__ import annotations

import contextlib
import http.client
import ssl
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from apiserver_gateway.testing import ApiServer
from gateway.credentials.certificates import ensure_certificates, server_context
from gateway.outbound.named_curves import has_unnamed_curve
from gateway.outbound.trust import trusting
from tests.hostile import keys
from tests.hostile.probe import cpu_seconds
from tests.limits import at_most_cpu

HELD = 0.05  # seconds of CPU: each certificate takes twice as long when OpenSSL parses its key
OF_SERVER = 0.5  # of a whole connection
MANY = 10  # the server takes 40 from a client, which took 5 s
OWN = keys.certificate().public_bytes(Encoding.DER)
STRANGE = keys.with_key(OWN, keys.unnamed_curve_key())
CURVES = (ec.SECP224R1(), ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1(), ec.SECP256K1(), ec.BrainpoolP512R1())


@pytest.fixture
def strange_client(tmp_path: Path) -> ssl.SSLContext:
    """A client that sends certificates whose curves are expensive, behind its own."""
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_bytes(keys.pem(OWN, "CERTIFICATE") + MANY * keys.pem(STRANGE, "CERTIFICATE"))
    key.write_bytes(keys.own_key())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(chain, key)
    return context


@pytest.mark.parametrize("curve", CURVES, ids=lambda each: each.name)
def test_curves_with_names_pass(curve: ec.EllipticCurve) -> None:
    der = ec.generate_private_key(curve).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert not has_unnamed_curve(keys.with_key(OWN, der))


@pytest.mark.parametrize("key", [rsa.generate_private_key(65537, 2048), ed25519.Ed25519PrivateKey.generate()])
def test_other_keys_pass(key: rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey) -> None:
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert not has_unnamed_curve(keys.with_key(OWN, der))


@pytest.mark.parametrize("odd", [False, True])
def test_compressed_points_do_not_pass(odd: bool) -> None:
    """P-224 has an expensive square root, too, and half of the points could imitate the beginning of a whole one."""
    whole = ec.derive_private_key(7, ec.SECP224R1()).public_key()
    x = whole.public_bytes(Encoding.X962, PublicFormat.CompressedPoint)[1:]
    sent = whole.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    begin = sent[: sent.index(b"\x03\x3a\x00\x04")]
    for tail in (x, b"\x1e\x00\x04" + x[3:]):
        assert has_unnamed_curve(begin + b"\x03\x1e\x00" + (b"\x03" if odd else b"\x02") + tail)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_server_ends_the_handshake(tmp_path: Path, strange_client: ssl.SSLContext, version: ssl.TLSVersion) -> None:
    files = ensure_certificates(tmp_path, ["localhost"])
    strange_client.maximum_version = strange_client.minimum_version = version
    server = server_context(files.certificate, files.key, (files.ca,))
    took, error = server_side(server, strange_client)
    assert error, "the handshake failed"
    at_most_cpu(took, HELD)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_call_ends_whose_server_sends_such_certificates(tmp_path: Path, version: ssl.TLSVersion) -> None:
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_bytes(keys.pem(OWN, "CERTIFICATE") + MANY * keys.pem(STRANGE, "CERTIFICATE"))
    key.write_bytes(keys.own_key())
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(chain, key)
    server.maximum_version = version
    took, error = client_side(trusting("", insecure=True), server)
    assert error, "the handshake failed"
    at_most_cpu(took, HELD)


def test_such_certificates_of_a_bundle_are_left_out() -> None:
    bundle = keys.pem(OWN, "CERTIFICATE") + 400 * keys.pem(STRANGE, "CERTIFICATE")
    began = time.thread_time()
    assert trusting(bundle.decode()).cert_store_stats()["x509"] == 1
    at_most_cpu(time.thread_time() - began, HELD)
    with pytest.raises(ValueError, match="certificate"):
        trusting(keys.pem(STRANGE, "CERTIFICATE").decode())


def test_a_client_without_credentials_holds_nobody(server: ApiServer, strange_client: ssl.SSLContext) -> None:
    before = cpu_seconds(server.pid)
    connection = http.client.HTTPSConnection(server.url.removeprefix("https://"), context=strange_client, timeout=60)
    with pytest.raises((OSError, http.client.HTTPException)):
        connection.request("GET", "/version")
        connection.getresponse()
    connection.close()
    at_most_cpu(cpu_seconds(server.pid) - before, OF_SERVER)


def server_side(server: ssl.SSLContext, client: ssl.SSLContext) -> tuple[float, str]:
    """Shakes hands; how long the server computed, and its error."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    return _shake(server.wrap_bio(there, back, server_side=True), client.wrap_bio(back, there))


def client_side(client: ssl.SSLContext, server: ssl.SSLContext) -> tuple[float, str]:
    """The same for the client."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    return _shake(client.wrap_bio(back, there), server.wrap_bio(there, back, server_side=True))


def _shake(judged: ssl.SSLObject, other: ssl.SSLObject) -> tuple[float, str]:
    took = 0.0
    for _ in range(5):
        with contextlib.suppress(ssl.SSLError):
            other.do_handshake()
        began = time.thread_time()
        try:
            judged.do_handshake()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            return took + time.thread_time() - began, error.reason or "failed"
        took += time.thread_time() - began
    return took, ""
