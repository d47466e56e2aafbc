"""The way in which Java's jenvtest and fabric8's kube-api-test start the programs that they find, without Java."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from ssl import _create_unverified_context as unverified

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from apiserver_gateway.program import command
from storage.embedded import EmbeddedEtcd
from tests.clients.binaries import binary
from tests.limits import within
from tests.ports import free_ports
from tests.processes import running, wait_until


def self_signed(directory: Path, name: str, subject: x509.Name, *names: x509.GeneralName) -> None:
    """A self-signed certificate with subject names as its only extension, and its key."""
    key = rsa.generate_private_key(65537, 2048)
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, now, now + timedelta(days=365))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    (directory / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    (directory / f"{name}.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))


def test_what_jenvtest_starts_and_asks(tmp_path: Path) -> None:
    place = tmp_path / "k8s" / "1.36.3-linux-amd64"
    made = subprocess.run(command("envtest-assets", str(place)), capture_output=True, text=True, check=True)
    assert Path(made.stdout.strip()) == place
    common = x509.NameAttribute(NameOID.COMMON_NAME, "example.org")
    address = x509.IPAddress(ip_address("127.0.0.1"))
    self_signed(tmp_path, "apiserver", x509.Name([common]), address, x509.DNSName("kubernetes"))
    masters = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters")
    self_signed(tmp_path, "client", x509.Name([masters, x509.NameAttribute(NameOID.COMMON_NAME, "jenvtest")]))
    port, log, key = free_ports(1)[0], tmp_path / "log", str(tmp_path / "apiserver.key")
    with EmbeddedEtcd(loopback=True) as etcd, ExitStack() as stack:
        words = [
            *(str(place / "kube-apiserver"), "--cert-dir", str(tmp_path), "--secure-port", str(port)),
            *("--etcd-servers", etcd.endpoint.replace("127.0.0.1", "0.0.0.0"), "--authorization-mode", "RBAC"),
            *("--service-account-issuer", "https://localhost", "--service-account-signing-key-file", key),
            *("--service-account-signing-key-file", key, "--service-account-key-file", key),
            *("--service-account-issuer", str(tmp_path / "apiserver.crt")),
            *("--disable-admission-plugins", "ServiceAccount", "--client-ca-file", str(tmp_path / "client.crt")),
            *("--service-cluster-ip-range", "10.0.0.0/24", "--allow-privileged"),
        ]
        process = stack.enter_context(running(words, {}, log))

        def ready() -> bool:
            try:
                with urllib.request.urlopen(f"https://127.0.0.1:{port}/readyz", context=unverified()) as answer:
                    return bool(answer.status == 200)
            except OSError:
                return False

        wait_until(ready, process, log)
        kubectl = [
            *(str(binary("kubectl")), f"--client-certificate={tmp_path}/client.crt"),
            *(f"--client-key={tmp_path}/client.key", f"--certificate-authority={tmp_path}/apiserver.crt"),
            *(f"--server=https://127.0.0.1:{port}", "get", "ns", "default", "-o", "json"),
        ]
        found = subprocess.run(kubectl, capture_output=True, text=True, timeout=120)
        assert found.returncode == 0, found.stderr
        assert json.loads(found.stdout)["metadata"]["name"] == "default"
        with within(10.0):
            stack.close()  # the server is stopped
