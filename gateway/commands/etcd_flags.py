"""The flags that tell commands which etcd to use: those of `serve`, with their environment variables and --config."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click

from gateway.commands.command_failed import CommandFailed
from gateway.settings.flags import FLAGS, PREFIX

Command = TypeVar("Command", bound=Callable[..., Any])

NAMES = (
    "etcd-servers",
    "etcd-servers-overrides",
    "etcd-prefix",
    "etcd-cafile",
    "etcd-certfile",
    "etcd-keyfile",
    "etcd-username",
    "etcd-password",
)


_SILENCE = 3.0  # seconds without an answer until a command says what it waits for
_SERVERS, _SERVERS_VARIABLE = "etcd-servers", f"{PREFIX}ETCD_SERVERS"
_VARIABLES = tuple(flag.variable for flag in FLAGS if flag.name in NAMES)


def etcd_flags(command: Command) -> Command:
    """A decorator that adds the flags to a command. The context's `obj` has their texts, by flag name."""
    for flag in reversed([flag for flag in FLAGS if flag.name in NAMES]):
        kind = click.Path(dir_okay=False) if flag.metavar == "FILE" else None
        command = click.option(
            f"--{flag.name}", metavar=flag.metavar, type=kind, help=flag.help, expose_value=False, callback=_keep
        )(command)
    config = click.Path(dir_okay=False)
    option = click.option("--config", metavar="FILE", type=config, help="YAML file with flags of serve", **_KEPT)
    return option(command)


def _keep(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    context.ensure_object(dict)
    if value is not None and parameter.name:
        context.obj[parameter.name.replace("_", "-")] = value
    return value


_KEPT: dict[str, Any] = {"expose_value": False, "callback": _keep}


def etcd_of(context: click.Context) -> tuple[Any, str]:
    """The EtcdSettings and the prefix, from flags, environment variables and the file of --config.

    Other settings of the file and the environment are ignored. Raises CommandFailed.
    """
    settings = _settings(context)
    return settings.etcd(), settings.etcd_prefix


def say_what_is_apart(context: click.Context, done: str) -> None:
    """Prints a line for each resource that --etcd-servers-overrides puts into another etcd: it was not `done`, such as
    "backed up". Raises CommandFailed.
    """
    for override in _settings(context).etcd_servers_overrides:
        other = f"--etcd-servers={','.join(override.servers)}"
        click.echo(
            f"{override.group}/{override.resource} is in another etcd (--etcd-servers-overrides), and was not {done}: "
            f"run the command again with {other}",
            err=True,
        )


def _settings(context: click.Context) -> Any:
    from gateway.settings.command_line import CONFIG_VARIABLE
    from gateway.settings.config import InvalidSettings
    from gateway.settings.config_file import read_config
    from gateway.settings.flags import settings_from

    given = dict(context.obj or {})
    config = given.pop("config", None) or os.environ.get(CONFIG_VARIABLE)
    try:
        file = read_config(Path(config)) if config else {}
        of_etcd = {name: text for name, text in file.items() if name in NAMES}
        variables = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        if not (given.get(_SERVERS) or variables.get(_SERVERS_VARIABLE) or of_etcd.get(_SERVERS)):
            raise InvalidSettings(
                "no etcd endpoints are given: add --etcd-servers, such as --etcd-servers=http://127.0.0.1:2379"
            )
        return settings_from(given, variables, of_etcd, f"--config={config}")
    except InvalidSettings as error:
        raise CommandFailed(str(error)) from None


def run_on_etcd(etcd: Any, work: Callable[[Any], Any]) -> Any:
    """The result of `work`, which gets an etcd client. Raises CommandFailed with a message for people.

    If etcd does not answer for some seconds, prints what it waits for. SIGTERM cancels the work like Ctrl-C does, so
    that it can clean up.
    """
    import asyncio

    try:
        return asyncio.run(_stoppable(_on_etcd(etcd, work)))
    except KeyboardInterrupt:
        raise click.Abort from None
    except OSError as error:
        from gateway.files import words

        raise CommandFailed(f"cannot use {words(error)}") from None


async def _stoppable(work: Coroutine[Any, Any, Any]) -> Any:
    import asyncio
    import signal

    loop, doing = asyncio.get_running_loop(), asyncio.ensure_future(work)
    told: list[bool] = []

    def stop() -> None:
        told.append(True)
        doing.cancel()

    loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        return await doing
    except asyncio.CancelledError:
        if not told:
            raise
        raise CommandFailed("the command was stopped before it was done: run it again") from None
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


async def _on_etcd(etcd: Any, work: Callable[[Any], Any]) -> Any:
    from storage.errors import StorageError, Unavailable
    from storage.etcd import EtcdClient
    from storage.etcd.permanent_errors import ONCE, hopeless, tls_trouble

    where = ", ".join(etcd.endpoints)
    async with EtcdClient(etcd) as client:
        try:
            await _answered(client, where)
            return await work(client)
        except Unavailable as error:
            trouble = await tls_trouble(etcd, ONCE)
            remedy = "check that etcd runs, or give other endpoints with --etcd-servers, and run the command again"
            raise CommandFailed(trouble or f"etcd at {where} does not answer ({error}): {remedy}") from None
        except StorageError as error:
            raise CommandFailed(hopeless(error) or f"etcd: {error}") from None


async def _answered(client: Any, where: str) -> None:
    """Waits for etcd's first answer, as long as the client waits for any call. Raises StorageError."""
    import asyncio

    told = asyncio.get_running_loop().call_later(
        _SILENCE, click.echo, f"waiting for etcd at {where} to answer", None, True, True
    )
    try:
        await client.status()
    finally:
        told.cancel()
