"""A gateway without server or etcd: the verbs run on a store in memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.access.authorization import AuthenticatedOnly
from gateway.access.user import User
from gateway.config import Settings
from gateway.http.exchange import Request
from gateway.http.request_info import request_info
from gateway.jsontypes import dumps, loads
from gateway.kinds.builtin import builtin_registry
from gateway.verbs import verb_for
from tests.unit.verbs.fake_store import FakeStore

NAMESPACE = {
    "kind": "Namespace",
    "apiVersion": "v1",
    "metadata": {"uid": "n", "name": "default"},
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}


class Api:
    """Sends requests to the verbs of a gateway in memory."""

    def __init__(self) -> None:
        registry = builtin_registry()
        self.store = FakeStore()
        settings = Settings(disable_admission_plugins=frozenset({"ServiceAccount"}))
        self.gateway: Any = SimpleNamespace(
            settings=settings,
            resources=registry.resources,
            registry=registry,
            store=self.store,
            scopes={},
            authorizer=AuthenticatedOnly(),
        )
        self.warnings: list[str] = []
        self.store._put(b"/registry/namespaces/default", dumps(NAMESPACE))

    async def send(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", query: str = ""
    ) -> tuple[int, Any]:
        """The status and the decoded body; raises StatusError."""
        data = body if isinstance(body, bytes) else b"" if body is None else dumps(body)

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": data}

        request = Request(method, path, query.encode(), {b"content-type": content_type.encode()}, receive)
        request.info = info = request_info(method, path, request.query)
        request.user = User("admin", ("system:masters", "system:authenticated"))
        resource = self.gateway.resources[info.group, info.version, info.resource, info.subresource]
        verb = verb_for(info.verb, resource.qualified, resource.subresource)
        response = await verb(self.gateway, request, resource)
        self.warnings = request.warnings
        assert isinstance(response.body, bytes)
        return response.status, loads(response.body)


@pytest.fixture
def api() -> Api:
    return Api()
