"""`apiserver-gateway etcd`: installs etcd, and prepares, defragments and restores its members."""

from __future__ import annotations

import click

from gateway.commands.etcd_upkeep import defragment, member, snapshot
from gateway.commands.failing import CommandFailed


@click.group(short_help="get an etcd, and look after its members")
def command() -> None:
    """Gets an etcd for --embedded-etcd, and looks after the members of one."""


for each in (snapshot, defragment, member):
    command.add_command(each)


@command.command()
@click.option("--version", default="", metavar="VERSION", help="the release; the one this was tested with if not given")
@click.option("--sha256", default="", metavar="DIGEST", help="the archive's digest; else that of the SHA256SUMS")
@click.option("--releases", default="", metavar="URL", help="a mirror of etcd's releases on GitHub")
def install(version: str, sha256: str, releases: str) -> None:
    """Downloads a release of etcd, checks its digest, and puts it where --embedded-etcd looks for one.

    What it does is said on standard error, and where etcd is on standard output.
    """
    from storage.embedded.install import RELEASES, VERSION, InstallError
    from storage.embedded.install import install as put

    try:
        click.echo(put(version or VERSION, sha256, releases or RELEASES, lambda line: click.echo(line, err=True)))
    except InstallError as error:
        raise CommandFailed(str(error)) from None
