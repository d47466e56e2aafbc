"""`apiserver-gateway version`."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import click

from gateway.release.minors import DEFAULT, GIT_VERSIONS

_DISTRIBUTION = "apiserver-gateway"


def versions() -> str:
    """A line with the versions of the program and of the Kubernetes API that it serves by default."""
    try:
        own = f"{_DISTRIBUTION} {version(_DISTRIBUTION)}"
    except PackageNotFoundError:  # it runs from a source checkout, without being installed
        own = _DISTRIBUTION
    return f"{own}, Kubernetes {GIT_VERSIONS[DEFAULT]}"


@click.command(short_help="show the version")
def command() -> None:
    """Shows the version of the program, and of the Kubernetes API that it serves."""
    click.echo(versions())
