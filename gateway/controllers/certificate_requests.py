"""Approves the CertificateSigningRequests of kubelets, and signs approved requests of the built-in signers (page
"Certificates and Certificate Signing Requests", "Kubernetes signers").
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from gateway.access.authorization import asked_of_resource
from gateway.access.nodes.identity import NODE_PREFIX, NODES_GROUP
from gateway.access.signing_authority import (
    SHORTEST,
    SigningError,
    alternative_names,
    now,
    signing_authority,
)
from gateway.controllers.keyed_controller import KeyedController
from gateway.http.status import StatusError
from gateway.http.user import User, extra_of
from gateway.jsontypes import JsonObject
from storage.entry import Entry

if TYPE_CHECKING:
    from cryptography import x509

logger = logging.getLogger(__name__)

GROUP, PLURAL = "certificates.k8s.io", "certificatesigningrequests"
SERVING = "kubernetes.io/kubelet-serving"
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
CLIENT = "kubernetes.io/kube-apiserver-client"
LEGACY = "kubernetes.io/legacy-unknown"
_SIGNED = frozenset({SERVING, KUBELET, CLIENT, LEGACY})
_SERVING_USAGES = ("digital signature", "key encipherment", "server auth")
_CLIENT_USAGES = ("client auth", "digital signature", "key encipherment")
_RIGHTS = (
    ("selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."),
    ("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."),
)
_NAMES = {"DNSName": "DNS", "RFC822Name": "Email", "IPAddress": "IP", "UniformResourceIdentifier": "URI"}


class _Requests(KeyedController):
    """The base class of both controllers. The queue has keys of requests without a certificate."""

    resources = (PLURAL,)

    def on_update(self, resource: str, entry: Entry) -> None:
        if b'"certificate":"' not in entry.tail:
            self.queue.add(entry.key)

    async def change_status(self, request: JsonObject, subresource: str, status: JsonObject) -> None:
        """Sets members of a request's status, and appends its conditions. Does nothing if it has a certificate."""
        meta = request["metadata"]

        def alter(obj: JsonObject) -> bool:
            present = obj.setdefault("status", {})
            if present.get("certificate"):
                return False
            conditions = [*(present.get("conditions") or ()), *status.get("conditions", ())]
            present.update({**status, **({"conditions": conditions} if conditions else {})})
            return True

        endpoint = self.actor.of(GROUP, "v1", PLURAL, subresource)
        await self.actor.change(endpoint, "", meta["name"], alter, uid=meta["uid"])


class Approving(_Requests):
    """Approves requests of kubelets for client certificates, if the user is authorized to have one."""

    queue_name = "certificate_approving"

    async def reconcile(self, key: bytes) -> None:
        request = self.cached(key)
        if request is None or conditions_of(request, "Approved", "Denied"):
            return
        spec = request["spec"]
        asked = _parsed(spec)
        if asked is None or spec.get("signerName") != KUBELET or client_problem(asked, spec.get("usages") or ()):
            return
        user = User(
            spec.get("username", ""),
            tuple(spec.get("groups") or ()),
            spec.get("uid", ""),
            extra_of(spec.get("extra") or {}),
        )
        authorizer = self.actor.endpoints.services.authorizer
        for subresource, message in _RIGHTS:
            if subresource == "selfnodeclient" and user.name != _common_name(asked):
                continue
            question = asked_of_resource(user, "create", GROUP, PLURAL, "", subresource=subresource)
            if (await authorizer.authorize(question)).allowed:
                condition = {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": message}
                await self.change_status(request, "approval", {"conditions": [condition]})
                return


class Signing(_Requests):
    """Signs approved requests of the built-in signers. Without the key of a CA, it signs nothing."""

    queue_name = "certificate_signing"

    async def reconcile(self, key: bytes) -> None:
        request = self.cached(key)
        if request is None or (request.get("status") or {}).get("certificate"):
            return
        spec, settings = request["spec"], self.actor.endpoints.services.settings
        approved = conditions_of(request, "Approved") and not conditions_of(request, "Denied", "Failed")
        authority = signing_authority(settings)
        asked = _parsed(spec) if approved and spec.get("signerName") in _SIGNED and authority else None
        if asked is None or authority is None:
            return
        usages = spec.get("usages") or ()
        if problem := signer_problem(spec["signerName"], asked, usages):
            failed = {"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": problem}
            await self.change_status(request, "status", {"conditions": [failed]})
            return
        longest = timedelta(seconds=settings.cluster_signing_duration)
        seconds = spec.get("expirationSeconds")
        lifetime = longest if seconds is None else min(max(timedelta(seconds=seconds), SHORTEST), longest)
        try:
            certificate = authority().sign(asked, usages, lifetime, now())
        except (SigningError, OSError, ValueError) as error:
            raise StatusError(500, "InternalError", f"error auto signing csr: {error}") from None
        await self.change_status(request, "status", {"certificate": base64.b64encode(certificate).decode()})


def conditions_of(request: JsonObject, *kinds: str) -> bool:
    """Whether a request has a condition of one of these types whose status is "True" or missing."""
    conditions = (request.get("status") or {}).get("conditions") or ()
    return any(each.get("type") in kinds and each.get("status") in (None, "", "True") for each in conditions)


def signer_problem(signer: str, asked: x509.CertificateSigningRequest, usages: Sequence[str]) -> str:
    """The reason why a built-in signer refuses a request; "" if it signs it."""
    match signer:
        case "kubernetes.io/kubelet-serving":
            return serving_problem(asked, usages)
        case "kubernetes.io/kube-apiserver-client-kubelet":
            return client_problem(asked, usages)
        case "kubernetes.io/kube-apiserver-client":
            for usage in usages:
                if usage not in _CLIENT_USAGES:
                    return f"invalid usage for client certificate: {usage}"
            return "" if "client auth" in usages else "missing required usage for client certificate: client auth"
    return ""


def serving_problem(asked: x509.CertificateSigningRequest, usages: Sequence[str]) -> str:
    """The reason why a request is not valid for a kubelet's serving certificate; "" if it is."""
    if _organizations(asked) != [NODES_GROUP]:
        return "subject organization is not system:nodes"
    kinds = _kinds(asked)
    if not kinds & {"DNS", "IP"}:
        return "DNS or IP subjectAltName is required"
    for kind in ("Email", "URI"):
        if kind in kinds:
            return f"{kind} subjectAltNames are not allowed"
    return _usage_problem(usages, _SERVING_USAGES) or _name_problem(asked)


def client_problem(asked: x509.CertificateSigningRequest, usages: Sequence[str]) -> str:
    """The reason why a request is not valid for a kubelet's client certificate; "" if it is."""
    if _organizations(asked) != [NODES_GROUP]:
        return "subject organization is not system:nodes"
    kinds = _kinds(asked)
    for kind in ("DNS", "Email", "IP", "URI"):
        if kind in kinds:
            return f"{kind} subjectAltNames are not allowed"
    return _name_problem(asked) or _usage_problem(usages, _CLIENT_USAGES)


def _name_problem(asked: x509.CertificateSigningRequest) -> str:
    starts = _common_name(asked).startswith(NODE_PREFIX)
    return "" if starts else "subject common name does not begin with system:node:"


def _usage_problem(usages: Sequence[str], wanted: Sequence[str]) -> str:
    """The error if the usages are not the wanted ones. "key encipherment" is optional: it is for RSA keys only."""
    if set(usages) in (set(wanted), set(wanted) - {"key encipherment"}):
        return ""
    return f"usages did not match [{' '.join(wanted)}]"


def _parsed(spec: JsonObject) -> x509.CertificateSigningRequest | None:
    from gateway.certificate_reader import extensions_of, request_of_pem, subject_of

    try:
        request = request_of_pem(base64.b64decode(spec.get("request") or ""))
        extensions_of(request)
        subject_of(request)
    except ValueError:
        logger.warning("a certificate signing request cannot be read")
        return None
    return request


def _kinds(asked: x509.CertificateSigningRequest) -> set[str]:
    return {_NAMES.get(type(name).__name__, "") for name in alternative_names(asked)}


def _attributes(asked: x509.CertificateSigningRequest, dotted: str) -> list[str]:
    from cryptography.x509 import ObjectIdentifier

    from gateway.certificate_reader import subject_of

    return [str(each.value) for each in subject_of(asked).get_attributes_for_oid(ObjectIdentifier(dotted))]


def _organizations(asked: x509.CertificateSigningRequest) -> list[str]:
    return _attributes(asked, "2.5.4.10")


def _common_name(asked: x509.CertificateSigningRequest) -> str:
    return next(reversed(_attributes(asked, "2.5.4.3")), "")
