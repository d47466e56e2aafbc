"""CRDs for tests, and a function that waits until they are served."""

from __future__ import annotations

from typing import Any

from apiserver_gateway.testing import ApiServer
from tests.integration.server.client import ask
from tests.until import until

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = {"Content-Type": "application/merge-patch+json"}


def version(name: str = "v1", properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties or {"spec": {"type": "object"}}}
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **more}


def definition(group: str, *versions: dict[str, Any], plural: str = "widgets", **more: Any) -> dict[str, Any]:
    kind = plural.removesuffix("s").capitalize()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": list(versions) or [version()],
            **more,
        },
    }


def conditions(server: ApiServer, name: str) -> dict[str, str]:
    status = ask(server, "GET", f"{DEFINITIONS}/{name}").json.get("status") or {}
    return {one["type"]: one["status"] for one in status.get("conditions") or ()}


def establish(server: ApiServer, wanted: dict[str, Any]) -> str:
    """Creates a CRD and waits until it is Established. Returns its name."""
    answer = ask(server, "POST", DEFINITIONS, wanted)
    assert answer.status == 201, answer.body
    name: str = wanted["metadata"]["name"]
    until(lambda: conditions(server, name).get("Established") == "True")
    return name
