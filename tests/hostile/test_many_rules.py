"""One write that very many rules judge: LimitRanges of its namespace, match conditions of webhooks."""

from __future__ import annotations

from typing import Any

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import held_at_most
from tests.integration.server.client import ask

HELD = 0.1  # seconds
RANGES, NAMES, CONTAINERS = 300, 10, 20
WEBHOOKS, CONDITIONS = 50, 16
HOOKS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
CONDITION = "object.data.all(k, object.data[k].size() != {})"


def test_many_limit_ranges_hold_nobody(server: ApiServer) -> None:
    """Each may compare 20 000 quantities: the sum has no bound, so other requests run in between."""
    assert ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "ranges"}}).status == 201
    place = "/api/v1/namespaces/ranges"
    limit = {"type": "Container", "max": {f"example.com/r{n}": "9" for n in range(NAMES)}}
    for number in range(RANGES):
        body: dict[str, Any] = {"metadata": {"name": f"r{number}"}, "spec": {"limits": [limit]}}
        assert ask(server, "POST", f"{place}/limitranges", body).status == 201
    containers = [
        {"name": f"c{n}", "image": "a", "resources": {"limits": {f"example.com/r{n}": "1" for n in range(NAMES)}}}
        for n in range(CONTAINERS)
    ]
    pod = {"metadata": {"name": "a"}, "spec": {"containers": containers}}
    with held_at_most(server, HELD):
        assert ask(server, "POST", f"{place}/pods?dryRun=All", pod).status in (201, 403)


def test_many_webhooks_with_match_conditions_hold_nobody(server: ApiServer) -> None:
    """The conditions of each webhook have a budget of their own."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    conditions = [{"name": f"c{n}", "expression": CONDITION.format(10_000 + n)} for n in range(CONDITIONS)]
    webhooks = [
        {
            "name": f"w{n}.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [rule],
            "matchConditions": [*conditions, {"name": "never", "expression": "false"}],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        for n in range(WEBHOOKS)
    ]
    for sort in ("mutating", "validating"):
        made = {"metadata": {"name": "many"}, "webhooks": webhooks}
        assert ask(server, "POST", HOOKS.format(sort), made).status == 201
    body = {"metadata": {"name": "a"}, "data": {f"k{n}": "v" for n in range(200)}}
    maps = "/api/v1/namespaces/default/configmaps?dryRun=All"
    assert ask(server, "POST", maps, {"metadata": {"name": "a"}}).status == 201  # compiles the conditions
    with held_at_most(server, HELD):
        assert ask(server, "POST", maps, body).status == 201
    for sort in ("mutating", "validating"):
        assert ask(server, "DELETE", f"{HOOKS.format(sort)}/many").status == 200
