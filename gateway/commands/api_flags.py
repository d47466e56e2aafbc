"""The flags that tell commands which Kubernetes API to use, like kubectl's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gateway.commands.command_failed import CommandFailed

if TYPE_CHECKING:
    from gateway.access.remote import RemoteService

Command = TypeVar("Command", bound=Callable[..., Any])
Made = TypeVar("Made")


def api_flags(command: Command) -> Command:
    """A decorator that adds --kubeconfig and --context to a command, as the parameters `kubeconfig` and `of`."""
    path = click.Path(dir_okay=False, path_type=Path)
    help = "the kubeconfig; that of KUBECONFIG or ~/.kube/config if not given"
    command = click.option("--context", "of", default="", metavar="NAME", help="its context; the current one")(command)
    return click.option("--kubeconfig", type=path, metavar="FILE", help=help)(command)


def run_on_api(kubeconfig: Path | None, context: str, work: Callable[[Any], Awaitable[Made]]) -> Made:
    """The result of `work`, which gets a Cluster for a context of a kubeconfig. Raises CommandFailed."""
    from gateway.transfer.kubeconfig import NoCluster, find_place

    try:
        place = find_place(kubeconfig, context, os.environ)
    except NoCluster as error:
        raise CommandFailed(str(error)) from None
    return run_at(place, work)


def run_at(place: RemoteService, work: Callable[[Any], Awaitable[Made]]) -> Made:
    """The result of `work`, which gets a Cluster for a server's URL and credentials. Raises CommandFailed."""
    from gateway.transfer.cluster import ApiError, RemoteCluster, Unreachable

    cluster = RemoteCluster(place)

    async def go() -> Made:
        try:
            return await work(cluster)
        finally:
            cluster.close()

    try:
        return asyncio.run(go())
    except (ApiError, Unreachable) as error:
        raise CommandFailed(str(error)) from None
    except BaseExceptionGroup as group:
        if (lost := group.subgroup(Unreachable)) is not None:
            raise CommandFailed(str(lost.exceptions[0])) from None
        raise
    except KeyboardInterrupt:
        raise click.Abort from None
