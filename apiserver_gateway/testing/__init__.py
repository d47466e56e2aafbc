"""Throw-away API servers for tests: `with api_server() as api:`. pytest finds the fixtures of `plugin` by itself.

`aio` has the same functions for asyncio, `cases` a test case of unittest, and `containers` a server in a container.
"""

from apiserver_gateway.testing.clusters import Cluster
from apiserver_gateway.testing.definitions import install
from apiserver_gateway.testing.requests import Refused, ask, namespace
from apiserver_gateway.testing.server import ApiServer, ServerDidNotStart, api_server
from apiserver_gateway.testing.state import Snapshot, User, advance_clock, load, restore, restored, save, snapshot, user
from apiserver_gateway.testing.waiting import condition, wait_for
from apiserver_gateway.testing.webhooks import Webhook, webhook

__all__ = [
    "ApiServer",
    "Cluster",
    "Refused",
    "ServerDidNotStart",
    "Snapshot",
    "User",
    "Webhook",
    "advance_clock",
    "api_server",
    "ask",
    "condition",
    "install",
    "load",
    "namespace",
    "restore",
    "restored",
    "save",
    "snapshot",
    "user",
    "wait_for",
    "webhook",
]
