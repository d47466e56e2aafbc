"""`apiserver-gateway kubeconfig`: a kubeconfig for a user of any name and groups, with a client certificate of a CA
that the server trusts. For those who can read that CA's key: administrators.
"""

from __future__ import annotations

import argparse
import sys
from datetime import timedelta
from pathlib import Path

from gateway.config import InvalidSettings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's flags."""
    parser.add_argument("--user", required=True, metavar="NAME", help="the user's name")
    parser.add_argument("--group", action="append", default=[], metavar="NAME", help="one of the user's groups")
    parser.add_argument("--cert-dir", type=Path, default=Path("certificates"), metavar="DIR", help="that of the server")
    parser.add_argument("--client-ca-file", type=Path, metavar="FILE", help="the CA to sign with, PEM; else DIR/ca.crt")
    parser.add_argument("--client-ca-key-file", type=Path, metavar="FILE", help="its key, PEM; else DIR/ca.key")
    parser.add_argument("--certificate-authority", type=Path, metavar="FILE", help="the server's CA; else DIR/ca.crt")
    parser.add_argument("--server", default="https://127.0.0.1:6443", metavar="URL", help="the server's URL")
    parser.add_argument("--expiration", default="8760h", metavar="DURATION", help="how long it is good for")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the file to write; standard output if not given")


def run(parsed: argparse.Namespace) -> int:
    """Writes the kubeconfig; returns the exit status."""
    try:
        text = _made(parsed)
        if parsed.out is None:
            print(text)
        else:
            from gateway.files import replace_file

            replace_file(parsed.out, text.encode() + b"\n", 0o600)
    except OSError as error:
        from gateway.files import words

        return _refused(f"cannot use {words(error)}")
    except (InvalidSettings, ValueError) as error:
        return _refused(" ".join(str(error).split()))
    return 0


def _made(parsed: argparse.Namespace) -> str:
    from gateway.access.signing import SigningError, new_request, now, read_authority
    from gateway.http.deadline import parse_duration
    from gateway.kubeconfig import certificate_of, kubeconfig_of

    directory = parsed.cert_dir
    if (parsed.client_ca_file is None) != (parsed.client_ca_key_file is None):
        raise InvalidSettings("--client-ca-file and --client-ca-key-file belong together: give both or neither")
    authority = read_authority(
        parsed.client_ca_file or directory / "ca.crt", parsed.client_ca_key_file or directory / "ca.key"
    )
    lifetime = timedelta(seconds=parse_duration(parsed.expiration))
    if lifetime <= timedelta(0):
        raise InvalidSettings("--expiration must be more than 0")
    request, key = new_request(parsed.user, parsed.group)
    try:
        certificate = authority.sign(request, ("digital signature", "client auth"), lifetime, now())
    except SigningError as error:
        raise InvalidSettings(str(error)) from None
    trusted = (parsed.certificate_authority or directory / "ca.crt").read_bytes()
    return kubeconfig_of(parsed.server, trusted, parsed.user, certificate_of(certificate, key))


def _refused(message: str) -> int:
    print(f"apiserver-gateway: {message}", file=sys.stderr)
    return 1
