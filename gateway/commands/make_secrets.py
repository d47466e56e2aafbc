"""`apiserver-gateway make-secrets`."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.commands.api_flags import api_flags, run_at
from gateway.commands.failing import CommandFailed

if TYPE_CHECKING:
    from gateway.access.remote import Place

TOKEN = "ADMIN_TOKEN"  # a variable and not a flag, as other users of the machine can see flags


@click.command(short_help="make CA, keys and administrator, as Secrets of a cluster")
@click.option("--name", required=True, metavar="NAME", help="what the Secrets' names begin with")
@click.option("--server", required=True, metavar="URL", help="the gateways' URL, for the administrator's kubeconfig")
@click.option("--ca/--no-ca", default=True, help="a CA that gateways sign their certificates with")
@click.option("--trusted-secret", default="", metavar="NAME", help="without it: the Secret whose ca.crt is trusted")
@click.option("--signing-key/--no-signing-key", default=True, help="a key that signs service accounts' tokens")
@click.option("--metrics-token/--no-metrics-token", default=False, help="a token that may read /metrics alone")
@click.option("--etcd", default="", metavar="NAME", help="certificates for an etcd whose members are NAME-0 and so on")
@click.option("--etcd-domain", default="", metavar="DOMAIN", help="the domain of the members")
@click.option(
    "--etcd-members", type=click.IntRange(1), metavar="N", help="how many members; what was first given stays"
)
@click.option("--days", type=click.IntRange(1, 36500), default=3650, metavar="N", help="how long certificates are good")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="a label of the Secrets")
@click.option("--namespace", default="", metavar="NAME", help="where; the pod's own, or default")
@click.option(
    "--in-cluster",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="use the service account of this pod, whose token, ca.crt and namespace are in DIR",
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
    """Has a cluster hold what gateways share: a CA, the key that signs tokens, an administrator's token and kubeconfig,
    and the certificates of an etcd. What is there stays; ADMIN_TOKEN is a token to use instead of a new one.
    """
    from gateway.commands.shared_secrets import Namespace, Wanted, make

    if unpaired := [each for each in labels if "=" not in each]:
        raise CommandFailed(f"--label {unpaired[0]}: it is not KEY=VALUE")
    if etcd and not etcd_domain:
        raise CommandFailed("--etcd wants --etcd-domain")
    token, validity = os.environ.get(TOKEN, ""), timedelta(days=days)
    wanted = Wanted(
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
        raise CommandFailed(f"what a Secret holds cannot be used: {error}") from None


def _place(in_cluster: Path | None, kubeconfig: Path | None, context: str) -> tuple[Place, str]:
    """The cluster's URL and credentials, and the namespace to use without --namespace. Raises CommandFailed."""
    from gateway.transfer.in_cluster import own_place
    from gateway.transfer.kubeconfig import NoCluster, find_place

    try:
        if in_cluster is not None:
            return own_place(in_cluster, os.environ)
        return find_place(kubeconfig, context, os.environ), "default"
    except NoCluster as error:
        raise CommandFailed(str(error)) from None
