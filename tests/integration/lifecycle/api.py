"""Short helpers for requests of the tests in this folder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from apiserver_gateway.testing import ApiServer
from tests.integration.server.client import Answer, ask
from tests.until import until


class Api:
    """The ConfigMaps and Secrets of one namespace on a server."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        self.server, self.namespace = server, namespace

    def begin(self) -> Api:
        """Creates the namespace."""
        made = self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        assert made.status == 201, made.body
        return self

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        return ask(self.server, method, path, body, **more)

    def has_account(self) -> None:
        """Waits until a controller has created the default service account, which pods need."""
        until(lambda: self.get("default", "serviceaccounts"))

    def path(self, name: str = "", resource: str = "configmaps") -> str:
        tail = f"/{name}" if name else ""
        return f"/api/v1/namespaces/{self.namespace}/{resource}{tail}"

    def create(
        self, name: str, owners: Iterable[Any] = (), resource: str = "configmaps", **metadata: Any
    ) -> dict[str, Any]:
        """Creates an object. `owners` are objects, or pairs of an object and the value of blockOwnerDeletion."""
        references = [reference(*each) if isinstance(each, tuple) else reference(each) for each in owners]
        meta = {"name": name, **({"ownerReferences": references} if references else {}), **metadata}
        answer = self.ask("POST", self.path(resource=resource), {"metadata": meta})
        assert answer.status == 201, answer.body
        made: dict[str, Any] = answer.json
        return made

    def get(self, name: str, resource: str = "configmaps") -> dict[str, Any] | None:
        answer = self.ask("GET", self.path(name, resource))
        return None if answer.status == 404 else answer.json

    def names(self, resource: str = "configmaps") -> set[str]:
        items = self.ask("GET", self.path(resource=resource)).json["items"]
        return {each["metadata"]["name"] for each in items} - {"kube-root-ca.crt"}

    def delete(self, name: str, policy: str = "", resource: str = "configmaps") -> Answer:
        query = f"?propagationPolicy={policy}" if policy else ""
        return self.ask("DELETE", self.path(name, resource) + query)

    def patch(self, name: str, metadata: dict[str, Any], resource: str = "configmaps") -> Answer:
        headers = {"Content-Type": "application/merge-patch+json"}
        return self.ask("PATCH", self.path(name, resource), {"metadata": metadata}, headers=headers)


def reference(owner: dict[str, Any], blocks: bool = False) -> dict[str, Any]:
    """An owner reference to an object."""
    meta = owner["metadata"]
    kind, version = owner["kind"], owner["apiVersion"]
    block = {"blockOwnerDeletion": True} if blocks else {}
    return {"apiVersion": version, "kind": kind, "name": meta["name"], "uid": meta["uid"], **block}
