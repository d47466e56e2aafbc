"""`apiserver-gateway serve` for help and completion; `serving` has the code that runs."""

from __future__ import annotations

import click

from gateway.commands.help import ServeFlags
from gateway.commands.serving import serve


@click.command(cls=ServeFlags, short_help="serve the API")
def command(words: tuple[str, ...]) -> int:
    """Serves the API over HTTPS.

    Each flag is an environment variable too: --etcd-servers is APISERVER_GATEWAY_ETCD_SERVERS. The file of --config has
    flags' names as keys, and lists where a flag takes several values. The command line wins over the environment, that
    over the file, and that over the default.

    \b
    Examples:
      for development, with an etcd of its own:
        apiserver-gateway serve --embedded-etcd --kubeconfig-out=kubeconfig
      on an etcd with TLS:
        apiserver-gateway serve --etcd-servers=https://etcd:2379 \\
          --etcd-cafile=ca.crt --etcd-certfile=client.crt --etcd-keyfile=client.key
      one of several replicas behind a load balancer:
        apiserver-gateway serve --config=gateway.yaml \\
          --identity-key-file=identity.key --shutdown-delay-duration=5s
    """
    return serve(words)
