"""`apiserver-gateway etcd snapshot`, `defragment` and `member`: operations on single members of an etcd."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gateway.commands.command_failed import CommandFailed
from gateway.commands.etcd_flags import etcd_flags, etcd_of

if TYPE_CHECKING:
    from gateway.commands.etcd_members import MemberClient

_DIGEST = 32  # bytes at the end of a snapshot: the SHA-256 of all bytes before
_MESSAGE_SECONDS, _DEFRAGMENT_SECONDS = 60.0, 600.0


@click.command(short_help="save a snapshot of a healthy member")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@etcd_flags
@click.pass_context
def snapshot(context: click.Context, file: Path) -> None:
    """Saves a snapshot of the first healthy endpoint in FILE, for `etcdutl snapshot restore`.

    If a member does not answer, or stops during the snapshot, the command prints its URL and takes the next one. FILE
    appears when the snapshot is complete.
    """
    from gateway.commands.etcd_members import MemberRefusal, Silent

    asking, endpoints = _of(context)
    part = file.with_name(f"{file.name}.part")
    for url in _healthy(asking, endpoints):
        try:
            size = _save(asking.snapshot(url, _MESSAGE_SECONDS), part)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise CommandFailed(f"cannot write {part}: {error.strerror}") from None
        except (Silent, MemberRefusal, ValueError) as error:
            part.unlink(missing_ok=True)
            click.echo(f"{url} gave no snapshot: {error}", err=True)
            continue
        part.replace(file)
        click.echo(f"{file}: saved {size} bytes from {url}")
        return
    raise CommandFailed(
        "no snapshot was saved, because no endpoint is healthy: start etcd's members, or give other endpoints"
    )


@click.command(short_help="defragment the members, one after the other")
@etcd_flags
@click.pass_context
def defragment(context: click.Context) -> None:
    """Defragments the endpoints, one after the other: etcd returns the space that compactions have freed to the disk.

    The command skips members that are not healthy, and prints their URLs. It fails if a healthy member refuses, or if
    no member is healthy.
    """
    from gateway.commands.etcd_members import MemberRefusal, Silent

    asking, endpoints = _of(context)
    failed, done = [], 0
    for url in _healthy(asking, endpoints):
        try:
            asking.defragment(url, _DEFRAGMENT_SECONDS)
        except (Silent, MemberRefusal) as error:
            failed.append(str(error))
        else:
            done += 1
            click.echo(f"{url}: defragmented")
    if failed or not done:
        raise CommandFailed(
            "; ".join(failed) or "no endpoint is healthy: start etcd's members, or give other endpoints"
        )


@click.command(short_help="write the configuration file with which an etcd member starts")
@click.option(
    "--config",
    required=True,
    metavar="JSON",
    help="etcd's configuration as JSON; its initial-cluster names all members",
)
@click.option("--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="the file to write")
@click.option("--patience", default=20.0, metavar="SECONDS", help="how long to wait until another member answers")
def member(config: str, output: Path, patience: float) -> None:
    """Writes a file for `etcd --config-file`: the given configuration, and the right initial-cluster-state.

    If no other member answers, the member starts a new cluster. Otherwise a member without data joins the existing
    cluster. If the cluster knows the member already, the member has lost its data: the command removes it from the
    cluster and adds it again. This needs a quorum of healthy members; the command waits for them.
    """
    import orjson

    from gateway.commands.etcd_join import Joining

    given = _configuration(config)
    tls = given.get("peer-transport-security") or {}
    peers = dict(each.split("=", 1) for each in given["initial-cluster"].split(",") if "=" in each)
    files = [tls.get(key) for key in ("trusted-ca-file", "cert-file", "key-file")]
    asking = _asking(*(Path(file) if file else None for file in files))
    joining = Joining(given["name"], peers, Path(given["data-dir"]), asking)
    state, cluster = joining.decide(patience, lambda said: click.echo(said, err=True))
    written = {**given, "initial-cluster-state": state, "initial-cluster": ",".join(map("=".join, cluster.items()))}
    try:
        output.write_bytes(orjson.dumps(written, option=orjson.OPT_INDENT_2))
    except OSError as error:
        raise CommandFailed(f"cannot write {output}: {error.strerror}") from None
    click.echo(f"{given['name']} can start: initial-cluster-state is {state}")


def _configuration(text: str) -> dict[str, Any]:
    from gateway.schema.outside import read_object

    given = read_object(text.encode()) or {}
    wanted = ("name", "data-dir", "initial-cluster")
    members = [each.partition("=")[0] for each in str(given.get("initial-cluster", "")).split(",") if "=" in each]
    if not all(isinstance(given.get(key), str) for key in wanted) or given["name"] not in members:
        raise CommandFailed(
            f"--config: give a JSON object with {', '.join(wanted)}; initial-cluster must have the name"
        )
    return given


def _of(context: click.Context) -> tuple[MemberClient, list[str]]:
    etcd, _ = etcd_of(context)
    tls = any((etcd.ca_file, etcd.cert_file))
    whole = [
        each if "://" in each or each.startswith("unix:") else f"{'https' if tls else 'http'}://{each}"
        for each in etcd.endpoints
    ]
    return _asking(etcd.ca_file, etcd.cert_file, etcd.key_file), whole


def _asking(*files: Path | None) -> MemberClient:
    import ssl

    from gateway.commands.etcd_members import MemberClient

    try:
        return MemberClient(*files)
    except (OSError, ssl.SSLError) as error:
        named = ", ".join(str(each) for each in files if each)
        raise CommandFailed(f"cannot use {named}: {error}") from None


def _healthy(asking: MemberClient, endpoints: list[str]) -> Iterator[str]:
    for url in endpoints:
        if asking.is_healthy(url):
            yield url
        else:
            click.echo(f"{url} is not healthy and was skipped", err=True)


def _save(messages: Iterator[Any], part: Path) -> int:
    """Writes a snapshot to a file; returns its size in bytes. Raises OSError; ValueError if the digest is wrong."""
    digest, last, size = hashlib.sha256(), b"", 0
    with part.open("wb") as out:
        for message in messages:
            blob = _blob(message)
            out.write(blob)
            size += len(blob)
            last += blob
            digest.update(last[:-_DIGEST])
            last = last[-_DIGEST:]
        out.flush()
        os.fsync(out.fileno())
    if size <= _DIGEST or digest.digest() != last:
        raise ValueError(f"the snapshot is incomplete or damaged: {size} bytes were received")
    return size


def _blob(message: Any) -> bytes:
    try:
        return base64.b64decode(message["result"].get("blob", ""), validate=True)
    except (TypeError, KeyError, AttributeError, binascii.Error):
        raise ValueError(f"etcd answered {str(message)[:200]}") from None
