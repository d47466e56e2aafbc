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
_control_plane = click.option(
    "--control-plane", default="", metavar="NAME", help="only the objects of this control plane below /clusters"
)


@click.command(short_help="save all objects of one etcd revision in a file")
@click.argument("file", type=FILE)
@click.option("--overwrite", is_flag=True, help="replace FILE if it exists")
@_control_plane
@etcd_flags
@click.pass_context
def backup(context: click.Context, file: Path, overwrite: bool, control_plane: str) -> None:
    """Saves all keys under --etcd-prefix in FILE. The keys are those of one revision of etcd.

    With --control-plane, saves the objects of this control plane below /clusters instead, without its events.

    API servers can run during the backup. FILE contains the Secrets of the cluster, so only its owner can read it. FILE
    appears when the backup is complete.
    """
    if file.exists() and not overwrite:
        raise CommandFailed(f"{file} exists already; add --overwrite to replace it")
    etcd, prefix = etcd_of(context)
    if control_plane:
        taken = run_on_etcd(etcd, lambda client: _of_cluster(client, prefix, control_plane, file, None))
        click.echo(f"{file}: {taken.keys} keys of {control_plane} as of revision {taken.revision}, {taken.bytes} bytes")
        return
    with progress() as told:
        taken, planes = run_on_etcd(etcd, lambda client: _take(client, prefix, file, partial(told, "reading")))
    click.echo(f"{file}: {taken.keys} keys as of revision {taken.revision}, {taken.bytes} bytes")
    if planes:
        click.echo(
            f"the keys of control planes below /clusters ({planes}) are not in {file}: `apiserver-gateway etcd "
            "snapshot` has them, and `apiserver-gateway backup --control-plane=NAME` saves one",
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
@_control_plane
@etcd_flags
@click.pass_context
def restore(context: click.Context, file: Path, replace: bool, check: bool, control_plane: str) -> None:
    """Restores all keys of FILE under --etcd-prefix. Without --replace, there must be no keys under the prefix.

    Stop all API servers first. The command checks the whole file before it writes a key. If a restore was interrupted,
    run the same command again; no API server starts before the restore is complete.

    With --control-plane and --replace, exchanges the objects of this control plane, at once, for those of FILE, which
    is a backup of a control plane. API servers may run meanwhile, and other control planes are not touched.
    """
    from gateway.files import words
    from storage.backups.file import InvalidBackup, verify

    etcd, prefix = ("", "") if check else etcd_of(context)
    try:
        with progress() as told:
            info = verify(file, partial(told, "checking"))
            if not check:
                _check_kind(info.header.control_plane, control_plane, replace)
            if control_plane and not check:
                revision = run_on_etcd(etcd, lambda client: _of_cluster(client, prefix, control_plane, file, info))
            elif not check:
                restored = run_on_etcd(etcd, lambda client: _restore(client, prefix, file, info, replace, told))
    except OSError as error:
        raise CommandFailed(f"cannot use {words(error, file)}") from None
    except InvalidBackup as error:
        raise CommandFailed(f"{file} was not restored: {error}") from None
    header = info.header
    if check:
        of = f"of the control plane {header.control_plane} " if header.control_plane else ""
        click.echo(
            f"{file}: {info.keys} keys ({info.bytes} bytes) {of}under {header.prefix} as of revision "
            f"{header.revision}, saved {header.made} from etcd {header.etcd}"
        )
        return
    if control_plane:
        click.echo(f"{file}: restored {info.keys} keys of {control_plane}, at revision {revision}")
        _say_if_behind(header.revision - revision)
        return
    click.echo(f"{file}: restored {restored.keys} keys under {prefix}, at revision {restored.revision}")
    _say_if_behind(restored.behind)
    say_what_is_apart(context, "restored")


def _say_if_behind(revisions: int) -> None:
    if revisions > 0:
        click.echo(
            f"etcd's revision is {revisions} lower than the revision of the backup: restart all clients that ran "
            "before the restore",
            err=True,
        )


def _check_kind(saved: str, wanted: str, replace: bool) -> None:
    """Raises CommandFailed for a file of a control plane (`saved`) where none is wanted, and the other way round."""
    if saved and not wanted:
        raise CommandFailed(f"the file has the control plane {saved}: add --control-plane=NAME to restore it there")
    if wanted and not saved:
        raise CommandFailed("the file has no control plane: leave out --control-plane to restore it")
    if wanted and not replace:
        raise CommandFailed(f"add --replace to delete all objects that {wanted} has, and restore those of the file")


async def _of_cluster(client: Any, prefix: str, name: str, file: Path, info: Any) -> Any:
    """Backs up a control plane, or restores it if there is an `info` of a verified file."""
    from gateway.clusters.backups import NoControlPlane, restore_cluster, take_cluster
    from gateway.clusters.template_copy import TooMuch

    try:
        if info is None:
            return await take_cluster(client, prefix, name, file)
        return await restore_cluster(client, prefix, name, file, info)
    except TooMuch as error:
        raise CommandFailed(
            f"{name} was not backed up: {error}; use `apiserver-gateway etcd snapshot`, or `apiserver-gateway export`"
        ) from None
    except NoControlPlane as error:
        raise CommandFailed(str(error)) from None


async def _restore(client: Any, prefix: str, file: Path, info: Any, replace: bool, told: Any) -> Any:
    from storage.backups.restore import RestoreRefused
    from storage.backups.restore import restore as put_back

    try:
        return await put_back(client, prefix, file, info, replace=replace, told=told)
    except RestoreRefused as error:
        raise CommandFailed(str(error)) from None
