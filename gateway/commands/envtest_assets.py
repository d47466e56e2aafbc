"""`apiserver-gateway envtest-assets`."""

from __future__ import annotations

from pathlib import Path

import click

from gateway.commands.failing import CommandFailed


@click.command(short_help="make a directory for KUBEBUILDER_ASSETS")
@click.argument("directory", required=False, type=click.Path(file_okay=False, path_type=Path))
def command(directory: Path | None) -> None:
    """Makes a directory with the programs that envtest starts, and prints its path: DIRECTORY, or one in the cache."""
    from gateway.commands.envtest import assets
    from gateway.files import words
    from storage.embedded import EmbeddedEtcdError
    from storage.embedded.binary import cache_directory

    try:
        click.echo(assets(directory or cache_directory() / "envtest"))
    except EmbeddedEtcdError as error:
        raise CommandFailed(str(error)) from None
    except OSError as error:
        raise CommandFailed(f"cannot use {words(error, directory)}") from None
