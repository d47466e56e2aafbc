"""Python programs of this package that run as processes of their own."""

from __future__ import annotations

import sys


def command(module: str) -> tuple[str, ...]:
    """What runs a module with this process's own path, whatever directory and environment it is run in."""
    return sys.executable, "-I", "-c", _RUN, module, *sys.path


_RUN = "import sys; m, *sys.path = sys.argv[1:]; del sys.argv[1:]; import runpy; runpy.run_module(m, None, '__main__')"
