"""Keys that clients choose are not checked by computations that take long and hold the GIL."""

from __future__ import annotations

import base64
import http.client
import ssl
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from apiserver_gateway.testing import ApiServer
from gateway.certificate_reader import UnsupportedKey, certificate_of, is_self_signed, public_key_of, request_of
from gateway.validation.private_keys import LARGEST, public_half
from tests.hostile import keys
from tests.hostile.probe import cpu_seconds
from tests.integration.server.client import ask
from tests.limits import at_most_cpu

HELD = 0.05  # seconds of CPU of one call; without the look at the algorithm each of these takes some seconds
OF_SERVER = 0.5  # the same for a request, with all that a server does meanwhile
OWN = keys.certificate().public_bytes(Encoding.DER)
STRANGE = keys.diffie_hellman_key()
SIGNING = "/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All"
SECRETS = "/api/v1/namespaces/default/secrets?dryRun=All"
PKCS8, TRADITIONAL = PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL


def test_a_diffie_hellman_key_is_not_parsed() -> None:
    certificate, request = keys.with_key(OWN, STRANGE), keys.with_key(keys.request(), STRANGE)
    began = time.process_time()
    with pytest.raises(UnsupportedKey):
        public_key_of(certificate_of(certificate))
    with pytest.raises(UnsupportedKey):
        public_key_of(request_of(request))
    with pytest.raises(UnsupportedKey):
        is_self_signed(request_of(request))
    at_most_cpu(time.process_time() - began, HELD)


def test_factors_of_a_private_key_are_not_tested_for_being_prime() -> None:
    der = keys.rsa_key(16384)
    began = time.process_time()
    assert public_half(der).key_size == 16384
    at_most_cpu(time.process_time() - began, HELD)


@pytest.mark.parametrize(
    "der",
    [keys.rsa_key(32768), bytes(LARGEST + 1), keys.dsa_key(16384), STRANGE, b"", keys.sequence(keys.integer(0))],
    ids=["long", "long nonsense", "DSA", "public", "empty", "short"],
)
def test_other_private_keys_are_refused_unread(der: bytes) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match="private key"):
        public_half(der)
    at_most_cpu(time.process_time() - began, HELD)


def test_an_rsa_key_that_contradicts_itself_is_refused() -> None:
    numbers = rsa.generate_private_key(65537, 2048).private_numbers()
    p, q, d, n = numbers.p, numbers.q, numbers.d, numbers.public_numbers.n
    rest = (numbers.dmp1, numbers.dmq1, numbers.iqmp)
    for wrong in ((n + 2, d, p, q), (n, d + 2, p, q), (n, d, p + 2, q)):
        modulus, exponent, first, second = wrong
        der = keys.sequence(*map(keys.integer, (0, modulus, 65537, exponent, first, second, *rest)))
        with pytest.raises(ValueError, match=r"."):
            public_half(der)


@pytest.mark.parametrize("form", [PKCS8, TRADITIONAL], ids=["PKCS8", "traditional"])
@pytest.mark.parametrize(
    "key",
    [rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP384R1())],
    ids=["RSA", "ECDSA"],
)
def test_usual_private_keys_are_read(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, form: PrivateFormat) -> None:
    assert public_half(key.private_bytes(Encoding.DER, form, NoEncryption())) == key.public_key()


def test_an_ed25519_key_is_read() -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    assert public_half(key.private_bytes(Encoding.DER, PKCS8, NoEncryption())) == key.public_key()


def test_a_client_without_credentials_holds_nobody_by_its_certificates(server: ApiServer, tmp_path: Path) -> None:
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_bytes(keys.pem(OWN, "CERTIFICATE") + 8 * keys.pem(keys.with_key(OWN, STRANGE), "CERTIFICATE"))
    key.write_bytes(keys.own_key())
    context = ssl.create_default_context(cafile=str(server.ca_file))
    context.load_cert_chain(chain, key)
    connection = http.client.HTTPSConnection(server.url.removeprefix("https://"), context=context)
    before = cpu_seconds(server.pid)
    connection.request("GET", "/version")
    assert connection.getresponse().status in (200, 401)
    connection.close()
    at_most_cpu(cpu_seconds(server.pid) - before, OF_SERVER)


def test_a_request_for_a_certificate_holds_nobody_by_its_key(server: ApiServer) -> None:
    asked = keys.pem(keys.with_key(keys.request(), STRANGE), "CERTIFICATE REQUEST")
    spec = {"request": base64.b64encode(asked).decode(), "signerName": "example.com/any", "usages": ["any"]}
    before = cpu_seconds(server.pid)
    answer = ask(server, "POST", SIGNING, {"metadata": {"name": "strange"}, "spec": spec})
    assert answer.status == 422 and b"algorithm unimplemented" in answer.body, answer.body
    at_most_cpu(cpu_seconds(server.pid) - before, OF_SERVER)


@pytest.mark.parametrize("signer", ["kube-apiserver-client", "kube-apiserver-client-kubelet"])
def test_a_request_whose_name_is_no_text_is_no_failure_of_the_server(server: ApiServer, signer: str) -> None:
    """Its common name is a BIT STRING, which the library refuses with a TypeError. Plug-ins read it."""
    request = x509.load_der_x509_csr(keys.request())
    named = request.subject.public_bytes()
    text = named[-len("mallory") - 2 :]
    signed = request.tbs_certrequest_bytes.replace(text, b"\x03" + text[1:])
    signature = keys.KEY.sign(signed, ec.ECDSA(hashes.SHA256()))
    algorithm = bytes.fromhex("300a06082a8648ce3d040302")
    changed = keys.sequence(signed, algorithm, b"\x03" + bytes([len(signature) + 1]) + b"\0" + signature)
    asked = base64.b64encode(keys.pem(changed, "CERTIFICATE REQUEST")).decode()
    spec = {"request": asked, "signerName": f"kubernetes.io/{signer}", "usages": ["client auth"]}
    answer = ask(server, "POST", SIGNING, {"metadata": {"name": "bits"}, "spec": spec})
    refused = signer == "kube-apiserver-client"
    assert answer.status == (403 if refused else 201), answer.body
    assert not refused or b"failed to parse CSR" in answer.body


@pytest.mark.parametrize(
    ("key", "said"),
    [(keys.rsa_key(16384), "does not match"), (keys.rsa_key(65536), "failed to parse")],
    ids=["large", "too large"],
)
def test_a_secret_holds_nobody_by_its_private_key(server: ApiServer, key: bytes, said: str) -> None:
    files = {"tls.crt": keys.pem(OWN, "CERTIFICATE"), "tls.key": keys.pem(key, "RSA PRIVATE KEY")}
    data = {name: base64.b64encode(content).decode() for name, content in files.items()}
    body = {"metadata": {"name": "strange"}, "type": "kubernetes.io/tls", "data": data}
    before = cpu_seconds(server.pid)
    answer = ask(server, "POST", SECRETS, body)
    assert answer.status == 201 and said in str(answer.headers), (answer.status, answer.headers)
    at_most_cpu(cpu_seconds(server.pid) - before, OF_SERVER)
