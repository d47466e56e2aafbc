"""`apiserver-gateway backup FILE` and `restore FILE`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from gateway.commands.etcd_flags import etcd_flags, etcd_of, run_on_etcd, say_what_is_apart
from gateway.commands.failing import CommandFailed
from gateway.commands.progress import progress

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(short_help="write all objects, as of one revision, to a file")
@click.argument("file", type=FILE)
@click.option("--overwrite", is_flag=True, help="replace the file if there is one")
@etcd_flags
@click.pass_context
def backup(context: click.Context, file: Path, overwrite: bool) -> None:
    """Writes all keys under --etcd-prefix, as of one revision of etcd, to FILE.

    Servers may go on meanwhile. The file holds secrets, and is its owner's alone; it appears when it is whole.
    """
    if file.exists() and not overwrite:
        raise CommandFailed(f"there is {file} already; give --overwrite to replace it")
    etcd, prefix = etcd_of(context)
    with progress() as told:
        taken = run_on_etcd(etcd, lambda client: _take(client, prefix, file, partial(told, "reading")))
    click.echo(f"{file}: {taken.keys} keys as of revision {taken.revision}, {taken.bytes} bytes")
    say_what_is_apart(context, "backed up")


async def _take(client: Any, prefix: str, file: Path, told: Any) -> Any:
    from storage.backups.taking import NothingThere, take

    try:
        return await take(client, prefix, file, told)
    except NothingThere as error:
        raise CommandFailed(f"{error}; --etcd-prefix is what the servers have") from None


@click.command(short_help="put the objects of a backup back")
@click.argument("file", type=FILE)
@click.option("--replace", is_flag=True, help="delete what is under --etcd-prefix first")
@click.option("--check", is_flag=True, help="only look whether the file is whole, and what it has")
@etcd_flags
@click.pass_context
def restore(context: click.Context, file: Path, replace: bool, check: bool) -> None:
    """Puts all keys of FILE under --etcd-prefix, where nothing may be unless --replace is given.

    The whole file is checked before anything is written. Servers have to be stopped. A restore that was broken off is
    made again by the same command; until then no server starts on half of it.
    """
    from gateway.files import words
    from storage.backups.file import InvalidBackup, verify

    etcd, prefix = ("", "") if check else etcd_of(context)
    try:
        with progress() as told:
            info = verify(file, partial(told, "checking"))
            if not check:
                restored = run_on_etcd(etcd, lambda client: _restore(client, prefix, file, info, replace, told))
    except OSError as error:
        raise CommandFailed(f"cannot use {words(error, file)}") from None
    except InvalidBackup as error:
        raise CommandFailed(f"{file} is not restored: {error}") from None
    header = info.header
    if check:
        click.echo(
            f"{file}: {info.keys} keys ({info.bytes} bytes) of {header.prefix} as of revision {header.revision}, made "
            f"{header.made} of etcd {header.etcd}"
        )
        return
    click.echo(f"{file}: {restored.keys} keys are under {prefix}, at revision {restored.revision}")
    if restored.behind:
        click.echo(
            f"etcd's revision is {restored.behind} below the backup's: start clients anew that were at work before",
            err=True,
        )
    say_what_is_apart(context, "restored")


async def _restore(client: Any, prefix: str, file: Path, info: Any, replace: bool, told: Any) -> Any:
    from storage.backups.restoring import Refused
    from storage.backups.restoring import restore as put_back

    try:
        return await put_back(client, prefix, file, info, replace=replace, told=told)
    except Refused as error:
        raise CommandFailed(str(error)) from None
