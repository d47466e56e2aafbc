"""Where the server's modules are, and the command that runs them whatever the caller has on its path."""

from __future__ import annotations

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # pathlib is not needed for a start
_INSTALLED = os.path.join(_HERE, "_server")  # noqa: PTH118  # an installed wheel has them here, a repository beside


def command(*words: str) -> list[str]:
    """What runs `apiserver-gateway WORDS`: its Python ignores the caller's directory and PYTHONPATH."""
    return [sys.executable, "-I", os.path.join(_HERE, "__main__.py"), *words]  # noqa: PTH118


def prepare() -> None:
    """Puts the server's modules first on this process's path."""
    above = os.path.dirname(_HERE)  # noqa: PTH120
    sys.path.insert(0, _INSTALLED if os.path.isdir(_INSTALLED) else above)  # noqa: PTH112
    if above not in sys.path:
        sys.path.append(above)
