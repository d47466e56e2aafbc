"""One write that a policy judges whose binding selects parameters among very many."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import held_at_most
from tests.integration.server.client import ask

HELD = 0.1  # seconds
PARAMETERS = 3000
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
POLICY, BINDING = f"{ADMISSION}/validatingadmissionpolicies", f"{ADMISSION}/validatingadmissionpolicybindings"
MAPS = "/api/v1/namespaces/{}/configmaps"


def test_many_parameters_hold_nobody(server: ApiServer) -> None:
    """All that a selector matches are parsed at the first write."""
    assert ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "parameters"}}).status == 201
    maps = MAPS.format("parameters")

    def make(number: int) -> int:
        data = {f"k{n}": "v" * 20 for n in range(150)}
        made = {"metadata": {"name": f"p{number}", "labels": {"n": str(number)}}, "data": data}
        return ask(server, "POST", maps, made).status

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(make, range(PARAMETERS))) == {201}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}
    spec: dict[str, Any] = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "params.data.size() > 0"}],
    }
    ref = {"selector": {}, "parameterNotFoundAction": "Deny", "namespace": "parameters"}
    assert ask(server, "POST", POLICY, {"metadata": {"name": "many"}, "spec": spec}).status == 201
    bound = {"policyName": "many", "validationActions": ["Deny"], "paramRef": ref}
    assert ask(server, "POST", BINDING, {"metadata": {"name": "many"}, "spec": bound}).status == 201
    with held_at_most(server, HELD):
        found = ask(server, "POST", "/api/v1/namespaces/default/secrets?dryRun=All", {"metadata": {"name": "a"}})
        assert found.status == 201, found.json
    for path in (BINDING, POLICY):
        assert ask(server, "DELETE", f"{path}/many").status == 200
