"""For each kind that the server itself follows: a request whose answer shows that an object of the kind is in force.

Each kind has a valid object, a request whose answer that object decides, and a patch that changes this answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apiserver_gateway.testing import ApiServer
from tests.integration.customresources.definitions import definition, version
from tests.integration.server.client import ask

Object = dict[str, Any]
Question = Callable[[ApiServer], object]

ADMISSION, RBAC = "/apis/admissionregistration.k8s.io/v1", "/apis/rbac.authorization.k8s.io/v1"
FLOW, CORE = "/apis/flowcontrol.apiserver.k8s.io/v1", "/api/v1"
PLACE = "in-force"
HOME = f"{CORE}/namespaces/{PLACE}"
MERGE = {"Content-Type": "application/merge-patch+json"}


@dataclass(frozen=True)
class Force:
    """A kind, a valid object of it, and the paths of its objects in etcd and in the API (`{}` stands for the name).

    `answers` returns `yes` while the object is as it was created, and another value after `patch`; `back` undoes the
    patch.
    """

    prefix: str
    path: str
    made: Object
    answers: Question
    yes: object
    patch: Object
    back: Object
    beside: tuple[tuple[str, Object], ...] = ()  # the other objects that it needs

    @property
    def name(self) -> str:
        """The name of the valid object."""
        name: str = self.made["metadata"]["name"]
        return name


def status(method: str, path: str, body: Object | None = None, **headers: str) -> Question:
    """The status code of an answer."""
    return lambda server: ask(server, method, path, body, headers=headers).status


def member(path: str, body: Object, *names: str) -> Question:
    """A member of the answer to a creation that is not stored; None if it is absent."""

    def answer(server: ApiServer) -> object:
        found = ask(server, "POST", f"{path}?dryRun=All", body).json
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    return answer


def allowed(user: str, namespace: str = "") -> Question:
    """Whether a user may read secrets."""
    attributes = {"verb": "get", "resource": "secrets", "namespace": namespace, "name": "x"}
    review = {"spec": {"user": user, "resourceAttributes": attributes}}

    def answer(server: ApiServer) -> object:
        return ask(server, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review).json["status"][
            "allowed"
        ]

    return answer


def flow(user: str, header: str) -> Question:
    """Whether the flow schema and priority level that were created apply to a user's requests."""

    def answer(server: ApiServer) -> object:
        found = ask(server, "GET", "/version", headers={"Impersonate-User": user}).headers
        resource = "flowschemas" if header == "flowschema" else "prioritylevelconfigurations"
        uid = ask(server, "GET", f"{FLOW}/{resource}/sound").json["metadata"]["uid"]
        return found.get(f"x-kubernetes-pf-{header}-uid") == uid

    return answer


def seats(server: ApiServer) -> object:
    """Whether the level has seats of its own."""
    text = ask(server, "GET", "/metrics").body.decode()
    start = 'apiserver_flowcontrol_nominal_limit_seats{priority_level="sound"} '
    return float(text.partition(start)[2].partition("\n")[0] or 0) > 0


def named(name: str, **more: Any) -> Object:
    return {"metadata": {"name": name}, **more}


def _rules(label: str) -> Object:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    return {"resourceRules": [rule], "objectSelector": {"matchLabels": {"for": label}}}


def _labelled(label: str) -> Object:
    return {"metadata": {"name": "asked", "labels": {"for": label}}}


def _hook(sort: str) -> Object:
    return {
        "name": "sound.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": _rules("")["resourceRules"],
        "objectSelector": {"matchLabels": {"for": f"{sort}-hook"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
    }


MAPS = f"{HOME}/configmaps"
DRY = f"{MAPS}?dryRun=All"
_TO_POLICY = {"policyName": "sound"}
_MUTATES = {
    "patchType": "ApplyConfiguration",
    "applyConfiguration": {"expression": "Object{data: {'by': 'policy'}}"},
}
_ROLE = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
_NO_ROLE = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}]
_LEVEL = {
    "type": "Limited",
    "limited": {"nominalConcurrencyShares": 100, "limitResponse": {"type": "Reject"}},
}
_POD: Object = {"metadata": {"name": "asked"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
_CLAIM = {
    "metadata": {"name": "asked"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
}
_INGRESS = {
    "metadata": {"name": "asked"},
    "spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 1}}}},
}


def _subjects(user: str) -> list[Object]:
    return [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]


def _ref(kind: str) -> Object:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "sound"}


def _flows(user: str) -> Object:
    rule = {
        "subjects": [{"kind": "User", "user": {"name": user}}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    return {"priorityLevelConfiguration": {"name": "sound"}, "matchingPrecedence": 7, "rules": [rule]}


def _default(prefix: str, yes: bool) -> Object:
    return {"metadata": {"annotations": {f"{prefix}.kubernetes.io/is-default-class": "true" if yes else "false"}}}


def _class(prefix: str, **more: Any) -> Object:
    made = _default(prefix, True)
    made["metadata"]["name"] = "sound"
    return {**made, **more}


_SOUND_BINDING = named("sound", spec={**_TO_POLICY, "validationActions": ["Deny"]})
_DENIES = {"matchConstraints": _rules("denied"), "validations": [{"expression": "false"}]}
_CHANGES = {
    "matchConstraints": _rules("changed"),
    "mutations": [_MUTATES],
    "reinvocationPolicy": "Never",
    "failurePolicy": "Fail",
}

FORCES = {
    "validating policies": Force(
        "validatingadmissionpolicies/{}",
        f"{ADMISSION}/validatingadmissionpolicies",
        named("sound", spec=_DENIES),
        status("POST", DRY, _labelled("denied")),
        422,
        {"spec": {"validations": [{"expression": "true"}]}},
        {"spec": {"validations": [{"expression": "false"}]}},
        ((f"{ADMISSION}/validatingadmissionpolicybindings", _SOUND_BINDING),),
    ),
    "bindings of validating policies": Force(
        "validatingadmissionpolicybindings/{}",
        f"{ADMISSION}/validatingadmissionpolicybindings",
        _SOUND_BINDING,
        status("POST", DRY, _labelled("denied")),
        422,
        {"spec": {"validationActions": ["Audit"]}},
        {"spec": {"validationActions": ["Deny"]}},
    ),
    "mutating policies": Force(
        "mutatingadmissionpolicies/{}",
        f"{ADMISSION}/mutatingadmissionpolicies",
        named("sound", spec=_CHANGES),
        member(MAPS, _labelled("changed"), "data", "by"),
        "policy",
        {"spec": {"matchConstraints": {"objectSelector": {"matchLabels": {"for": "nobody"}}}}},
        {"spec": {"matchConstraints": {"objectSelector": {"matchLabels": {"for": "changed"}}}}},
        ((f"{ADMISSION}/mutatingadmissionpolicybindings", named("sound", spec=_TO_POLICY)),),
    ),
    "bindings of mutating policies": Force(
        "mutatingadmissionpolicybindings/{}",
        f"{ADMISSION}/mutatingadmissionpolicybindings",
        named("sound", spec=_TO_POLICY),
        member(MAPS, _labelled("changed"), "data", "by"),
        "policy",
        {"spec": {"matchResources": {"objectSelector": {"matchLabels": {"for": "nobody"}}}}},
        {"spec": {"matchResources": None}},
    ),
    **{
        f"{sort} webhooks": Force(
            f"{sort}webhookconfigurations/{{}}",
            f"{ADMISSION}/{sort}webhookconfigurations",
            named("sound", webhooks=[_hook(sort)]),
            status("POST", DRY, _labelled(f"{sort}-hook")),
            500,
            {"webhooks": [{**_hook(sort), "failurePolicy": "Ignore"}]},
            {"webhooks": [_hook(sort)]},
        )
        for sort in ("validating", "mutating")
    },
    "cluster roles": Force(
        "clusterroles/{}",
        f"{RBAC}/clusterroles",
        named("sound", rules=_ROLE),
        allowed("ada"),
        True,
        {"rules": _NO_ROLE},
        {"rules": _ROLE},
        ((f"{RBAC}/clusterrolebindings", named("sound", subjects=_subjects("ada"), roleRef=_ref("ClusterRole"))),),
    ),
    "cluster role bindings": Force(
        "clusterrolebindings/{}",
        f"{RBAC}/clusterrolebindings",
        named("sound", subjects=_subjects("ada"), roleRef=_ref("ClusterRole")),
        allowed("ada"),
        True,
        {"subjects": []},
        {"subjects": _subjects("ada")},
    ),
    "roles": Force(
        f"roles/{PLACE}/{{}}",
        f"{RBAC}/namespaces/{PLACE}/roles",
        named("sound", rules=_ROLE),
        allowed("bob", PLACE),
        True,
        {"rules": _NO_ROLE},
        {"rules": _ROLE},
        ((f"{RBAC}/namespaces/{PLACE}/rolebindings", named("sound", subjects=_subjects("bob"), roleRef=_ref("Role"))),),
    ),
    "role bindings": Force(
        f"rolebindings/{PLACE}/{{}}",
        f"{RBAC}/namespaces/{PLACE}/rolebindings",
        named("sound", subjects=_subjects("bob"), roleRef=_ref("Role")),
        allowed("bob", PLACE),
        True,
        {"subjects": []},
        {"subjects": _subjects("bob")},
    ),
    "flow schemas": Force(
        "flowschemas/{}",
        f"{FLOW}/flowschemas",
        named("sound", spec=_flows("ann")),
        flow("ann", "flowschema"),
        True,
        {"spec": _flows("nobody")},
        {"spec": _flows("ann")},
        ((f"{FLOW}/prioritylevelconfigurations", named("sound", spec=_LEVEL)),),
    ),
    "priority levels": Force(
        "prioritylevelconfigurations/{}",
        f"{FLOW}/prioritylevelconfigurations",
        named("sound", spec=_LEVEL),
        seats,
        True,
        {"spec": {"limited": {"nominalConcurrencyShares": 0}}},
        {"spec": {"limited": {"nominalConcurrencyShares": 100}}},
    ),
    "definitions": Force(
        "apiextensions.k8s.io/customresourcedefinitions/{}.bad.example.com",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        definition("sound.example.com", version(), version("v2", storage=False)),
        status("GET", "/apis/sound.example.com/v2/widgets"),
        200,
        {"spec": {"versions": [version(), version("v2", storage=False, served=False)]}},
        {"spec": {"versions": [version(), version("v2", storage=False)]}},
    ),
    "API services": Force(
        "apiregistration.k8s.io/apiservices/v1.{}.example.com",
        "/apis/apiregistration.k8s.io/v1/apiservices",
        named(
            "v1.away.example.com",
            spec={
                "group": "away.example.com",
                "version": "v1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {"namespace": PLACE, "name": "away"},
            },
        ),
        status("GET", "/apis/away.example.com/v1/things"),
        503,
        {"spec": {"service": None, "insecureSkipTLSVerify": None}},
        {"spec": {"service": {"namespace": PLACE, "name": "away"}, "insecureSkipTLSVerify": True}},
    ),
    "quotas": Force(
        f"resourcequotas/{PLACE}/{{}}",
        f"{HOME}/resourcequotas",
        named("sound", spec={"hard": {"count/secrets": "0"}}),
        status("POST", f"{HOME}/secrets?dryRun=All", named("asked")),
        403,
        {"spec": {"hard": {"count/secrets": "50"}}},
        {"spec": {"hard": {"count/secrets": "0"}}},
    ),
    "limit ranges": Force(
        f"limitranges/{PLACE}/{{}}",
        f"{HOME}/limitranges",
        named("sound", spec={"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}),
        status("POST", f"{HOME}/pods?dryRun=All", _POD),
        403,
        {"spec": {"limits": []}},
        {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}},
    ),
    "priority classes": Force(
        "priorityclasses/{}",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        named("sound", value=7, globalDefault=True),
        member(f"{CORE}/namespaces/default/pods", _POD, "spec", "priority"),
        7,
        {"globalDefault": False},
        {"globalDefault": True},
    ),
    "storage classes": Force(
        "storageclasses/{}",
        "/apis/storage.k8s.io/v1/storageclasses",
        _class("storageclass", provisioner="example.com/none"),
        member(f"{HOME}/persistentvolumeclaims", _CLAIM, "spec", "storageClassName"),
        "sound",
        _default("storageclass", False),
        _default("storageclass", True),
    ),
    "ingress classes": Force(
        "ingressclasses/{}",
        "/apis/networking.k8s.io/v1/ingressclasses",
        _class("ingressclass", spec={"controller": "example.com/none"}),
        member("/apis/networking.k8s.io/v1/namespaces/default/ingresses", _INGRESS, "spec", "ingressClassName"),
        "sound",
        _default("ingressclass", False),
        _default("ingressclass", True),
    ),
    "runtime classes": Force(
        "runtimeclasses/{}",
        "/apis/node.k8s.io/v1/runtimeclasses",
        named("sound", handler="runc", scheduling={"nodeSelector": {"of": "sound"}}),
        member(
            f"{CORE}/namespaces/default/pods",
            {**_POD, "spec": {**_POD["spec"], "runtimeClassName": "sound"}},
            *("spec", "nodeSelector", "of"),
        ),
        "sound",
        {"scheduling": None},
        {"scheduling": {"nodeSelector": {"of": "sound"}}},
    ),
    "namespaces": Force(
        "namespaces/{}",
        f"{CORE}/namespaces",
        {"metadata": {"name": "sound", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}},
        status("POST", f"{CORE}/namespaces/sound/pods?dryRun=All", _POD),
        403,
        {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}},
        {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}},
    ),
}
