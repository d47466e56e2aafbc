"""`apiserver-gateway cluster`: control planes of a server that runs with --control-planes."""

from __future__ import annotations

import asyncio
import re
from base64 import b64decode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gateway.commands.api_flags import api_flags, run_on_api
from gateway.commands.command_failed import CommandFailed
from gateway.commands.help import CONTEXT

if TYPE_CHECKING:
    from gateway.jsontypes import JsonObject
    from gateway.transfer.cluster import RemoteCluster

_READY_TIMEOUT = 60.0  # seconds
_STARTING = 10.0  # seconds that a server may take until it serves control planes
_LOOK = 0.1  # seconds between two looks
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


@click.group("cluster", short_help="make, list and delete control planes below /clusters", context_settings=CONTEXT)
def command() -> None:
    """Control planes of a server that runs with --control-planes. Each is an API server of its own at /clusters/NAME of
    the server's URL.
    """


def _name(context: click.Context, parameter: click.Parameter, given: str) -> str:
    if not _NAME.fullmatch(given):
        raise click.BadParameter("a name has at most 63 small letters, digits and dashes, as a DNS label", context)
    return given


def _named(command: Callable[..., None]) -> Callable[..., None]:
    return click.argument("name", callback=_name)(command)


@command.command("create", short_help="make a control plane, and wait until it answers")
@_named
@click.option("--version", metavar="MINOR", help="the version of Kubernetes that it serves (default: the server's)")
@click.option("--admin-user", "users", multiple=True, metavar="NAME", help="a user of the server who may enter it")
@click.option("--admin-group", "groups", multiple=True, metavar="NAME", help="a group whose members may enter it")
@api_flags
def create(
    name: str, version: str | None, users: tuple[str, ...], groups: tuple[str, ...], kubeconfig: Path | None, of: str
) -> None:
    """Makes a ControlPlane object, and waits until requests below its URL are answered."""
    from gateway.clusters.definition import GROUP, KIND, VERSION

    body = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {"admins": {"users": list(users), "groups": list(groups)}, **({"version": version} if version else {})},
    }

    async def make(cluster: RemoteCluster) -> str:
        await _post(cluster, body)
        found = await _until(cluster, name, lambda obj: _of(obj, "phase") == "Ready")
        return _of(found, "url")

    click.echo(f"{name} is at {run_on_api(kubeconfig, of, make)}")


@command.command("list", short_help="list the control planes")
@api_flags
def list_all(kubeconfig: Path | None, of: str) -> None:
    """Lists the control planes: name, phase and URL."""

    async def read(cluster: RemoteCluster) -> Any:
        return (await cluster.ask("GET", _path()))["items"]

    for each in run_on_api(kubeconfig, of, read):
        click.echo(f"{each['metadata']['name']}\t{_of(each, 'phase') or 'Making'}\t{_of(each, 'url')}")


@command.command("kubeconfig", short_help="write the kubeconfig of a control plane's administrator")
@_named
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="else standard output")
@api_flags
def kubeconfig_of(name: str, out: Path | None, kubeconfig: Path | None, of: str) -> None:
    """Writes the kubeconfig of a control plane's administrator. Its user must be allowed to read Secrets of kube-system
    on the server.
    """
    from gateway.clusters.secrets import NAMESPACE, name_of
    from gateway.files import replace_file, words

    async def read(cluster: RemoteCluster) -> Any:
        return await cluster.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets/{name_of(name)}")

    text = b64decode(run_on_api(kubeconfig, of, read)["data"]["kubeconfig"])
    if out is None:
        click.echo(text.decode())
        return
    try:
        replace_file(out, text + b"\n", 0o600)
    except OSError as error:
        raise CommandFailed(f"cannot write {words(error, out)}") from None


@command.command("delete", short_help="delete a control plane with all that it has")
@_named
@api_flags
def delete(name: str, kubeconfig: Path | None, of: str) -> None:
    """Deletes a control plane with all its objects, and waits until its keys are removed."""

    async def remove(cluster: RemoteCluster) -> None:
        await cluster.ask("DELETE", f"{_path()}/{name}")
        await _until(cluster, name, lambda obj: not obj)

    run_on_api(kubeconfig, of, remove)
    click.echo(f"{name} is deleted")


def _path() -> str:
    from gateway.clusters.definition import GROUP, PLURAL, VERSION

    return f"/apis/{GROUP}/{VERSION}/{PLURAL}"


def _of(obj: JsonObject, field: str) -> str:
    return str((obj.get("status") or {}).get(field) or "")


async def _post(cluster: RemoteCluster, body: JsonObject) -> None:
    """Makes the object. A server that has just started serves its resource a moment later.

    Raises ApiError, Unreachable, CommandFailed.
    """
    try:
        async with asyncio.timeout(_STARTING):
            while not await _read(cluster.ask("POST", _path(), body)):
                await asyncio.sleep(_LOOK)
    except TimeoutError:
        raise CommandFailed(
            "the server has no control planes: start it with --control-planes, or use its kubeconfig"
        ) from None


async def _until(cluster: RemoteCluster, name: str, holds: Callable[[JsonObject], bool]) -> JsonObject:
    """The object once `holds` is true for it; {} stands for none. Raises ApiError, Unreachable, CommandFailed."""
    try:
        async with asyncio.timeout(_READY_TIMEOUT):
            while not holds(found := await _read(cluster.ask("GET", f"{_path()}/{name}"))):
                await asyncio.sleep(_LOOK)
            return found
    except TimeoutError:
        raise CommandFailed(
            f"{name} did not get there in {_READY_TIMEOUT:g} s; see `kubectl describe controlplane`"
        ) from None


async def _read(asking: Awaitable[JsonObject]) -> JsonObject:
    from gateway.transfer.cluster import ApiError

    try:
        return await asking
    except ApiError as error:
        if error.status == 404:
            return {}
        raise
