"""A service account for measured clients, so that priority and fairness count them like operators.

An administrator (system:masters) is exempt.
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from typing import Any

from tests.benchmarks.peer import Measured

NAMESPACE, NAME = "default", "measured"
RULES = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
HOURS = 3


def account(server: Measured) -> str:
    """The token of a service account that may read everything. Creates the account if it is missing. Raises
    URLError.
    """
    named = {"metadata": {"name": NAME}}
    subject = {"kind": "ServiceAccount", "namespace": NAMESPACE, "name": NAME}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME}
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
    _made(server, accounts, named)
    _made(server, f"{rbac}/clusterroles", named | {"rules": RULES})
    _made(server, f"{rbac}/clusterrolebindings", named | {"roleRef": role, "subjects": [subject]})
    answer = _posted(server, f"{accounts}/{NAME}/token", {"spec": {"expirationSeconds": HOURS * 3600}})
    return str(answer["status"]["token"])


def _made(server: Measured, path: str, value: dict[str, Any]) -> None:
    try:
        _posted(server, path, value)
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise


def _posted(server: Measured, path: str, value: dict[str, Any]) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(server.url + path, json.dumps(value).encode(), headers)
    with urllib.request.urlopen(request, timeout=30, context=ssl._create_unverified_context()) as answer:
        found: dict[str, Any] = json.load(answer)
        return found
