"""`apiserver-gateway export` and `import`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.commands.api_flags import api_flags, run_on_api
from gateway.commands.command_failed import CommandFailed
from gateway.commands.progress import progress

if TYPE_CHECKING:
    from gateway.transfer.export import ExportTarget


@click.command("export", short_help="save objects of a Kubernetes API in files")
@click.argument("resources", nargs=-1, metavar="[RESOURCE]...")
@click.option(
    "-n",
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAME",
    help="only objects of this namespace; repeat the flag for more",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("-"),
    metavar="PLACE",
    help="a file (*.yaml, *.json), or a directory for one file per object (default: standard output)",
)
@click.option(
    "--format",
    type=click.Choice(["yaml", "json"]),
    help="format of the output (default: json if the file name ends in .json, else yaml)",
)
@click.option("--status", is_flag=True, help="include the status of objects")
@click.option("--everything", is_flag=True, help="include objects that the server or a controller creates by itself")
@click.option("--blank-secrets", is_flag=True, help="replace the values of Secrets by empty values")
@api_flags
def export(
    resources: Sequence[str],
    namespaces: Sequence[str],
    output: Path,
    format: str | None,
    status: bool,
    everything: bool,
    blank_secrets: bool,
    kubeconfig: Path | None,
    of: str,
) -> None:
    """Saves objects of any Kubernetes API in files, in the order in which `import` and kubectl have to create them.

    Without RESOURCE, it saves all resources. RESOURCE is a name as for kubectl: deployments, deploy, deployments.apps.
    Fields that a server sets, such as uid, resourceVersion and managedFields, are left out.
    """
    from gateway.transfer.export import ExportSelection, UnknownResource
    from gateway.transfer.export import export as write

    wanted = ExportSelection(resources, namespaces, status, everything, blank_secrets)
    with ExitStack() as stack:
        sink = _sink(output, format, stack)
        told = stack.enter_context(progress())
        try:
            exported = run_on_api(kubeconfig, of, partial(write, wanted=wanted, sink=sink, told=told))
        except UnknownResource as error:
            raise CommandFailed(str(error)) from None
        except OSError as error:
            raise CommandFailed(f"cannot write {output}: {error.strerror or error}") from None
    place = "standard output" if str(output) == "-" else output
    _say(exported.problems, f"{exported.count} objects written to {place}")


def _sink(output: Path, format: str | None, stack: ExitStack) -> ExportTarget:
    from gateway.transfer.documents import DirectorySink, StreamSink

    chosen = format or ("json" if output.suffix == ".json" else "yaml")
    if str(output) == "-":
        return StreamSink(sys.stdout.buffer, chosen)
    if output.is_dir() or not output.suffix:
        return DirectorySink(output, chosen)
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)  # the objects include Secrets
    except OSError as error:
        raise CommandFailed(f"cannot write {output}: {error.strerror}") from None
    return StreamSink(stack.enter_context(os.fdopen(descriptor, "wb")), chosen)


@click.command("import", short_help="create the objects of files in a Kubernetes API")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--create", is_flag=True, help="only create new objects (default: server-side apply)")
@click.option("--force-conflicts", is_flag=True, help="take over fields that other field managers own")
@click.option("--status", is_flag=True, help="also write the status of objects, if the file has it")
@click.option("--dry-run", is_flag=True, help="let the server check the objects, and write nothing")
@api_flags
def import_files(
    files: Sequence[Path],
    create: bool,
    force_conflicts: bool,
    status: bool,
    dry_run: bool,
    kubeconfig: Path | None,
    of: str,
) -> None:
    """Creates or updates the objects of FILES in any Kubernetes API. FILES are YAML or JSON files, directories, or -
    for standard input.

    The order is: namespaces, then CustomResourceDefinitions, then the other objects; those that others need come first.
    The command waits until each CustomResourceDefinition is established. At the end it prints a line for each object
    that failed; the exit status is then 1.
    """
    from gateway.transfer.documents import InvalidDocument, read_all
    from gateway.transfer.object_import import How, import_all

    try:
        objects = list(read_all(list(files)))
    except InvalidDocument as error:
        raise CommandFailed(str(error)) from None
    except OSError as error:
        raise CommandFailed(f"cannot read {error.filename}: {error.strerror or error}") from None
    how = How(create, force_conflicts, status, dry_run)
    with progress() as told:
        imported = run_on_api(kubeconfig, of, partial(import_all, objects=objects, how=how, told=told))
    done = f"{'would be ' if dry_run else ''}{'created' if create else 'applied'}"
    _say(imported.problems, f"{imported.count} objects {done}")


def _say(problems: Sequence[str], done: str) -> None:
    """Prints problems and the result on standard error. Raises click's Exit with status 1 if there were problems."""
    for problem in problems:
        click.echo(f"apiserver-gateway: {problem}", err=True)
    click.echo(done, err=True)
    if problems:
        raise click.exceptions.Exit(1)
