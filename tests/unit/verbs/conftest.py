"""A gateway without server or etcd: the verbs run on a store in memory."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.access.authorization import AlwaysAllow, require
from gateway.access.rbac.policy import RbacPolicy
from gateway.endpoints.caches import Caches
from gateway.endpoints.services import Services
from gateway.endpoints.table import EndpointTable
from gateway.http.exchange import Request
from gateway.http.request_info import request_info
from gateway.http.user import User
from gateway.jsontypes import dumps, loads
from gateway.kinds.attributes import Attributes
from gateway.kinds.builtin import builtin_registry
from gateway.release.minors import DEFAULT
from gateway.release.release import release_of
from gateway.settings.config import Settings
from gateway.verbs import verb_for
from gateway.writing.hooks import create_own, hooks_for
from storage.store import Stores
from tests.unit.admission.parts import parts_on
from tests.unit.verbs.fake_store import FakeStore

NAMESPACE = {
    "kind": "Namespace",
    "apiVersion": "v1",
    "metadata": {"uid": "n", "name": "default"},
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}


_directory = tempfile.TemporaryDirectory(prefix="certificates-")  # removed when the process ends
CERTIFICATES = Path(_directory.name)  # takes a key where tokens are signed
ADMIN = User("admin", ("system:masters", "system:authenticated"))


class Api:
    """Sends requests to the verbs of a gateway in memory."""

    def __init__(self, minor: str = DEFAULT, plugins: frozenset[str] = frozenset()) -> None:
        registry = builtin_registry(release=release_of(minor=minor))
        self.store = FakeStore()
        settings = Settings(
            enable_admission_plugins=plugins,
            disable_admission_plugins=frozenset({"ServiceAccount"}),
            cert_dir=CERTIFICATES,
        )
        store: Any = self.store
        client: Any = None
        services: Any = SimpleNamespace(
            settings=settings,
            store=store,
            stores=Stores(store),
            databases=(None,),
            database=SimpleNamespace(store=store),
            apart={},
            room=None,
            authorizer=AlwaysAllow(),
            policy=RbacPolicy(),
            admission=parts_on(
                store,
                registry,
                enabled=settings.enable_admission_plugins,
                disabled=settings.disable_admission_plugins,
                minor=minor,
            ),
        )
        services.shown_key = partial(Services.shown_key, services)
        self.endpoints = EndpointTable(registry, Caches(registry, store.cache, client), services, hooks_for, create_own)
        self.warnings: list[str] = []
        self.store._put(b"/registry/namespaces/default", dumps(NAMESPACE))

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        query: str = "",
        user: User = ADMIN,
    ) -> tuple[int, Any]:
        """Returns the status and the decoded body. Raises StatusError. Authorization is checked, too."""
        data = body if isinstance(body, bytes) else b"" if body is None else dumps(body)

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": data}

        request = Request(method, path, query.encode(), {b"content-type": content_type.encode()}, receive)
        request.info = info = request_info(method, path, request.query)
        request.user = user
        await require(self.endpoints.services.authorizer, Attributes(user, info))
        endpoint = self.endpoints.of(info.group, info.version, info.resource, info.subresource)
        response = await verb_for(info.verb, endpoint.resource)(endpoint, request)
        self.warnings = request.warnings
        assert isinstance(response.body, bytes)
        assert response.body.endswith(b"\n")
        return response.status, loads(response.body)


@pytest.fixture
def api() -> Api:
    return Api()
