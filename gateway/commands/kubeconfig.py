"""`apiserver-gateway kubeconfig`."""

from __future__ import annotations

from pathlib import Path

import click

from gateway.commands.command_failed import CommandFailed

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(short_help="write a kubeconfig for a user, with a client certificate")
@click.option("--user", required=True, metavar="NAME", help="the user's name")
@click.option(
    "--group", "groups", multiple=True, metavar="NAME", help="a group of the user; repeat the flag for more groups"
)
@click.option(
    "--cert-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("certificates"),
    metavar="DIR",
    help="the --cert-dir of the server (DIR)",
)
@click.option(
    "--client-ca-file", type=FILE, metavar="FILE", help="CA that signs the certificate, PEM (default DIR/ca.crt)"
)
@click.option("--client-ca-key-file", type=FILE, metavar="FILE", help="key of that CA, PEM (default DIR/ca.key)")
@click.option(
    "--certificate-authority",
    type=FILE,
    metavar="FILE",
    help="CA of the server's certificate, PEM (default DIR/ca.crt)",
)
@click.option("--server", default="https://127.0.0.1:6443", metavar="URL", help="the server's URL")
@click.option("--expiration", default="8760h", metavar="DURATION", help="how long the certificate is valid")
@click.option("--out", type=FILE, metavar="FILE", help="file to write (default: standard output)")
def command(
    user: str,
    groups: tuple[str, ...],
    cert_dir: Path,
    client_ca_file: Path | None,
    client_ca_key_file: Path | None,
    certificate_authority: Path | None,
    server: str,
    expiration: str,
    out: Path | None,
) -> None:
    """Writes a kubeconfig with a new client certificate. The CA that signs it must be one that the server trusts."""
    from gateway.credentials.client_kubeconfig import client_kubeconfig
    from gateway.files import replace_file, words
    from gateway.settings.config import InvalidSettings

    if (client_ca_file is None) != (client_ca_key_file is None):
        raise CommandFailed("--client-ca-file and --client-ca-key-file belong together: give both or neither")
    authority = client_ca_file or cert_dir / "ca.crt", client_ca_key_file or cert_dir / "ca.key"
    try:
        trusted = (certificate_authority or cert_dir / "ca.crt").read_bytes()
        text = client_kubeconfig(user, groups, authority, trusted, server, expiration)
        if out is None:
            click.echo(text)
        else:
            replace_file(out, text.encode() + b"\n", 0o600)
    except OSError as error:
        raise CommandFailed(f"cannot use {words(error)}") from None
    except (InvalidSettings, ValueError) as error:
        raise CommandFailed(str(error)) from None
