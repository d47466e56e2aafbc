"""The writes that quotas are asked about."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.admission.plugins.resource_quota import PLUGIN
from gateway.kinds.attributes import Operation

CREATE, UPDATE, DELETE, CONNECT = Operation.CREATE, Operation.UPDATE, Operation.DELETE, Operation.CONNECT


@pytest.mark.parametrize(
    ("group", "resource", "namespaced", "operation", "handled"),
    [
        ("", "pods", True, CREATE, True),
        ("", "pods", True, UPDATE, True),
        ("", "pods", True, DELETE, False),
        ("", "pods", True, CONNECT, False),
        ("", "pods/resize", True, UPDATE, True),
        ("", "pods/status", True, UPDATE, False),
        ("", "persistentvolumeclaims/status", True, UPDATE, True),
        ("", "services/status", True, UPDATE, False),
        ("example.com", "pods/resize", True, UPDATE, False),
        ("", "events", True, CREATE, False),
        ("", "nodes", False, CREATE, False),
        ("example.com", "widgets", True, CREATE, True),
        ("example.com", "widgets", False, CREATE, False),
    ],
)
def test_quotas_limit_creates_and_updates_in_namespaces(
    group: str, resource: str, namespaced: bool, operation: Operation, handled: bool
) -> None:
    """Of subresources, only those that may use more."""
    name, _, subresource = resource.partition("/")
    served: Any = SimpleNamespace(group=group, resource=name, subresource=subresource, namespaced=namespaced)
    assert PLUGIN.handles(served, operation) is handled
