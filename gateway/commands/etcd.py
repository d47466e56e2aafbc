"""`apiserver-gateway etcd`: installs etcd, and prepares, defragments and restores its members."""

from __future__ import annotations

import click

from gateway.commands.command_failed import CommandFailed
from gateway.commands.etcd_upkeep import defragment, member, snapshot


@click.group(short_help="install etcd, and maintain its members")
def command() -> None:
    """Installs an etcd for --embedded-etcd, and maintains the members of an etcd cluster."""


for each in (snapshot, defragment, member):
    command.add_command(each)


@command.command()
@click.option(
    "--version",
    default="",
    metavar="VERSION",
    help="the release of etcd (default: the release that this program was tested with)",
)
@click.option(
    "--sha256", default="", metavar="DIGEST", help="SHA-256 of the archive (default: as in the release's SHA256SUMS)"
)
@click.option("--releases", default="", metavar="URL", help="URL of a mirror of etcd's releases on GitHub")
def install(version: str, sha256: str, releases: str) -> None:
    """Downloads a release of etcd, checks its digest, and installs it where --embedded-etcd finds it.

    The command prints its steps on standard error, and the path of etcd on standard output.
    """
    from storage.embedded.install import RELEASES, VERSION, InstallError
    from storage.embedded.install import install as put

    try:
        click.echo(put(version or VERSION, sha256, releases or RELEASES, lambda line: click.echo(line, err=True)))
    except InstallError as error:
        raise CommandFailed(str(error)) from None
