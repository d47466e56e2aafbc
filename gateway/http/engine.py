"""Imports uvicorn's modules without its command line. `import uvicorn` would also import click and multiprocessing.

A placeholder stands for the package, and modules are imported below it. The package itself is run at the first use of
another of its names.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any


def _begin() -> None:
    """Puts a placeholder for the package into sys.modules, without running the package."""
    spec = importlib.util.find_spec("uvicorn")
    if "uvicorn" in sys.modules or spec is None or spec.loader is None:
        return
    package, loader = importlib.util.module_from_spec(spec), spec.loader
    sys.modules["uvicorn"] = package

    def finished(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        del vars(package)["__getattr__"]
        loader.exec_module(package)
        return getattr(package, name)

    vars(package)["__getattr__"] = finished
    vars(package)["Config"] = importlib.import_module("uvicorn.config").Config  # uvicorn.lifespan imports it from here


_begin()

from uvicorn.config import Config  # noqa: E402
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle  # noqa: E402
from uvicorn.protocols.utils import get_local_addr, get_remote_addr  # noqa: E402
from uvicorn.server import Server, ServerState  # noqa: E402

__all__ = [
    "STATUS_LINE",
    "Config",
    "HttpToolsProtocol",
    "RequestResponseCycle",
    "Server",
    "ServerState",
    "get_local_addr",
    "get_remote_addr",
]
