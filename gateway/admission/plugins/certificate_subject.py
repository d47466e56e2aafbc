"""CertificateSubjectRestriction: refuses CSRs of the signer kube-apiserver-client for the group system:masters."""

from __future__ import annotations

import base64

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.kinds.attributes import Operation
from gateway.kinds.objects import Objects

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
_MASTERS = "system:masters"


async def _validate(admission: Admission, objects: Objects) -> None:
    obj = admission.obj
    assert obj is not None
    spec = obj.get("spec") or {}
    if spec.get("signerName") != CLIENT_SIGNER:
        return
    try:
        organizations = _organizations(base64.b64decode(spec.get("request") or ""))
    except ValueError as error:
        raise refused(admission, obj, f"failed to parse CSR: {error}") from None
    if _MASTERS in organizations:
        reason = f"use of {CLIENT_SIGNER} signer with {_MASTERS} group is not allowed"
        raise refused(admission, obj, reason)


def _organizations(pem: bytes) -> list[str]:
    from cryptography.x509.oid import NameOID

    from gateway.certificate_reader import request_of_pem, subject_of

    subject = subject_of(request_of_pem(pem))
    return [str(each.value) for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


PLUGIN = Plugin(
    "CertificateSubjectRestriction",
    on("certificates.k8s.io/certificatesigningrequests", operations=(Operation.CREATE,)),
    looking_up(validate=_validate),
)
