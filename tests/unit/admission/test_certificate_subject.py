"""CertificateSubjectRestriction: a certificate of the client signer cannot make a user an administrator."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gateway.http.status import StatusError
from tests.unit.verbs.conftest import Api

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENT, SERVING = "kubernetes.io/kube-apiserver-client", "example.com/own"


def asked(signer: str, *organizations: str) -> dict[str, Any]:
    names = [x509.NameAttribute(NameOID.COMMON_NAME, "ada")]
    names += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder(x509.Name(names)).sign(key, hashes.SHA256())
    pem = base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()
    return {"metadata": {"name": "r"}, "spec": {"signerName": signer, "request": pem, "usages": ["client auth"]}}


async def test_the_client_signer_makes_no_administrator() -> None:
    with pytest.raises(StatusError) as error:
        await Api().send("POST", REQUESTS, asked(CLIENT, "a", "system:masters"))
    assert error.value.code == 403
    said = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
    assert said in str(error.value)


@pytest.mark.parametrize(("signer", "organization"), [(CLIENT, "a"), (SERVING, "system:masters")])
async def test_other_groups_and_other_signers_are_let_through(signer: str, organization: str) -> None:
    status, _ = await Api().send("POST", REQUESTS, asked(signer, organization))
    assert status == 201
