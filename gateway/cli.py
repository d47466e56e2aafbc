"""The command `apiserver-gateway`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from gateway.config import InvalidSettings
from gateway.flags import add_flags, settings_from


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with a command, and exits with 1 as for any other failure at start."""

    def error(self, message: str) -> NoReturn:
        self.exit(1, f"apiserver-gateway: {message}; see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    words, separator, command = _split(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    if words[:1] == ["up"] and separator:
        parsed, flags = parser.parse_known_args(words)
        return _up(parser, flags, command)
    parsed = parser.parse_args([*words, *separator, *command])
    match parsed.command:
        case "etcd":
            from gateway.etcd_install import run

            return run(parsed.version, parsed.sha256, parsed.releases)
        case "up":
            parser.error("up: say what to run: apiserver-gateway up [FLAGS] -- COMMAND")
        case "kubeconfig":
            from gateway.client_kubeconfig import run as write_kubeconfig

            return write_kubeconfig(parsed)
        case "envtest-assets":
            return _envtest_assets(parsed.directory)
    return _serve(parsed)


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """What is before `--`, that, and what is after it."""
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at : at + 1], words[at + 1 :]


def _up(parser: argparse.ArgumentParser, flags: list[str], command: list[str]) -> int:
    if not command:
        parser.error("up: say what to run after the --")
    from apiserver_gateway.testing.up import up

    return up(flags, command)


def _envtest_assets(directory: str) -> int:
    from gateway.envtest import assets
    from storage.embedded import EmbeddedEtcdError
    from storage.embedded.binary import cache_directory

    try:
        print(assets(Path(directory) if directory else cache_directory() / "envtest"))
    except (EmbeddedEtcdError, OSError) as error:
        print(f"apiserver-gateway: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="apiserver-gateway", description="A Kubernetes API server whose only database is etcd.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve the API", description="Serves the API over HTTPS.")
    add_flags(serve)
    serve.add_argument("--control-fd", type=int, help=argparse.SUPPRESS)
    serve.add_argument("--throw-away", help=argparse.SUPPRESS)  # a directory to remove with who started the server
    commands.add_parser(
        "up",
        help="run a command against a throw-away server",
        usage="%(prog)s [FLAGS OF serve] -- COMMAND [ARGUMENTS]",
        description="Runs a command with KUBECONFIG set to that of a new server, which is gone when the command ends.",
    )
    envtest = commands.add_parser(
        "envtest-assets",
        help="make a directory for KUBEBUILDER_ASSETS",
        description="Makes a directory with the programs that envtest starts, and prints its path.",
    )
    envtest.add_argument("directory", nargs="?", default="", help="the directory; one in the cache if not given")
    _add_kubeconfig(commands.add_parser)
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


def _add_kubeconfig(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    from gateway.client_kubeconfig import add_arguments

    add_arguments(
        add_parser(
            "kubeconfig",
            help="write a kubeconfig of a user with a client certificate",
            description="Signs a client certificate with a CA that the server trusts, and writes a kubeconfig with it.",
        )
    )


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
