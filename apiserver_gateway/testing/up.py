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
    """Starts a server with `flags` of `serve`, and runs a command with its KUBECONFIG.

    Returns the command's exit status as a shell would. At the end the server is removed with all its data.

    With `pool` there are so many servers. KUBECONFIG_1 and KUBERNETES_SERVER_1 are for the first, and so on. Without a
    command these variables are printed, and the servers run until standard input ends.

    `faults` is a YAML file with faults for the servers.

    The exit status is 1, with a line on standard error, if the server does not start or the faults are invalid. It is
    127 if the command does not exist.
    """
    from apiserver_gateway.testing.faults import faults_in
    from apiserver_gateway.testing.requests import Refused

    try:
        ordered = faults_in(faults) if faults else []
    except (ValueError, OSError) as error:
        return _failed(f"--faults: {_text_of(error)}")
    try:
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
    except Refused as error:
        return _failed(f"--faults: {error}")
    except OSError as error:
        return _failed(_text_of(error))
    except ServerDidNotStart as error:
        return _failed(str(error).strip().splitlines()[-1].removeprefix("apiserver-gateway: "))


def _failed(text: str) -> int:
    """Prints a line on standard error. Returns exit status 1."""
    print(f"apiserver-gateway: {text}", file=sys.stderr)
    return 1


def _text_of(error: Exception) -> str:
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)


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
    """Prints the variables for the process that started this one. Returns 0 once that closes standard input."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for name, value in environment.items():
        print(f"{name}={value}")
    print(flush=True)
    while os.read(0, 4096):
        pass
    return 0


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Waits for the command; returns its exit status.

    This process ignores Ctrl-C, which the command gets too, and passes SIGTERM on to the command. So the server runs
    until the command has ended.
    """
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
