"""The node authorizer judges nodes alone."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.access.authorization import NO_OPINION, Decision
from gateway.access.nodes.authorizer import NodeAuthorizer
from gateway.http.request_info import request_info
from gateway.http.user import User
from gateway.kinds.attributes import Attributes

GRAPH: Any = None  # not used: decisions about leases need no graph
NODES = ("system:nodes",)
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a"


@pytest.mark.parametrize(
    ("user", "judged", "allowed"),
    [
        (User("system:node:a", NODES), True, True),
        (User("system:node:b", NODES), True, False),  # it is the lease of another
        (User("system:node:a", ("devs",)), False, False),
        (User("ada", NODES), False, False),
        (User("ada", ()), False, False),
    ],
)
async def test_nodes_alone_are_judged_and_each_has_its_lease(user: User, judged: bool, allowed: bool) -> None:
    authorizer = NodeAuthorizer(GRAPH, (), lambda feature: True)
    attributes = Attributes(user, request_info("GET", LEASE, {}))
    assert (authorizer.known(attributes) is None) is judged
    verdict = await authorizer.authorize(attributes)
    assert (verdict.decision is Decision.ALLOW) is allowed
    assert judged or verdict is NO_OPINION
