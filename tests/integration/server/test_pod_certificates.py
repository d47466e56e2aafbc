"""PodCertificateRequests with 1.37: a kubelet creates them, a signer answers once, and others may do neither
(KEP-4317).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from apiserver_gateway.testing import api_server
from apiserver_gateway.testing.requests import Refused, ask
from apiserver_gateway.testing.server import ApiServer
from tests.integration.server.client import ask as answer_to

REQUESTS = "/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests"
PODS = "/api/v1/namespaces/default/pods"
SIGNER = "example.com/ca"
KEY = ec.generate_private_key(ec.SECP256R1())
NOBODY = x509.Name([])
TOKENS = "node-token,system:node:a,2,system:nodes\nsigner-token,signer,3\n"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    tokens: Path = tmp_path_factory.mktemp("tokens") / "tokens.csv"
    tokens.write_text(TOKENS)
    flags = (
        "--controllers=-*",
        f"--token-auth-file={tokens}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
    )
    with api_server(*flags, version="1.37") as server:
        yield server


def as_user(api: ApiServer, token: str, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    answer = answer_to(api, method, path, body, token=token)
    return answer.status, answer.json


def asked() -> str:
    made = x509.CertificateSigningRequestBuilder(NOBODY).sign(KEY, hashes.SHA256())
    return b64encode(made.public_bytes(Encoding.DER)).decode()


@pytest.fixture(scope="module")
def running(api: ApiServer) -> dict[str, Any]:
    """The spec of a request for a pod that runs on node a."""
    node = ask(api, "POST", "/api/v1/nodes", {"metadata": {"name": "a"}})
    account = ask(api, "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
    source = {"podCertificate": {"signerName": SIGNER, "keyType": "ECDSAP256", "credentialBundlePath": "bundle.pem"}}
    spec = {
        "nodeName": "a",
        "serviceAccountName": "robot",
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", "projected": {"sources": [source]}}],
    }
    pod = ask(api, "POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
    assert pod["spec"]["volumes"][0]["projected"]["sources"] == [source]
    return {
        **{"signerName": SIGNER, "podName": "p", "podUID": pod["metadata"]["uid"], "stubPKCS10Request": asked()},
        **{"serviceAccountName": "robot", "serviceAccountUID": account["metadata"]["uid"]},
        **{"nodeName": "a", "nodeUID": node["metadata"]["uid"]},
    }


def made(api: ApiServer, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    answered: dict[str, Any] = ask(api, "POST", REQUESTS, {"metadata": {"name": name}, "spec": spec})
    return answered


def ended(request: dict[str, Any], kind: str, **more: Any) -> dict[str, Any]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": kind, "status": "True", "reason": "R", "message": "", "lastTransitionTime": now}
    return {**request, "status": {"conditions": [condition], **more}}


def test_a_request_has_defaults_and_stays_as_it_is(api: ApiServer, running: dict[str, Any]) -> None:
    request = made(api, "stays", running)
    assert (request["spec"]["maxExpirationSeconds"], request["status"]) == (86400, {})
    request["spec"]["podName"] = "other"
    with pytest.raises(Refused) as refused:
        ask(api, "PUT", f"{REQUESTS}/stays", request)
    shown = '{"SignerName":"example.com/ca","PodName":"other","PodUID":"'
    assert f"spec: Invalid value: {shown}" in str(refused.value) and "field is immutable" in str(refused.value)
    for selector in ("spec.signerName=example.com/ca", "spec.podName=p", "spec.nodeName=a"):
        assert ask(api, "GET", f"{REQUESTS}?fieldSelector={selector}")["items"]
    accept = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    table = answer_to(api, "GET", f"{REQUESTS}/stays", headers=accept).json
    assert [each["name"] for each in table["columnDefinitions"]] == [
        *("Name", "PodName", "ServiceAccountName", "NodeName", "SignerName", "State", "UnverifiedUserAnnotations")
    ]
    assert table["rows"][0]["cells"] == ["stays", "p", "robot", "a", SIGNER, "Pending", "<none>"]


def test_a_signer_answers_once(api: ApiServer, running: dict[str, Any]) -> None:
    request = made(api, "issued", running)
    begins = datetime.now(UTC).replace(microsecond=0)
    ends = begins + timedelta(hours=2)
    certificate = x509.CertificateBuilder(NOBODY, NOBODY, KEY.public_key(), 1, begins, ends).sign(KEY, hashes.SHA256())
    times = {"notBefore": begins, "notAfter": ends, "beginRefreshAt": begins + timedelta(hours=1)}
    answer = ended(
        request,
        "Issued",
        certificateChain=certificate.public_bytes(Encoding.PEM).decode(),
        **{key: each.strftime("%Y-%m-%dT%H:%M:%SZ") for key, each in times.items()},
    )
    issued = ask(api, "PUT", f"{REQUESTS}/issued/status", answer)
    assert issued["status"] == answer["status"]
    again = ended(issued, "Denied")
    with pytest.raises(Refused, match="immutable after PodCertificateRequest is issued, denied, or failed"):
        ask(api, "PUT", f"{REQUESTS}/issued/status", again)


@pytest.mark.parametrize(
    ("kind", "more", "said"),
    [
        ("Denied", {"certificateChain": "a"}, "non-condition status fields must be empty when denying or failing"),
        ("Issued", {}, "issued certificate chain must contain at least one certificate"),
        ("Other", {}, 'status.conditions.[0].type: Unsupported value: "Other": supported values: "Issued", "Denied"'),
    ],
)
def test_an_answer_that_is_none_is_refused(
    api: ApiServer, running: dict[str, Any], kind: str, more: dict[str, Any], said: str
) -> None:
    name = f"refused-{kind.lower()}"
    request = made(api, name, running)
    with pytest.raises(Refused) as refused:
        ask(api, "PUT", f"{REQUESTS}/{name}/status", ended(request, kind, **more))
    assert said in str(refused.value)


def test_who_may_not_sign_for_the_signer_answers_nothing(api: ApiServer, running: dict[str, Any]) -> None:
    request = made(api, "signed", running)
    rules = [
        {"apiGroups": ["certificates.k8s.io"], "resources": ["podcertificaterequests/status"], "verbs": ["update"]}
    ]
    grant(api, "writer", rules)
    answer = ended(request, "Denied")
    code, refused = as_user(api, "signer-token", "PUT", f"{REQUESTS}/signed/status", answer)
    assert code == 422
    assert refused["details"]["causes"] == [
        {
            "reason": "FieldValueForbidden",
            "message": 'Forbidden: User "signer" is not permitted to "sign" for signer "example.com/ca"',
            "field": "spec.signerName",
        }
    ]
    signs = {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": ["sign"]}
    grant(api, "signs", [{**signs, "resourceNames": ["example.com/*"]}])
    code, denied = as_user(api, "signer-token", "PUT", f"{REQUESTS}/signed/status", answer)
    assert (code, denied["status"]["conditions"][0]["type"]) == (200, "Denied")


def grant(api: ApiServer, name: str, rules: list[dict[str, Any]]) -> None:
    group = "/apis/rbac.authorization.k8s.io/v1"
    ask(api, "POST", f"{group}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "signer"}
    body = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
    ask(api, "POST", f"{group}/clusterrolebindings", body)


def test_a_kubelet_asks_for_its_own_pods(api: ApiServer, running: dict[str, Any]) -> None:
    node = "node-token"

    def asks(name: str, **changed: Any) -> tuple[int, str]:
        body = {"metadata": {"name": name}, "spec": {**running, **changed}}
        code, answer = as_user(api, node, "POST", REQUESTS, body)
        return code, answer.get("message", "")

    assert asks("own") == (201, "")
    assert as_user(api, node, "GET", f"{REQUESTS}/own")[0] == 200
    assert as_user(api, node, "GET", REQUESTS)[0] == 403
    assert as_user(api, node, "GET", f"{REQUESTS}?fieldSelector=spec.nodeName%3Da")[0] == 200
    assert as_user(api, node, "GET", f"{REQUESTS}/own/status")[0] == 403
    assert as_user(api, node, "DELETE", f"{REQUESTS}/own")[0] == 403
    code, said = asks("b", nodeName="b")
    assert code == 403 and 'PodCertificateRequest.Spec.NodeName="b", which is not the requesting node "a"' in said
    code, said = asks("uid", podUID="other")
    assert code == 500 and 'contains pod UID ("other") which differs from running pod' in said
    code, said = asks("gone", podName="gone")
    assert code == 500 and 'while retrieving pod "default/gone" named in the PodCertificateRequest: pod "gone"' in said
    code, said = asks("account", serviceAccountName="default")
    assert code == 403 and 'serviceAccountName ("default") that differs from running pod ("robot")' in said
    code, said = asks("signer", signerName="example.com/other")
    assert code == 403
    assert 'pod "default/p" does not mount a podCertificate projected volume for signer "example.com/other"' in said


def test_an_earlier_minor_drops_the_certificates_of_pods() -> None:
    source = {"podCertificate": {"signerName": SIGNER, "keyType": "ECDSAP256", "credentialBundlePath": "bundle.pem"}}
    token = {"serviceAccountToken": {"path": "token"}}
    volumes = [{"name": "v", "projected": {"sources": [{**token, **source}]}}]
    spec = {"serviceAccountName": "default", "containers": [{"name": "c", "image": "i"}], "volumes": volumes}
    with api_server("--controllers=-*", "--disable-admission-plugins=ServiceAccount", version="1.36") as before:
        pod = ask(before, "POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
        assert "podCertificate" not in pod["spec"]["volumes"][0]["projected"]["sources"][0]
