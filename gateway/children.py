"""Python programs of this package that run as processes of their own."""

from __future__ import annotations

import sys


def command(module: str) -> tuple[str, ...]:
    """The command line that runs a module with the sys.path of this process, in any directory and environment."""
    return sys.executable, "-I", "-c", _RUN, module, *sys.path


_RUN = "import sys; m, *sys.path = sys.argv[1:]; del sys.argv[1:]; import runpy; runpy.run_module(m, None, '__main__')"
