"""The TLS handshake names the accepted client CAs, for a client with several certificates."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from gateway.credentials.certificates import ensure_certificates, server_context


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
@pytest.mark.parametrize(("asks", "others"), [(False, False), (True, False), (True, True)])
def test_the_cas_of_clients_are_named_if_all_are_known(tmp_path: Path, asks: bool, others: bool) -> None:
    files = ensure_certificates(tmp_path, ["127.0.0.1"])
    context = server_context(files.certificate, files.key, [files.ca] if asks else [], others=others)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_shake_hands, args=(listener, context), daemon=True).start()
        words = ["openssl", "s_client", "-connect", f"127.0.0.1:{listener.getsockname()[1]}"]
        said = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60).stdout
    names = said.partition("Acceptable client certificate CA names")[2].split("---")[0]
    named = "CN=apiserver-gateway-ca" in names.replace(" ", "")  # OpenSSL 3.2 and later print no spaces
    assert named is (asks and not others), said


def test_clients_of_other_cas_are_asked_for_a_certificate(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path, ["127.0.0.1"])
    for others, mode in ((False, ssl.CERT_NONE), (True, ssl.CERT_OPTIONAL)):
        assert server_context(files.certificate, files.key, others=others).verify_mode is mode


def _shake_hands(listener: socket.socket, context: ssl.SSLContext) -> None:
    taken, _ = listener.accept()
    with context.wrap_socket(taken, server_side=True) as secured:
        secured.recv(1)
