"""A server with token webhooks, an authorization webhook and an issuer, and with configuration files that tests may
change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.access.keys import new_key as new_private_key
from tests.forked import api_server
from tests.integration.access.strangers import Strangers
from tests.integration.server.client import Answer, ask

GROUP = "apiserver.config.k8s.io/v1"
TOKENS = """
node-a-token,system:node:a,1,"system:nodes"
ada-token,ada,2,"people"
"""


@dataclass(slots=True)
class World:
    """The server, the services that it calls, and its files."""

    server: ApiServer
    strangers: Strangers
    directory: Path

    def get(self, path: str, token: str | None = "") -> Answer:
        return ask(self.server, "GET", path, token=token)

    def create(self, path: str, obj: Any, token: str = "") -> Answer:
        return ask(self.server, "POST", path, obj, token=token)

    def who(self, token: str) -> Any:
        """The user of a token, or the message of the refusal."""
        answer = self.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {"kind": "SelfSubjectReview"}, token)
        return answer.json["status"]["userInfo"] if answer.status == 201 else answer.json["message"]

    def review(self, token: str) -> Any:
        """The status of a TokenReview for a token."""
        review = {"kind": "TokenReview", "spec": {"token": token}}
        return self.create("/apis/authentication.k8s.io/v1/tokenreviews", review).json["status"]

    def configure(self, name: str, content: Any) -> None:
        """Replaces a configuration file by a rename."""
        write(self.directory / name, content)


def write(path: Path, content: Any) -> None:
    """Replaces a file in one step."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(content if isinstance(content, str) else json.dumps(content))
    unfinished.replace(path)


def authentication(strangers: Strangers, **more: Any) -> dict[str, Any]:
    """The authentication configuration at the start."""
    issuer = {"url": strangers.url, "audiences": ["us"], "certificateAuthority": strangers.authority}
    mappings = {
        "username": {"expression": "'oidc:' + claims.sub"},
        "groups": {"expression": "claims.?roles.orValue([])"},
        "uid": {"claim": "sub"},
        "extra": [{"key": "example.org/tenant", "valueExpression": "claims.?tenant.orValue('')"}],
    }
    jwt = {
        "issuer": issuer,
        "claimMappings": mappings,
        "claimValidationRules": [{"expression": "claims.?level.orValue(1.0) < 5.0", "message": "too high"}],
        "userValidationRules": [{"expression": "!user.username.startsWith('oidc:system:')", "message": "reserved"}],
    }
    anonymous = {"enabled": True, "conditions": [{"path": "/livez"}, {"path": "/healthz"}]}
    return {
        "apiVersion": GROUP,
        "kind": "AuthenticationConfiguration",
        "jwt": [jwt],
        "anonymous": anonymous,
        **more,
    }


def authorization(strangers: Strangers, **more: Any) -> dict[str, Any]:
    """The authorization configuration at the start."""
    webhook = {
        "timeout": "30s",
        "subjectAccessReviewVersion": "v1",
        "matchConditionSubjectAccessReviewVersion": "v1",
        "failurePolicy": "NoOpinion",
        "authorizedTTL": "30s",
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": str(strangers.kubeconfig("/decide"))},
        "matchConditions": [
            {"expression": "has(request.resourceAttributes)"},
            {"expression": "request.resourceAttributes.namespace == 'asked'"},
        ],
        **more,
    }
    authorizers = [
        {"type": "Node", "name": "node"},
        {"type": "RBAC", "name": "rbac"},
        {"type": "Webhook", "name": "stranger", "webhook": webhook},
    ]
    return {"apiVersion": GROUP, "kind": "AuthorizationConfiguration", "authorizers": authorizers}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("access")
    strangers = Strangers(directory)
    write(directory / "authentication.json", authentication(strangers))
    write(directory / "authorization.json", authorization(strangers))
    (directory / "tokens.csv").write_text(TOKENS)
    (directory / "keys.pem").write_bytes(new_private_key())
    flags = (
        f"--authentication-config={directory / 'authentication.json'}",
        f"--authorization-config={directory / 'authorization.json'}",
        f"--authentication-token-webhook-config-file={strangers.kubeconfig('/who')}",
        "--authentication-token-webhook-version=v1",
        f"--token-auth-file={directory / 'tokens.csv'}",
        "--enable-admission-plugins=NodeRestriction",
        "--enable-bootstrap-token-auth",
    )
    strangers.answers["/who"] = lambda review: {}
    strangers.answers["/decide"] = lambda review: {"allowed": False}
    try:
        with api_server(*flags) as server:
            yield World(server, strangers, directory)
    finally:
        strangers.close()
