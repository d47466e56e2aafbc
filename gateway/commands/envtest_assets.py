"""`apiserver-gateway envtest-assets`."""

from __future__ import annotations

from pathlib import Path

import click

from gateway.commands.command_failed import CommandFailed


@click.command(short_help="make a directory of programs for KUBEBUILDER_ASSETS")
@click.argument("directory", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--kubernetes-version",
    "version",
    metavar="MINOR",
    envvar="ENVTEST_K8S_VERSION",
    help="the minor of Kubernetes that its kube-apiserver serves; also by ENVTEST_K8S_VERSION, or by a DIRECTORY that "
    "is named as assets of envtest are (VERSION-linux-amd64)",
)
def command(directory: Path | None, version: str | None) -> None:
    """Creates a directory with the programs that envtest starts, and prints its path.

    The directory is DIRECTORY, or a directory in the cache of this program.
    """
    from gateway.commands.envtest import assets
    from gateway.files import words
    from gateway.release.minors import GIT_VERSIONS, minor_of_assets
    from storage.embedded import EmbeddedEtcdError
    from storage.embedded.binary import cache_directory

    try:
        minor = minor_of_assets(version or (directory.name if directory else ""))
    except ValueError as error:
        raise CommandFailed(str(error)) from None
    if version and not minor:
        raise CommandFailed(
            f"{version} is not a minor of Kubernetes that this server has; give one of {', '.join(GIT_VERSIONS)}"
        )
    try:
        click.echo(assets(directory or cache_directory() / f"envtest{minor and '-'}{minor}", minor))
    except EmbeddedEtcdError as error:
        raise CommandFailed(str(error)) from None
    except OSError as error:
        raise CommandFailed(f"cannot use {words(error, directory)}") from None
