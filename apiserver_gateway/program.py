"""The path of the server's modules, and the command that runs them, independent of the caller's module path."""

from __future__ import annotations

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # pathlib is not needed for a start
_INSTALLED = os.path.join(_HERE, "_server")  # noqa: PTH118  # of an installed wheel; a repository has them beside this package


def command(*words: str) -> list[str]:
    """The command line for `apiserver-gateway WORDS`. Its Python ignores the caller's directory and PYTHONPATH (-I)."""
    return [sys.executable, "-I", os.path.join(_HERE, "__main__.py"), *words]  # noqa: PTH118


def prepare() -> None:
    """Puts the server's modules first on this process's path."""
    above = os.path.dirname(_HERE)  # noqa: PTH120
    sys.path.insert(0, _INSTALLED if os.path.isdir(_INSTALLED) else above)  # noqa: PTH112
    if above not in sys.path:
        sys.path.append(above)
