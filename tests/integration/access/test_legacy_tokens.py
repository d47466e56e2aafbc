"""Service account tokens in secrets: their last use is noted on the secret, once a day."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

from apiserver_gateway.testing import ask, namespace, wait_for
from tests.forked import api_server
from tests.integration.server import client

TYPE, LAST_USED = "kubernetes.io/service-account-token", "kubernetes.io/legacy-token-last-used"


def test_a_use_is_noted_on_the_secret() -> None:
    with api_server() as server, namespace(server) as name:
        home = f"/api/v1/namespaces/{name}"
        ask(server, "POST", f"{home}/serviceaccounts", {"metadata": {"name": "robot"}})
        annotations = {"kubernetes.io/service-account.name": "robot"}
        secret = {
            "metadata": {"name": "old", "annotations": annotations},
            "type": "kubernetes.io/service-account-token",
        }
        ask(server, "POST", f"{home}/secrets", secret)
        filled = wait_for(server, f"{home}/secrets/old", lambda obj: bool((obj.get("data") or {}).get("token")))
        assert LAST_USED not in (filled["metadata"].get("labels") or {})
        began = datetime.now(UTC)
        token = base64.b64decode(filled["data"]["token"]).decode()
        answer = client.ask(server, "GET", f"{home}/pods", token=token)
        assert f"system:serviceaccount:{name}:robot" in answer.json["message"]
        used = wait_for(server, f"{home}/secrets/old", lambda obj: LAST_USED in (obj["metadata"].get("labels") or {}))
        assert used["metadata"]["labels"][LAST_USED] in {f"{at:%Y-%m-%d}" for at in (began, datetime.now(UTC))}
