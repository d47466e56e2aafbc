"""`apiserver-gateway make-secrets`."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.commands.api_flags import api_flags, run_at
from gateway.commands.command_failed import CommandFailed

if TYPE_CHECKING:
    from gateway.access.remote import RemoteService

TOKEN = "ADMIN_TOKEN"  # a variable and not a flag, as other users of the machine can see flags


@click.command(short_help="create the Secrets that API servers in a cluster share")
@click.option("--name", required=True, metavar="NAME", help="first part of the Secrets' names")
@click.option(
    "--server", required=True, metavar="URL", help="URL of the API servers, for the administrator's kubeconfig"
)
@click.option("--ca/--no-ca", default=True, help="create a CA that signs the API servers' certificates")
@click.option(
    "--trusted-secret", default="", metavar="NAME", help="with --no-ca: Secret whose ca.crt the kubeconfig trusts"
)
@click.option("--signing-key/--no-signing-key", default=True, help="create the key that signs service account tokens")
@click.option("--metrics-token/--no-metrics-token", default=False, help="create a token that may only read /metrics")
@click.option("--etcd", default="", metavar="NAME", help="create certificates for etcd members NAME-0, NAME-1, ...")
@click.option("--etcd-domain", default="", metavar="DOMAIN", help="DNS domain of the etcd members")
@click.option(
    "--etcd-members", type=click.IntRange(1), metavar="N", help="number of etcd members; it cannot be changed later"
)
@click.option(
    "--days", type=click.IntRange(1, 36500), default=3650, metavar="N", help="how long the certificates are valid"
)
@click.option(
    "--label", "labels", multiple=True, metavar="KEY=VALUE", help="label of the Secrets; repeat the flag for more"
)
@click.option(
    "--namespace",
    default="",
    metavar="NAME",
    help="namespace of the Secrets (default: the pod's namespace, or default)",
)
@click.option(
    "--in-cluster",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="connect as the service account of this pod; DIR has its token, ca.crt and namespace",
)
@api_flags
def command(
    name: str,
    server: str,
    ca: bool,
    trusted_secret: str,
    signing_key: bool,
    metrics_token: bool,
    etcd: str,
    etcd_domain: str,
    etcd_members: int | None,
    days: int,
    labels: tuple[str, ...],
    namespace: str,
    in_cluster: Path | None,
    kubeconfig: Path | None,
    of: str,
) -> None:
    """Creates Secrets in a Kubernetes cluster, for API servers that run there: a CA, the key that signs service account
    tokens, an administrator's token and kubeconfig, and certificates for etcd.

    Secrets that exist are kept. The administrator's token is random, unless the environment variable ADMIN_TOKEN has
    one.
    """
    from gateway.commands.shared_secrets import Namespace, WantedSecrets, make

    if unpaired := [each for each in labels if "=" not in each]:
        raise CommandFailed(f"--label {unpaired[0]}: give KEY=VALUE")
    if etcd and not etcd_domain:
        raise CommandFailed("--etcd needs --etcd-domain: add it")
    token, validity = os.environ.get(TOKEN, ""), timedelta(days=days)
    wanted = WantedSecrets(
        name,
        server,
        token,
        ca,
        signing_key,
        trusted_secret,
        etcd,
        etcd_domain,
        validity,
        metrics=metrics_token,
        etcd_members=etcd_members,
    )
    place, own = _place(in_cluster, kubeconfig, of)
    labelled = dict(each.split("=", 1) for each in labels)
    try:
        run_at(place, lambda cluster: make(wanted, Namespace(cluster, namespace or own, labelled)))
    except ValueError as error:
        raise CommandFailed(f"the content of a Secret cannot be used: {error}") from None


def _place(in_cluster: Path | None, kubeconfig: Path | None, context: str) -> tuple[RemoteService, str]:
    """The cluster's URL and credentials, and the namespace to use without --namespace. Raises CommandFailed."""
    from gateway.transfer.in_cluster import own_place
    from gateway.transfer.kubeconfig import NoCluster, find_place

    try:
        if in_cluster is not None:
            return own_place(in_cluster, os.environ)
        return find_place(kubeconfig, context, os.environ), "default"
    except NoCluster as error:
        raise CommandFailed(str(error)) from None
