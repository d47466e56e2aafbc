"""`apiserver-gateway backup FILE` and `restore FILE`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from gateway.commands.command_failed import CommandFailed
from gateway.commands.etcd_flags import etcd_flags, etcd_of, run_on_etcd, say_what_is_apart
from gateway.commands.progress import progress

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(short_help="save all objects of one etcd revision in a file")
@click.argument("file", type=FILE)
@click.option("--overwrite", is_flag=True, help="replace FILE if it exists")
@etcd_flags
@click.pass_context
def backup(context: click.Context, file: Path, overwrite: bool) -> None:
    """Saves all keys under --etcd-prefix in FILE. The keys are those of one revision of etcd.

    API servers can run during the backup. FILE contains the Secrets of the cluster, so only its owner can read it. FILE
    appears when the backup is complete.
    """
    if file.exists() and not overwrite:
        raise CommandFailed(f"{file} exists already; add --overwrite to replace it")
    etcd, prefix = etcd_of(context)
    with progress() as told:
        taken, planes = run_on_etcd(etcd, lambda client: _take(client, prefix, file, partial(told, "reading")))
    click.echo(f"{file}: {taken.keys} keys as of revision {taken.revision}, {taken.bytes} bytes")
    if planes:
        click.echo(
            f"the keys of control planes below /clusters ({planes}) are not in {file}: `apiserver-gateway etcd "
            "snapshot` has them, and `apiserver-gateway export` has the objects of one",
            err=True,
        )
    say_what_is_apart(context, "backed up")


async def _take(client: Any, prefix: str, file: Path, told: Any) -> tuple[Any, int]:
    """What was taken, and the number of keys of control planes, which were not."""
    from gateway.settings.control_planes import COMMON
    from storage.backups.take import NothingThere, take

    try:
        taken = await take(client, prefix, file, told)
        return taken, (await client.prefix(f"{prefix}{COMMON}/".encode(), count_only=True)).count
    except NothingThere as error:
        raise CommandFailed(f"{error}; give the --etcd-prefix that the API servers use") from None


@click.command(short_help="restore the objects of a backup")
@click.argument("file", type=FILE)
@click.option("--replace", is_flag=True, help="first delete all keys under --etcd-prefix")
@click.option("--check", is_flag=True, help="check that FILE is complete, print what it contains, and restore nothing")
@etcd_flags
@click.pass_context
def restore(context: click.Context, file: Path, replace: bool, check: bool) -> None:
    """Restores all keys of FILE under --etcd-prefix. Without --replace, there must be no keys under the prefix.

    Stop all API servers first. The command checks the whole file before it writes a key. If a restore was interrupted,
    run the same command again; no API server starts before the restore is complete.
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
        raise CommandFailed(f"{file} was not restored: {error}") from None
    header = info.header
    if check:
        click.echo(
            f"{file}: {info.keys} keys ({info.bytes} bytes) under {header.prefix} as of revision {header.revision}, "
            f"saved {header.made} from etcd {header.etcd}"
        )
        return
    click.echo(f"{file}: restored {restored.keys} keys under {prefix}, at revision {restored.revision}")
    if restored.behind:
        click.echo(
            f"etcd's revision is {restored.behind} lower than the revision of the backup: restart all clients that ran "
            "before the restore",
            err=True,
        )
    say_what_is_apart(context, "restored")


async def _restore(client: Any, prefix: str, file: Path, info: Any, replace: bool, told: Any) -> Any:
    from storage.backups.restore import RestoreRefused
    from storage.backups.restore import restore as put_back

    try:
        return await put_back(client, prefix, file, info, replace=replace, told=told)
    except RestoreRefused as error:
        raise CommandFailed(str(error)) from None
