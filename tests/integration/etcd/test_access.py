"""TLS, client certificates, and users with passwords whose tokens expire."""

from __future__ import annotations

import base64
import datetime
import http.client
import ipaddress
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from storage.embedded import EmbeddedEtcd
from storage.errors import PermissionDenied, Unauthenticated, Unavailable
from storage.etcd import EtcdClient, EtcdSettings


def certificate(directory: Path, name: str, issuer: str) -> None:
    """Write name.pem and name.key, signed by `issuer`, which is written already unless it is `name` itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    key_bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (directory / f"{name}.key").write_bytes(key_bytes)
    signer = serialization.load_pem_private_key((directory / f"{issuer}.key").read_bytes(), None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=name == issuer, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    (directory / f"{name}.pem").write_bytes(built.public_bytes(serialization.Encoding.PEM))


async def test_mutual_tls_is_spoken(tmp_path: Path) -> None:
    for name in ("ca", "server", "client"):
        certificate(tmp_path, name, "ca")
    files = {"cert-file": "server.pem", "key-file": "server.key", "trusted-ca-file": "ca.pem"}
    arguments = ["--client-cert-auth", *(f"--{flag}={tmp_path / file}" for flag, file in files.items())]
    ca, cert, key = (tmp_path / file for file in ("ca.pem", "client.pem", "client.key"))
    with EmbeddedEtcd(arguments=arguments, loopback=True) as etcd:
        async with EtcdClient(EtcdSettings((etcd.endpoint,), ca, cert, key)) as client:
            assert await client.revision() == 1
        without_scheme = etcd.endpoint.removeprefix("https://")
        async with EtcdClient(EtcdSettings((without_scheme,), ca, cert, key)) as client:
            assert await client.revision() == 1
        async with EtcdClient(EtcdSettings((etcd.endpoint,), ca)) as stranger:
            with pytest.raises(Unavailable):
                await stranger.revision(timeout=0.5)


def post(endpoint: str, path: str, body: dict[str, Any], token: str = "") -> dict[str, Any]:
    """A call of etcd's JSON gateway."""
    connection = http.client.HTTPConnection(endpoint.removeprefix("http://"))
    connection.request("POST", f"/v3/auth/{path}", json.dumps(body), {"Authorization": token} if token else {})
    response = connection.getresponse()
    answer = json.loads(response.read())
    assert response.status == 200, answer
    assert isinstance(answer, dict)
    return answer


@pytest.fixture
def guarded() -> Iterator[EmbeddedEtcd]:
    """An etcd with the user "gateway", who may read and write /registry/, and tokens that soon expire."""
    with EmbeddedEtcd(arguments=["--auth-token-ttl=1"], loopback=True) as etcd:
        bounds = {"key": b"/registry/", "range_end": b"/registry0"}
        permission = {name: base64.b64encode(value).decode() for name, value in bounds.items()}
        for path, body in (
            ("user/add", {"name": "root", "password": "root"}),
            ("user/grant", {"user": "root", "role": "root"}),
            ("user/add", {"name": "gateway", "password": "secret"}),
            ("role/add", {"name": "registry"}),
            ("role/grant", {"name": "registry", "perm": {"permType": "READWRITE", **permission}}),
            ("user/grant", {"user": "gateway", "role": "registry"}),
            ("enable", {}),
        ):
            post(etcd.endpoint, path, body)
        yield etcd


def settings(etcd: EmbeddedEtcd, password: str = "secret") -> EtcdSettings:
    return EtcdSettings((etcd.endpoint,), username="gateway", password=password)


async def test_a_user_may_what_its_role_may(guarded: EmbeddedEtcd) -> None:
    async with EtcdClient(settings(guarded)) as client:
        assert (await client.create(b"/registry/a", b"v")).succeeded
        assert await client.revision(b"/registry/") > 0
        async with client.watch(b"/registry/", b"/registry0", start_revision=1) as watch:
            assert (await anext(watch)).events
        with pytest.raises(PermissionDenied):
            await client.put(b"/elsewhere", b"v")
        with pytest.raises(PermissionDenied):
            await client.watch(b"/elsewhere").start()


async def test_a_wrong_password_is_refused(guarded: EmbeddedEtcd) -> None:
    async with EtcdClient(settings(guarded, "wrong")) as client:
        with pytest.raises(Unauthenticated):
            await client.revision(b"/registry/")
        with pytest.raises(Unauthenticated):
            await client.watch(b"/registry/").start()
    async with EtcdClient(EtcdSettings((guarded.endpoint,))) as nobody:
        with pytest.raises(Unauthenticated):
            await nobody.revision(b"/registry/")


async def test_a_token_that_etcd_has_forgotten_is_renewed(guarded: EmbeddedEtcd) -> None:
    async with EtcdClient(settings(guarded)) as client:
        await client.put(b"/registry/a", b"1")
        guarded.stop()
        guarded.start()
        assert (await client.put(b"/registry/a", b"2")).revision
        guarded.stop()
        guarded.start()
        async with client.watch(b"/registry/a", start_revision=1) as watch:
            assert (await anext(watch)).events[-1].kv.value == b"2"


async def test_a_user_of_an_etcd_without_users_is_let_in(etcd_endpoint: str) -> None:
    async with EtcdClient(EtcdSettings((etcd_endpoint,), username="gateway", password="secret")) as client:
        assert await client.revision() > 0
