"""Throw-away API servers for tests: `with api_server() as api:`; `gateway.testing.plugin` has pytest fixtures."""

from gateway.testing.server import ApiServer, ServerDidNotStart, api_server

__all__ = ["ApiServer", "ServerDidNotStart", "api_server"]
