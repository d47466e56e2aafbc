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
    parsed = _parser().parse_args(arguments)
    if parsed.command == "etcd":
        from gateway.etcd_install import run

        return run(parsed.version, parsed.sha256, parsed.releases)
    return _serve(parsed)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="apiserver-gateway", description="A Kubernetes API server whose only database is etcd.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve the API", description="Serves the API over HTTPS.")
    add_flags(serve)
    serve.add_argument("--control-fd", type=int, help=argparse.SUPPRESS)
    serve.add_argument("--throw-away", help=argparse.SUPPRESS)  # a directory to remove with who started the server
    etcd = commands.add_parser("etcd", help="get an etcd for --embedded-etcd")
    actions = etcd.add_subparsers(dest="action", required=True, metavar="COMMAND")
    install = actions.add_parser(
        "install",
        help="download a release",
        description="Downloads a release of etcd, checks its digest, and puts it where --embedded-etcd looks for one.",
    )
    install.add_argument("--version", default="", help="the release; the one this was tested with if not given")
    install.add_argument("--sha256", default="", help="the archive's digest; else that of the release's SHA256SUMS")
    install.add_argument("--releases", default="", metavar="URL", help="a mirror of etcd's releases on GitHub")
    return parser


def _serve(parsed: argparse.Namespace) -> int:
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
