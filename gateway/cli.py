"""The command `apiserver-gateway`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from gateway.config import InvalidSettings
from gateway.flags import add_flags, settings_from


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with a command, and exits with 1 as for any other failure at start."""

    def error(self, message: str) -> NoReturn:
        self.exit(1, f"apiserver-gateway: {message}; see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = _Parser(prog="apiserver-gateway", description="A Kubernetes API server whose only database is etcd.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve the API", description="Serves the API over HTTPS.")
    add_flags(serve)
    serve.add_argument("--control-fd", type=int, help=argparse.SUPPRESS)
    serve.add_argument("--throw-away", help=argparse.SUPPRESS)  # a directory to remove with who started the server
    parsed = parser.parse_args(arguments)
    try:
        settings = settings_from(parsed, os.environ)
    except InvalidSettings as error:
        print(f"apiserver-gateway: {error}", file=sys.stderr)
        return 1
    from gateway.launch import LaunchError, launch

    try:
        return launch(settings, parsed.control_fd, parsed.throw_away)
    except (InvalidSettings, LaunchError) as error:
        print(f"apiserver-gateway: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
