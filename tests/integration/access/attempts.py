"""Random steps of users with some rights who try to gain more, by every kind of write that could lead there.

The users are service accounts, so that any server can give them credentials. `tests/upstream/escalation.py` sends the
same steps to a kube-apiserver.
"""

from __future__ import annotations

import base64
import functools
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from cryptography.hazmat.primitives import serialization

from gateway.access.signing_authority import new_request
from gateway.credentials.certificates import new_authority

RBAC, CERTIFICATES, REVIEWS = "rbac.authorization.k8s.io", "certificates.k8s.io", "authentication.k8s.io"
ACTORS = ("ada", "bob", "cid")
VICTIM = "robot"  # a service account whose credentials no actor has
LABEL = "escalation-test"  # on all objects that the steps create
COLLECTED = "escalation-collected"  # of cluster roles that are aggregated
COLLECTOR = f"{LABEL}-collector"
NAMES = ("one", "two", "three")
JSON, MERGE, STRATEGIC = (
    "application/json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
BUILT_IN = "kubernetes.io/kube-apiserver-client"  # a controller signs for it what is approved
SIGNERS = (BUILT_IN, "example.com/own")
KINDS = {
    "Role": "roles",
    "ClusterRole": "clusterroles",
    "RoleBinding": "rolebindings",
    "ClusterRoleBinding": "clusterrolebindings",
}
Json = dict[str, Any]

_USUAL = ("get", "list", "create", "update", "patch", "delete", "deletecollection", "*")
_DOMAINS: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    ((RBAC,), (*KINDS.values(), "*"), (*_USUAL, "bind", "escalate")),
    (("",), ("secrets", "serviceaccounts", "serviceaccounts/token", "pods", "*"), _USUAL),
    (("", REVIEWS), ("users", "groups", "uids", "userextras/scopes", "serviceaccounts", "*"), ("impersonate", "*")),
    (
        (REVIEWS, "*"),
        ("users", "groups", "serviceaccounts", "*"),
        ("impersonate:user-info", "impersonate:serviceaccount"),
    ),
    (
        (CERTIFICATES,),
        (
            "certificatesigningrequests",
            "certificatesigningrequests/approval",
            "certificatesigningrequests/status",
            "signers",
        ),
        (*_USUAL, "approve", "sign"),
    ),
    (("*",), ("*",), ("get", "list", "bind", "impersonate-on:user-info:create", "*")),
)


@dataclass(frozen=True, slots=True)
class Step:
    """A request of an actor, with its impersonation headers. The actor "" is the administrator."""

    actor: str
    method: str
    path: str
    body: Any = None
    media: str = JSON
    headers: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.actor or 'administrator'}: {self.method} {self.path} {self.headers} {self.body} ({self.media})"


def username(namespace: str, account: str) -> str:
    return f"system:serviceaccount:{namespace}:{account}"


def subject(pick: random.Random, namespace: str) -> Json:
    """A random subject for a binding."""
    match pick.randint(0, 6):
        case 0:
            return {"kind": "Group", "apiGroup": RBAC, "name": pick.choice(("gang", "system:authenticated"))}
        case 1:
            return {"kind": "User", "apiGroup": RBAC, "name": "eve"}
    return {"kind": "ServiceAccount", "namespace": namespace, "name": pick.choice((*ACTORS, VICTIM))}


def rule(pick: random.Random) -> Json:
    """A random policy rule."""
    if pick.random() < 0.05:
        return {"nonResourceURLs": [pick.choice(("/metrics", "/api/*", "*"))], "verbs": ["get"]}
    groups, resources, verbs = pick.choice(_DOMAINS)
    made: Json = {
        "apiGroups": list(groups),
        "resources": pick.sample(resources, pick.randint(1, min(3, len(resources)))),
        "verbs": pick.sample(verbs, pick.randint(1, min(4, len(verbs)))),
    }
    if pick.random() < 0.15:
        made["resourceNames"] = [pick.choice((f"{LABEL}-one", VICTIM, "eve", "gang", SIGNERS[1]))]
    return made


def rules(pick: random.Random, most: int = 3) -> list[Json]:
    return [rule(pick) for _ in range(pick.randint(0, most))]


def prepared(pick: random.Random, namespace: str) -> Iterator[Step]:
    """What the administrator creates first: accounts, roles and bindings that let the actors begin."""
    yield Step("", "POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    for name in (*ACTORS, VICTIM):
        yield Step("", "POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}})
    yield from cleared()
    yield from _granted(VICTIM, [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}], namespace)
    for name in ACTORS:
        writes = pick.sample(("create", "update", "patch", "delete", "deletecollection", "get"), 5)
        base: list[Json] = [
            {"apiGroups": [RBAC], "resources": list(KINDS.values()), "verbs": writes},
            *(_whole(pick) for _ in range(pick.randint(2, 4))),
        ]
        yield from _granted(name, base, namespace)
    for make in (_policy, _policy, _policy, _policy, _secret, _asked_for, _asked_for):
        made = make(pick, "", namespace)
        if made.method == "POST":
            yield made
    yield _posted("ClusterRole", "", COLLECTOR, {"aggregationRule": _aggregation(COLLECTED)})
    yield _posted(
        "ClusterRoleBinding", "", COLLECTOR, _binding("ClusterRole", COLLECTOR, pick.choice(ACTORS), namespace)
    )


def cleared() -> Iterator[Step]:
    """Deletes what earlier sequences have left."""
    for kind in ("clusterrolebindings", "clusterroles"):
        yield Step("", "DELETE", f"/apis/{RBAC}/v1/{kind}?labelSelector={LABEL}%3Dyes")
    for name in (*NAMES, "collector"):  # a role that is aggregated at this moment may come back without its label
        yield Step("", "DELETE", f"{_collection('ClusterRole', '')}/{LABEL}-{name}")
    yield Step("", "DELETE", f"/apis/{CERTIFICATES}/v1/certificatesigningrequests?labelSelector={LABEL}%3Dyes")


def step(pick: random.Random, namespace: str) -> Step:
    """A random step of a random actor; sometimes of the administrator."""
    actor = pick.choice((*ACTORS, *ACTORS, ""))
    made = pick.choice((_policy, _policy, _policy, _labelled, _secret, _account, _token, _request, _request, _who))(
        pick, actor, namespace
    )
    somebody = actor and not made.headers and pick.random() < 0.25
    return replace(made, headers=_as_somebody(pick, namespace)) if somebody else made


def written(pick: random.Random, actor: str, collection: str, obj: Json) -> Step:
    """Creates, replaces, patches, applies, deletes or reads an object, or deletes all of its kind."""
    path = f"{collection}/{obj['metadata']['name']}"
    content = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    match pick.randint(0, 11):
        case 0 | 1 | 2:
            return Step(actor, "POST", collection, obj)
        case 3 | 4:
            return Step(actor, "PUT", path, obj)
        case 5:
            return Step(actor, "PATCH", path, content, MERGE)
        case 6:
            return Step(actor, "PATCH", path, content, STRATEGIC)
        case 7:
            added = [{"op": "add", "path": f"/{member}", "value": value} for member, value in content.items()]
            return Step(actor, "PATCH", path, added, JSON_PATCH)
        case 8:
            return Step(actor, "PATCH", f"{path}?fieldManager=test&force=true", obj, APPLY)
        case 9:
            return Step(actor, "DELETE", path)
        case 10:
            return Step(actor, "DELETE", f"{collection}?labelSelector={LABEL}%3Dyes")
    return Step(actor, "GET", path)


def _policy(pick: random.Random, actor: str, namespace: str) -> Step:
    kind, name = pick.choice(list(KINDS)), f"{LABEL}-{pick.choice(NAMES)}"
    content: Json = {}
    if "Binding" in kind:
        to = pick.choice(("Role", "ClusterRole")) if kind == "RoleBinding" else "ClusterRole"
        target = f"{LABEL}-{pick.choice(NAMES)}" if pick.random() < 0.8 else "view"
        content = _binding(to, target, "", namespace)
        content["subjects"] = [subject(pick, namespace) for _ in range(pick.randint(0, 2))]
    else:
        content["rules"] = rules(pick)
        if kind == "ClusterRole" and pick.random() < 0.15:
            content["aggregationRule"] = _aggregation(LABEL)
    obj = _object(f"{RBAC}/v1", kind, name, content)
    if kind == "ClusterRole" and pick.random() < 0.2:
        obj["metadata"]["labels"][COLLECTED] = "yes"
    member = "subjects" if "Binding" in kind else "rules"
    if pick.random() < 0.1:
        added = [{"op": "add", "path": f"/{member}/-", "value": (content.get(member) or [rule(pick)])[0]}]
        return Step(actor, "PATCH", f"{_collection(kind, namespace)}/{name}", added, JSON_PATCH)
    return written(pick, actor, _collection(kind, namespace), obj)


def _labelled(pick: random.Random, actor: str, namespace: str) -> Step:
    """Gives a ClusterRole the label by which another one aggregates its rules."""
    name = pick.choice((f"{LABEL}-one", f"{LABEL}-base-{pick.choice(ACTORS)}", f"{LABEL}-base-{VICTIM}"))
    patch = {"metadata": {"labels": {COLLECTED: "yes"}}}
    return Step(actor, "PATCH", f"{_collection('ClusterRole', '')}/{name}", patch, pick.choice((MERGE, STRATEGIC)))


def _secret(pick: random.Random, actor: str, namespace: str) -> Step:
    """Creates a secret that asks for an account's token, or changes a secret to such a one."""
    obj = _object("v1", "Secret", f"{LABEL}-{pick.choice(NAMES)}", {"type": "kubernetes.io/service-account-token"})
    obj["metadata"]["annotations"] = {"kubernetes.io/service-account.name": pick.choice((VICTIM, *ACTORS))}
    if pick.random() < 0.2:
        obj["metadata"]["annotations"]["kubernetes.io/service-account.uid"] = "another"
    return written(pick, actor, f"/api/v1/namespaces/{namespace}/secrets", obj)


def _account(pick: random.Random, actor: str, namespace: str) -> Step:
    content = {"secrets": [{"name": f"{LABEL}-one"}]}
    obj = _object("v1", "ServiceAccount", f"{LABEL}-{pick.choice(NAMES)}", content)
    return written(pick, actor, f"/api/v1/namespaces/{namespace}/serviceaccounts", obj)


def _token(pick: random.Random, actor: str, namespace: str) -> Step:
    account = pick.choice((VICTIM, *ACTORS))
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    bound = {"kind": "Secret", "apiVersion": "v1", "name": f"{LABEL}-one"}
    return Step(actor, "POST", path, {"spec": {"boundObjectRef": bound} if pick.random() < 0.2 else {}})


def _who(pick: random.Random, actor: str, namespace: str) -> Step:
    """Every user may ask this. The right to impersonate is all that decides."""
    review = {"apiVersion": f"{REVIEWS}/v1", "kind": "SelfSubjectReview"}
    return Step(actor, "POST", f"/apis/{REVIEWS}/v1/selfsubjectreviews", review, headers=_as_somebody(pick, namespace))


def _asked_for(pick: random.Random, actor: str, namespace: str) -> Step:
    who = pick.choice(((username(namespace, VICTIM), ()), ("eve", ("gang",)), ("eve", ("system:masters",))))
    spec = {"request": _request_of(*who), "signerName": pick.choice(SIGNERS), "usages": ["client auth"]}
    spec["username"], spec["groups"] = "admin", ["system:masters"]  # the server must replace these values
    name = f"{LABEL}-{pick.choice(NAMES)}"
    obj = _object(f"{CERTIFICATES}/v1", "CertificateSigningRequest", name, {"spec": spec})
    return Step(actor, "POST", f"/apis/{CERTIFICATES}/v1/certificatesigningrequests", obj)


def _request(pick: random.Random, actor: str, namespace: str) -> Step:
    """Creates, approves or denies a certificate request, or sets its certificate."""
    asked = _asked_for(pick, actor, namespace)
    obj, collection = asked.body, asked.path
    name = obj["metadata"]["name"]
    match pick.randint(0, 6):
        case 0 | 1 | 2:
            condition = {"type": pick.choice(("Approved", "Approved", "Denied")), "status": "True", "reason": "test"}
            obj["status"] = {"conditions": [condition]}
            subresource = "approval"
        case 3 | 4:
            obj["status"] = {"certificate": certificate()}
            subresource = "status"
        case _:
            return written(pick, actor, collection, obj)
    path, status = f"{collection}/{name}/{subresource}", {"status": obj["status"]}
    match pick.randint(0, 3):
        case 0 | 1:
            return Step(actor, "PUT", path, obj)
        case 2:
            return Step(actor, "PATCH", path, status, pick.choice((MERGE, STRATEGIC)))
    applied = {key: obj[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": name}} | status
    return Step(actor, "PATCH", f"{path}?fieldManager=test&force=true", applied, APPLY)


def _as_somebody(pick: random.Random, namespace: str) -> tuple[tuple[str, str], ...]:
    names = ("eve", *(username(namespace, each) for each in (VICTIM, *ACTORS)))
    found = [("Impersonate-User", pick.choice(names))]
    if pick.random() < 0.3:
        found.append(("Impersonate-Group", pick.choice(("gang", "gang", "system:masters"))))
    if pick.random() < 0.15:
        found.append(("Impersonate-Uid", "1"))
    if pick.random() < 0.15:
        found.append(("Impersonate-Extra-Scopes", "all"))
    return tuple(found)


def _whole(pick: random.Random) -> Json:
    """A rule for all resources of a group: with smaller rules hardly any attempt succeeds."""
    groups, resources, verbs = pick.choice((*_DOMAINS[1:-1], _DOMAINS[1], _DOMAINS[4]))
    return {
        "apiGroups": list(groups),
        "resources": list(resources[:4]),
        "verbs": pick.sample(verbs, len(verbs) // 2 + 1),
    }


def _granted(account: str, of_account: list[Json], namespace: str) -> Iterator[Step]:
    name = f"{LABEL}-base-{account}"
    yield _posted("ClusterRole", "", name, {"rules": of_account})
    yield _posted("ClusterRoleBinding", "", name, _binding("ClusterRole", name, account, namespace))


def _posted(kind: str, namespace: str, name: str, content: Json) -> Step:
    return Step("", "POST", _collection(kind, namespace), _object(f"{RBAC}/v1", kind, name, content))


def _collection(kind: str, namespace: str) -> str:
    scope = "" if kind.startswith("Cluster") else f"namespaces/{namespace}/"
    return f"/apis/{RBAC}/v1/{scope}{KINDS[kind]}"


def _binding(kind: str, name: str, account: str, namespace: str) -> Json:
    subjects = [{"kind": "ServiceAccount", "namespace": namespace, "name": account}] if account else []
    return {"roleRef": {"apiGroup": RBAC, "kind": kind, "name": name}, "subjects": subjects}


def _aggregation(label: str) -> Json:
    return {"clusterRoleSelectors": [{"matchLabels": {label: "yes"}}]}


def _object(version: str, kind: str, name: str, content: Json) -> Json:
    meta = {"name": name, "labels": {LABEL: "yes"}}
    return {"apiVersion": version, "kind": kind, "metadata": meta, **content}


@functools.cache
def _request_of(name: str, groups: tuple[str, ...]) -> str:
    request, _ = new_request(name, groups)
    return base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()


@functools.cache
def certificate() -> str:
    """A certificate with no use, which a step puts into a request's status."""
    return base64.b64encode(new_authority().certificate).decode()
