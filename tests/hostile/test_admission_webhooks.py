"""Admission webhooks that send invalid or endless answers, or redirects: their failurePolicy decides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.hook import Hook, serving
from tests.hostile.probe import held_at_most, kept_at_most
from tests.hostile.test_webhooks import ANSWERS, OK, once
from tests.integration.server.client import Answer, ask

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
MAPS = "/api/v1/namespaces/default/configmaps?dryRun=All"
HELD = 0.1  # seconds
LARGEST = 4 * (3 << 20)  # bytes of the answers to the four calls of a test
REVIEW = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":%b}'
YAML = b"apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse: "
LIES = {
    **ANSWERS,
    "YAML that contains itself": once(OK + b"\r\n" + YAML + b'&x {uid: "1", allowed: true, auditAnnotations: *x}'),
    "5 000 aliases of 60 KB": once(
        OK + b"\r\nx: &x " + b"a" * 60_000 + b"\n" + YAML + b"{allowed: true, warnings: [" + b"*x," * 5000 + b"]}"
    ),
    "80 000 aliases of an object": once(
        OK + b"\r\nx: &x {}\n" + YAML + b"{status: {details: {causes: [" + b"*x," * 80_000 + b"]}}}"
    ),
    "of another review": once(OK + b"\r\n" + REVIEW % b'{"uid":"1","allowed":true}'),
    "no uid": once(OK + b"\r\n" + REVIEW % b'{"allowed":true}'),
    "an answer of text": once(OK + b"\r\n" + REVIEW % b'{"uid":"1","allowed":"true"}'),
    "a redirect to the server itself": once(
        b"HTTP/1.1 307 Temporary Redirect\r\nLocation: https://localhost/api/v1/secrets\r\nContent-Length: 0\r\n\r\n"
    ),
}


@pytest.fixture(scope="module")
def hook(module_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hook]:
    """A mutating and a validating webhook. For objects with the label `open`, failurePolicy is Ignore."""
    with serving(Path(tmp_path_factory.mktemp("hook"))) as made:
        for sort in ("mutating", "validating"):
            configuration = {
                "metadata": {"name": "liar"},
                "webhooks": [_webhook(made, sort, each) for each in POLICIES],
            }
            assert ask(module_server, "POST", CONFIGURATIONS.format(sort), configuration).status == 201
        yield made


POLICIES = {"Fail": "closed", "Ignore": "open"}


def _webhook(hook: Hook, sort: str, policy: str) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    return {
        "name": f"{POLICIES[policy]}.example.com",
        "clientConfig": {"url": f"https://localhost:{hook.port}/admit", "caBundle": hook.ca_bundle},
        "rules": [rule],
        "objectSelector": {"matchLabels": {"by": f"{sort}-{POLICIES[policy]}"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": policy,
        "timeoutSeconds": 5,
    }


def create(server: ApiServer, label: str) -> Answer:
    return ask(server, "POST", MAPS, {"metadata": {"name": "a", "labels": {"by": label}}})


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_lets_nobody_in_who_is_to_be_judged(server: ApiServer, hook: Hook, lie: str) -> None:
    hook.answer = LIES[lie]
    with held_at_most(server, HELD), kept_at_most(server, LARGEST):
        closed = [create(server, f"{sort}-closed") for sort in ("mutating", "validating")]
        opened = [create(server, f"{sort}-open").status for sort in ("mutating", "validating")]
    assert [each.status for each in closed] == [500, 500], closed[0].body
    assert all('failed calling webhook "closed.example.com"' in each.json["message"] for each in closed)
    assert opened == [201, 201]
