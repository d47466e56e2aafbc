"""Webhooks from files, and the credentials for calls of webhooks: --admission-control-config-file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import Refused, ServerDidNotStart, ask
from apiserver_gateway.testing.webhooks import serve
from tests.forked import api_server

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"


def written(directory: Path, webhook: dict[str, Any], name: str = "guard.static.k8s.io") -> str:
    """A configuration file that names a directory with one manifest. Returns the flag for it."""
    manifests = directory / "manifests"
    manifests.mkdir()
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    (manifests / "guard.yaml").write_text(json.dumps({**kind, "metadata": {"name": name}, "webhooks": [webhook]}))
    users = [{"name": "127.0.0.1:*", "user": {"token": "wrong"}}, {"name": "*", "user": {"token": "s3cret"}}]
    (directory / "kubeconfig").write_text(json.dumps({"kind": "Config", "users": users}))
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "staticManifestsDir": str(manifests),
        "kubeConfigFile": str(directory / "kubeconfig"),
    }
    plugins = [{"name": "ValidatingAdmissionWebhook", "configuration": configuration}]
    head = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration"}
    (directory / "admission.yaml").write_text(json.dumps({**head, "plugins": plugins}))
    return f"--admission-control-config-file={directory / 'admission.yaml'}"


def guard(client: dict[str, str]) -> dict[str, Any]:
    rule = {"apiGroups": ["admissionregistration.k8s.io"], "apiVersions": ["*"], "resources": ["*"]}
    return {
        "name": "guard.example.org",
        "clientConfig": client,
        "rules": [{**rule, "operations": ["DELETE"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }


def test_a_webhook_of_a_file_reviews_configurations_by_its_kubeconfig(tmp_path: Path) -> None:
    with serve(lambda request: "it stays") as hook:
        flag = written(tmp_path, guard(hook.client_config))
        with api_server(flag) as api:
            kept = {"metadata": {"name": "kept"}}
            ask(api, "POST", f"{REGISTRATION}/mutatingwebhookconfigurations", kept)
            with pytest.raises(Refused, match=r'"guard.example.org" denied the request: it stays'):
                ask(api, "DELETE", f"{REGISTRATION}/mutatingwebhookconfigurations/kept")
    assert [request["name"] for request in hook.requests] == ["kept"]
    assert hook.authorizations == ["Bearer s3cret"]


def test_a_manifest_that_is_wrong_keeps_the_server_from_starting(tmp_path: Path) -> None:
    flag = written(tmp_path, guard({"url": "https://127.0.0.1/"}), "guard")
    with pytest.raises(ServerDidNotStart, match=r"must have a name ending with"), api_server(flag):
        pass
