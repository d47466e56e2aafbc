"""The program `apiserver-gateway`. `python -m apiserver_gateway` runs it too, and so does the path of this file."""

from __future__ import annotations

import contextlib
import os
import sys


def main() -> None:
    """Runs the command of the arguments, and ends the process with its exit status."""
    try:
        status = _run()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1 if end.code else 0
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except KeyboardInterrupt:
        status = 130  # 128 + SIGINT, as in shells; no message, since the user has pressed Ctrl-C
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)  # everything is closed; to free each object of a server would double the time


def _run() -> int:
    if not __package__:  # run by its path
        sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    from apiserver_gateway.program import prepare

    prepare()
    if sys.argv[1:2] == ["kube-apiserver"]:
        from gateway.commands.kube_apiserver import main as run_as_kube_apiserver

        return run_as_kube_apiserver(sys.argv[2:])
    from gateway.commands.cli import main as run

    return run()


if __name__ == "__main__":
    main()
