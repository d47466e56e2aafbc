"""Throw-away API servers for tests: `with api_server() as api:`; `gateway.testing.plugin` has pytest fixtures."""

from gateway.testing.requests import Refused, ask, condition, install, namespace, wait_for
from gateway.testing.server import ApiServer, ServerDidNotStart, api_server

__all__ = [
    "ApiServer",
    "Refused",
    "ServerDidNotStart",
    "api_server",
    "ask",
    "condition",
    "install",
    "namespace",
    "wait_for",
]
