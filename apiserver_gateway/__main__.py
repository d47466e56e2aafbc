"""The program `apiserver-gateway`; `python -m apiserver_gateway`, and this file run by its path, are the same."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs the command that the arguments say; returns its exit status."""
    if not __package__:  # run by its path
        sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    from apiserver_gateway.program import prepare

    prepare()
    if sys.argv[1:2] == ["kube-apiserver"]:
        from gateway.kube_apiserver import main as run_as_kube_apiserver

        return run_as_kube_apiserver(sys.argv[2:])
    from gateway.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
