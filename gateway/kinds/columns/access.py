"""Columns of role bindings and of the kinds of certificates.k8s.io."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.durations import human_duration
from gateway.kinds.columns.model import (
    AGE,
    NAME,
    NONE,
    Cell,
    Columns,
    age,
    column,
    labels_text,
    name_of,
    part,
    wide,
)


def _binding(obj: JsonObject) -> list[Cell]:
    role = part(obj, "roleRef")
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in obj.get("subjects") or ():
        kind, name = subject.get("kind", ""), subject.get("name", "")
        if kind in subjects:
            subjects[kind].append(f"{subject.get('namespace', '')}/{name}" if kind == "ServiceAccount" else name)
    return [
        name_of(obj),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age(obj),
        *[", ".join(names) for names in subjects.values()],
    ]


def _signing_request(obj: JsonObject) -> list[Cell]:
    spec, seconds = part(obj, "spec"), part(obj, "spec").get("expirationSeconds")
    return [
        name_of(obj),
        age(obj),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        NONE if seconds is None else human_duration(seconds),
        _condition(part(obj, "status")),
    ]


def _condition(status: JsonObject) -> str:
    types = {condition.get("type") for condition in status.get("conditions") or ()}
    states = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    if "Failed" in types:
        states.append("Failed")
    if status.get("certificate"):
        states.append("Issued")
    return ",".join(states)


def _trust_bundle(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), part(obj, "spec").get("signerName") or NONE]


def _pod_certificate(obj: JsonObject) -> list[Cell]:
    spec, state = part(obj, "spec"), "Pending"
    for condition in part(obj, "status").get("conditions") or ():
        if condition.get("type") in ("Issued", "Denied", "Failed"):
            state = condition["type"]
    return [
        name_of(obj),
        spec.get("podName", ""),
        spec.get("serviceAccountName", ""),
        spec.get("nodeName", ""),
        spec.get("signerName", ""),
        state,
        labels_text(spec.get("unverifiedUserAnnotations")),
    ]


def _bindings(kind: str) -> Columns:
    where = f"in the {kind[0].lower()}{kind[1:]}"
    subjects = [wide(name)._replace(description=f"{name} {where}") for name in ("Users", "Groups", "ServiceAccounts")]
    return Columns((NAME, column("Role", f"rbac.v1.{kind}.roleRef"), AGE, *subjects), _binding)


_REQUEST, _POD = "certificates.v1.CertificateSigningRequest", "certificates.v1beta1.PodCertificateRequestSpec"
COLUMNS = {
    ("rbac.authorization.k8s.io", "RoleBinding"): _bindings("RoleBinding"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _bindings("ClusterRoleBinding"),
    ("certificates.k8s.io", "CertificateSigningRequest"): Columns(
        (
            NAME,
            AGE,
            column("SignerName", f"{_REQUEST}Spec.signerName"),
            column("Requestor", f"{_REQUEST}Spec.request"),
            column("RequestedDuration", f"{_REQUEST}Spec.expirationSeconds"),
            column("Condition", f"{_REQUEST}Status.conditions"),
        ),
        _signing_request,
    ),
    ("certificates.k8s.io", "ClusterTrustBundle"): Columns(
        (NAME, column("SignerName", "certificates.v1beta1.ClusterTrustBundleSpec.signerName")), _trust_bundle
    ),
    ("certificates.k8s.io", "PodCertificateRequest"): Columns(
        (
            NAME,
            column("PodName", f"{_POD}.podName"),
            column("ServiceAccountName", f"{_POD}.serviceAccountName"),
            column("NodeName", f"{_POD}.nodeName"),
            column("SignerName", f"{_POD}.signerName"),
            column("State"),
            column("UnverifiedUserAnnotations", f"{_POD}.unverifiedUserAnnotations"),
        ),
        _pod_certificate,
    ),
}
