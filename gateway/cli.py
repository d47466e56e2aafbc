"""The command `apiserver-gateway`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from gateway.config import InvalidSettings
from gateway.flags import add_flags, settings_from


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="apiserver-gateway", description="A Kubernetes API server whose only database is etcd."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve the API", description="Serves the API over HTTPS.")
    add_flags(serve)
    serve.add_argument("--control-fd", type=int, help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    try:
        settings = settings_from(parsed, os.environ)
    except InvalidSettings as error:
        serve.error(str(error))
    from gateway.launch import LaunchError, launch

    try:
        return launch(settings, parsed.control_fd)
    except LaunchError as error:
        print(f"apiserver-gateway: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
