"""`apiserver-gateway serve` for help and completion; `serving` has the code that runs."""

from __future__ import annotations

import click

from gateway.commands.help import ServeFlags
from gateway.commands.serving import serve


@click.command(cls=ServeFlags, short_help="start the API server")
def command(words: tuple[str, ...]) -> int:
    """Starts the API server. It serves the API over HTTPS.

    Each flag is also an environment variable: --etcd-servers is APISERVER_GATEWAY_ETCD_SERVERS. The YAML file of
    --config has the names of flags as keys; a flag with several values has a list. A flag on the command line wins over
    the environment variable, and the variable over the file.

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
