"""Throw-away API servers for tests: `with api_server() as api:`; pytest finds the fixtures of `plugin` by itself."""

from apiserver_gateway.testing.requests import Refused, ask, condition, install, namespace, wait_for
from apiserver_gateway.testing.server import ApiServer, ServerDidNotStart, api_server

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
