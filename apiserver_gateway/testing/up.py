"""`apiserver-gateway up -- COMMAND`: runs a command against a throw-away server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from apiserver_gateway.testing.server import ApiServer, ServerDidNotStart, api_server


def up(flags: Sequence[str], command: Sequence[str], faults: str = "", pool: int = 0) -> int:
    """Runs the command with KUBECONFIG set to a new server's; returns its exit status, as a shell would.

    With `pool` there are so many servers: KUBECONFIG_1 and KUBERNETES_SERVER_1 are of the first, and so on. Without a
    command that is printed, a line each, and they are there until standard input ends.

    `faults` is a YAML file of what goes wrong meanwhile. 1 and a line on standard error where it can't be read.

    The server, with `flags` of `serve`, is gone with all its data when the command has ended. 1 and a line on standard
    error where the server does not start; 127 where there is no such command.
    """
    from apiserver_gateway.testing.faults import faults_in
    from apiserver_gateway.testing.requests import Refused

    try:
        ordered = faults_in(faults) if faults else []
        with _servers(flags, pool) as servers:
            for server in servers:
                for each in ordered:
                    server.faults.order(each)
            environment = _environment(servers, pool)
            if not command:
                return _printed(environment)
            try:
                process = subprocess.Popen(command, env={**os.environ, **environment})
            except OSError as error:
                print(f"apiserver-gateway: {command[0]}: {error.strerror}", file=sys.stderr)
                return 127
            return _ended(process)
    except (ValueError, OSError, Refused) as error:
        said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
        print(f"apiserver-gateway: --faults: {said}", file=sys.stderr)
        return 1
    except ServerDidNotStart as error:
        said = str(error).strip().splitlines()[-1].removeprefix("apiserver-gateway: ")
        print(f"apiserver-gateway: {said}", file=sys.stderr)
        return 1


@contextmanager
def _servers(flags: Sequence[str], pool: int) -> Iterator[list[ApiServer]]:
    with ExitStack() as stack:
        if not pool:
            yield [stack.enter_context(api_server(*flags))]
            return
        from apiserver_gateway.testing.pool import Pool

        shared = stack.enter_context(Pool(*flags, ahead=0))
        shared.order(pool)
        yield [stack.enter_context(shared.server()) for _ in range(pool)]


def _environment(servers: Sequence[ApiServer], pool: int) -> dict[str, str]:
    named = {"KUBECONFIG": str(servers[0].kubeconfig), "KUBERNETES_SERVER": servers[0].url}
    for number, server in enumerate(servers if pool else (), 1):
        named |= {f"KUBECONFIG_{number}": str(server.kubeconfig), f"KUBERNETES_SERVER_{number}": server.url}
    return named


def _printed(environment: Mapping[str, str]) -> int:
    """Tells who started this where the servers are, and waits until it is gone, or says that it needs them no more."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for name, value in environment.items():
        print(f"{name}={value}")
    print(flush=True)
    while os.read(0, 4096):
        pass
    return 0


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
