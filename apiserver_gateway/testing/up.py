"""`apiserver-gateway up -- COMMAND`: runs a command against a throw-away server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from apiserver_gateway.testing.server import ServerDidNotStart, api_server


def up(flags: Sequence[str], command: Sequence[str]) -> int:
    """Runs the command with KUBECONFIG set to a new server's; returns its exit status, as a shell would.

    The server, with `flags` of `serve`, is gone with all its data when the command has ended. 1 and a line on standard
    error where the server does not start; 127 where there is no such command.
    """
    try:
        with api_server(*flags) as server:
            environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "KUBERNETES_SERVER": server.url}
            try:
                process = subprocess.Popen(command, env=environment)
            except OSError as error:
                print(f"apiserver-gateway: {command[0]}: {error.strerror}", file=sys.stderr)
                return 127
            return _ended(process)
    except ServerDidNotStart as error:
        said = str(error).strip().splitlines()[-1].removeprefix("apiserver-gateway: ")
        print(f"apiserver-gateway: {said}", file=sys.stderr)
        return 1


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Waits for the command. Ctrl-C reaches it by itself, and SIGTERM is passed on, so that the server outlives it."""
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: process.terminate()),
    }
    try:
        status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status
