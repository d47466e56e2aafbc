"""Plug-ins that are off by default, switched on and configured by one file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.access.strangers import Strangers
from tests.integration.server.client import Answer, ask
from tests.logged import documents
from tests.until import until

ON = (
    "AlwaysPullImages",
    "DenyServiceExternalIPs",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "ImagePolicyWebhook",
    "LimitPodHardAntiAffinityTopology",
    "NamespaceAutoProvision",
    "OwnerReferencesPermissionEnforcement",
    "PodNodeSelector",
    "PodTolerationRestriction",
)
TOKENS = 'ada-token,ada,2,"people"\n'
NODE_SELECTORS = "scheduler.alpha.kubernetes.io/node-selector"
TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"


@dataclass(slots=True)
class World:
    server: ApiServer
    strangers: Strangers
    audit: Path

    def create(self, path: str, obj: Any, token: str = "") -> Answer:
        return ask(self.server, "POST", path, obj, token=token)

    def namespace(self, name: str, **metadata: Any) -> str:
        """Creates a namespace. Returns the path of its pods."""
        assert self.create("/api/v1/namespaces", {"metadata": {"name": name, **metadata}}).status == 201
        return f"/api/v1/namespaces/{name}/pods"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("plugins")
    strangers = Strangers(directory)
    strangers.answers["/images"] = lambda review: {"allowed": "bad" not in json.dumps(review), "reason": "no such"}
    (directory / "tokens.csv").write_text(TOKENS)
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
    (directory / "audit.yaml").write_text(json.dumps(policy))
    (directory / "events.yaml").write_text(
        json.dumps(
            {
                "apiVersion": "eventratelimit.admission.k8s.io/v1alpha1",
                "kind": "Configuration",
                "limits": [{"type": "Namespace", "qps": 1, "burst": 3}, {"type": "Server", "qps": 500, "burst": 500}],
            }
        )
    )
    (directory / "admission.yaml").write_text(json.dumps(configuration(strangers.kubeconfig("/images"))))
    try:
        with api_server(
            f"--enable-admission-plugins={','.join(ON)}",
            "--disable-admission-plugins=ServiceAccount",
            f"--admission-control-config-file={directory / 'admission.yaml'}",
            f"--token-auth-file={directory / 'tokens.csv'}",
            "--allow-privileged=false",
            f"--audit-policy-file={directory / 'audit.yaml'}",
            f"--audit-log-path={directory / 'audit.log'}",
        ) as server:
            yield World(server, strangers, directory / "audit.log")
    finally:
        strangers.close()


def configuration(images: Path) -> dict[str, Any]:
    def plugin(name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, **more}

    security = {
        "apiVersion": "pod-security.admission.config.k8s.io/v1",
        "kind": "PodSecurityConfiguration",
        "defaults": {"enforce": "baseline", "warn": "restricted", "warn-version": "v1.24"},
        "exemptions": {"usernames": ["ada"], "namespaces": ["free"], "runtimeClasses": ["sandbox"]},
    }
    tolerations = {
        "apiVersion": "podtolerationrestriction.admission.k8s.io/v1alpha1",
        "kind": "Configuration",
        "default": [{"key": "team", "operator": "Exists"}],
    }
    critical = {"scopeName": "PriorityClass", "operator": "In", "values": ["system-cluster-critical"]}
    limited = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "ResourceQuotaConfiguration",
        "limitedResources": [
            {"resource": "pods", "matchScopes": [critical]},
            {"resource": "persistentvolumeclaims", "matchContains": ["gold.storageclass.storage.k8s.io/"]},
        ],
    }
    selectors = {"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": "env=test", "only": "env=test,disk=ssd"}}
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [
            plugin("PodSecurity", configuration=security),
            plugin("ResourceQuota", configuration=limited),
            plugin("PodTolerationRestriction", configuration=tolerations),
            plugin("PodNodeSelector", configuration=selectors),
            plugin("EventRateLimit", path="events.yaml"),
            plugin("ImagePolicyWebhook", configuration={"imagePolicy": {"kubeConfigFile": str(images)}}),
        ],
    }


def pod(name: str = "p", image: str = "web:1", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": image}], **spec}}


def spec_of(answer: Answer) -> Any:
    assert answer.status == 201, answer.body
    return answer.json["spec"]


def refusal(answer: Answer, status: int = 403) -> str:
    assert answer.status == status, answer.body
    return str(answer.json["message"])


def test_images_are_always_pulled(world: World) -> None:
    pods = world.namespace("pulling")
    volume = {"name": "v", "image": {"reference": "i:1", "pullPolicy": "Never"}}
    made = pod(volumes=[volume], initContainers=[{"name": "i", "image": "x", "imagePullPolicy": "Never"}])
    spec = spec_of(world.create(pods, made))
    assert {each["imagePullPolicy"] for key in ("containers", "initContainers") for each in spec[key]} == {"Always"}
    assert spec["volumes"][0]["image"]["pullPolicy"] == "Always"


def test_pods_select_what_their_namespace_selects(world: World) -> None:
    pods = world.namespace("selecting", annotations={NODE_SELECTORS: "zone=a, disk = ssd"})
    assert spec_of(world.create(pods, pod(nodeSelector={"x": "y"})))["nodeSelector"] == {
        "zone": "a",
        "disk": "ssd",
        "x": "y",
    }
    conflict = "pod node label selector conflicts with its namespace node label selector"
    assert refusal(world.create(pods, pod("q", nodeSelector={"zone": "b"}))) == f'pods "q" is forbidden: {conflict}'
    for index, (text, said) in enumerate(
        (
            ("nonsense", "invalid selector: [nonsense]"),
            ("=x", '<nil>: Invalid value: "": name part must be non-empty'),
            ("a=b c", '[a]: Invalid value: "b c": a valid label must be'),
        )
    ):
        wrong = world.namespace(f"wrong-{index}", annotations={NODE_SELECTORS: text})
        assert refusal(world.create(wrong, pod()), 500).startswith(said)


def test_pods_select_by_default_what_the_cluster_does_and_no_more_than_is_allowed(world: World) -> None:
    pods = world.namespace("only")
    assert spec_of(world.create(pods, pod(nodeSelector={"disk": "ssd"})))["nodeSelector"] == {
        "disk": "ssd",
        "env": "test",
    }
    not_listed = "pod node label selector labels conflict with its namespace whitelist"
    assert not_listed in refusal(world.create(pods, pod("q", nodeSelector={"disk": "tape"})))


def test_pods_tolerate_what_their_namespace_does_and_no_more(world: World) -> None:
    allowed = [{"key": "team", "operator": "Exists"}, {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]
    allowed.append({"key": "node.kubernetes.io/unreachable", "operator": "Exists"})
    pods = world.namespace("tolerating", annotations={TOLERATIONS: json.dumps(allowed)})
    narrow = {"key": "team", "operator": "Equal", "value": "a", "effect": "NoSchedule"}
    kept = spec_of(world.create(pods, pod(tolerations=[narrow])))["tolerations"]
    assert [each for each in kept if each["key"] == "team"] == [{"key": "team", "operator": "Exists"}]
    scope = "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist"
    other = {"key": "other", "operator": "Exists"}
    assert refusal(world.create(pods, pod("q", tolerations=[other])), 500) == scope
    for index, (text, said) in enumerate(
        (
            ("[", "unexpected end of JSON input"),
            ("{}", "json: cannot unmarshal object into Go value of type []v1.Toleration"),
            ("[1]", "json: cannot unmarshal number into Go value of type v1.Toleration"),
            ('[{"key": 1}]', "json: cannot unmarshal number into Go struct field Toleration.key of type string"),
        )
    ):
        wrong = world.namespace(f"intolerable-{index}", annotations={TOLERATIONS: text})
        assert refusal(world.create(wrong, pod()), 500) == said
    for index, text in enumerate(("null", "", '[{"Key":"team","operator":"Exists"}]')):
        world.create(world.namespace(f"tolerable-{index}", annotations={TOLERATIONS: text}), pod())


def test_pods_tolerate_the_taints_of_extended_resources_that_they_request(world: World) -> None:
    pods = world.namespace("extended")
    resources = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
    container = {"name": "c", "image": "web:1", "resources": resources}
    kept = spec_of(world.create(pods, {"metadata": {"name": "p"}, "spec": {"containers": [container]}}))["tolerations"]
    assert {"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in kept


def test_pods_keep_others_off_their_node_alone(world: World) -> None:
    pods = world.namespace("antiaffine")

    def apart(key: str) -> dict[str, Any]:
        term = {"topologyKey": key, "labelSelector": {"matchLabels": {"a": "b"}}}
        return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    assert world.create(pods, pod(affinity=apart("kubernetes.io/hostname"))).status == 201
    assert "has TopologyKey zone but only key kubernetes.io/hostname is allowed" in refusal(
        world.create(pods, pod("q", affinity=apart("zone")))
    )


def test_services_get_no_new_external_addresses(world: World) -> None:
    world.namespace("external")
    service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "externalIPs": ["192.0.2.1"]}}
    answer = world.create("/api/v1/namespaces/external/services", service)
    assert "Use of external IPs is denied by admission control" in refusal(answer)


def test_a_missing_namespace_is_made_but_not_by_a_dry_run(world: World) -> None:
    settings = {"metadata": {"name": "c"}}
    path = "/api/v1/namespaces/unheard/configmaps"
    assert world.create(f"{path}?dryRun=All", settings).status == 404
    assert world.create(path, settings).status == 201
    assert ask(world.server, "GET", "/api/v1/namespaces/unheard").status == 200
    invalid = 'configmaps "c" is forbidden: Namespace "Un_heard" is invalid'
    assert refusal(world.create("/api/v1/namespaces/Un_heard/configmaps", settings)).startswith(invalid)


def test_a_service_is_asked_about_images(world: World) -> None:
    pods = world.namespace("images")
    assert world.create(pods, pod(image="good:1")).status == 201
    denied = "image policy webhook backend denied one or more images: no such"
    assert denied in refusal(world.create(pods, pod("q", image="bad:1")))
    asked = world.strangers.asked["/images"]
    assert asked[-1]["kind"] == "ImageReview"
    assert asked[-1]["spec"] == {"containers": [{"image": "bad:1"}], "namespace": "images"}
    before = len(asked)
    assert world.create(pods, pod("r", image="good:1")).status == 201  # the webhook's answer is cached for some time
    assert len(asked) == before


def test_no_more_events_are_written_than_there_is_room_for(world: World) -> None:
    world.namespace("eventful")
    event = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "eventful"}, "reason": "R", "type": "Normal"}

    def write(index: int, query: str = "") -> Answer:
        path = f"/api/v1/namespaces/eventful/events{query}"
        return world.create(path, {"metadata": {"name": f"e{index}"}, **event})

    assert [write(index).status for index in range(3)] == [201] * 3
    # budgets are refilled each second
    refused = next(each for index in range(3, 100) if (each := write(index)).status != 201)
    assert (refused.status, refused.json["reason"]) == (429, "TooManyRequests")
    assert refused.json["message"] == "Too many requests: limit reached on type Namespace for key eventful"
    assert write(100, "?dryRun=All").status == 201  # a dry run takes no token


def test_who_has_owners_block_must_be_allowed_to_finalize_them(world: World) -> None:
    world.namespace("owned")
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "update", "get"]}]
    role = {"metadata": {"name": "writer"}, "rules": rules}
    subject = {"kind": "User", "name": "ada", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "Role", "name": "writer", "apiGroup": "rbac.authorization.k8s.io"}
    access = "/apis/rbac.authorization.k8s.io/v1/namespaces/owned"
    assert world.create(f"{access}/roles", role).status == 201
    binding = {"metadata": {"name": "writer"}, "subjects": [subject], "roleRef": reference}
    assert world.create(f"{access}/rolebindings", binding).status == 201
    path = "/api/v1/namespaces/owned/configmaps"

    def owned(kind: str = "ConfigMap", blocks: bool = False) -> dict[str, Any]:
        owner = {"apiVersion": "v1", "kind": kind, "name": "o", "uid": "u", "blockOwnerDeletion": blocks}
        return {"metadata": {"name": "c", "ownerReferences": [owner]}}

    assert "refers to a resource you can't set finalizers on: , <nil>" in refusal(
        world.create(path, owned(blocks=True), "ada-token")
    )
    assert "cannot find RESTMapping for APIVersion v1 Kind Nothing" in refusal(
        world.create(path, owned("Nothing", blocks=True), "ada-token")
    )
    assert world.create(path, {"metadata": {"name": "c"}}, "ada-token").status == 201
    answer = ask(world.server, "PUT", f"{path}/c", owned(), token="ada-token")
    assert "cannot set an ownerRef on a resource you can't delete: , <nil>" in refusal(answer)
    assert ask(world.server, "PUT", f"{path}/c", owned(blocks=True)).status == 200  # the admin may do all of it


def test_what_is_limited_is_for_those_who_have_a_quota_for_it(world: World) -> None:
    """Pods of a priority class, and claims of a storage class, need a quota that covers them."""
    pods = world.namespace("limited")
    base = pods.removesuffix("/pods")
    wanted = pod("critical", priorityClassName="system-cluster-critical")
    room = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

    def claim(name: str, **spec: Any) -> Answer:
        return world.create(f"{base}/persistentvolumeclaims", {"metadata": {"name": name}, "spec": {**room, **spec}})

    refused = world.create(pods, wanted)
    assert refused.status == 500
    scope = "{PriorityClass In [system-cluster-critical]}"
    assert refused.json["message"] == f"insufficient quota to match these scopes: [{scope}]"
    assert world.create(pods, pod("any")).status == 201
    gold = "gold.storageclass.storage.k8s.io/"
    said = f"insufficient quota to consume: {gold}persistentvolumeclaims,{gold}requests.storage"
    assert said in refusal(claim("a", storageClassName="gold"))
    assert claim("b").status == 201
    selects = {"scopeName": "PriorityClass", "operator": "In", "values": ["system-cluster-critical"]}
    for name, spec in (
        ("class", {"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [selects]}}),
        ("storage", {"hard": {f"{gold}persistentvolumeclaims": "1", f"{gold}requests.storage": "1Gi"}}),
    ):
        assert world.create(f"{base}/resourcequotas", {"metadata": {"name": name}, "spec": spec}).status == 201
        until(lambda name=name: "used" in ask(world.server, "GET", f"{base}/resourcequotas/{name}").json["status"])
    assert world.create(pods, wanted).status == 201
    assert "exceeded quota: class" in refusal(world.create(pods, {**wanted, "metadata": {"name": "second"}}))
    assert claim("a", storageClassName="gold").status == 201
    assert "exceeded quota: storage" in refusal(claim("c", storageClassName="gold"))


def test_pod_security_has_defaults_and_exemptions(world: World) -> None:
    host = {"hostNetwork": True}
    pods = world.namespace("guarded")
    assert 'violates PodSecurity "baseline:latest": host namespaces' in refusal(world.create(pods, pod(**host)))
    warned = world.create(pods, pod())
    assert 'would violate PodSecurity \\"restricted:v1.24\\"' in warned.headers["warning"]
    free = world.create(world.namespace("free"), pod(**host))
    assert (free.status, free.headers.get("warning")) == (201, None)
    patch = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    headers = {"Content-Type": "application/merge-patch+json"}
    answer = ask(world.server, "PATCH", "/api/v1/namespaces/free", patch, headers=headers)
    ignored = "the policy (enforce=restricted:latest) will be ignored"
    assert f'namespace \\"free\\" is exempt from Pod Security, and {ignored}' in answer.headers["warning"]


def test_pod_security_counts_what_it_judges(world: World) -> None:
    pods = world.namespace("counted")
    world.create(pods, pod(hostNetwork=True))
    told = ask(world.server, "GET", "/metrics").body.decode()
    labels = 'mode="enforce",policy_level="baseline",policy_version="latest",request_operation="create",resource="pod"'
    assert f'pod_security_evaluations_total{{decision="deny",{labels},subresource=""}}' in told


def test_the_audit_log_is_told_what_was_judged(world: World) -> None:
    levels = {"pod-security.kubernetes.io/audit": "restricted", "pod-security.kubernetes.io/enforce": "privileged"}
    pods = world.namespace("audited", labels=levels)
    assert world.create(pods, pod()).status == 201
    world.create("/api/v1/namespaces", {"metadata": {"name": "free"}})  # another test may have created it
    assert world.create("/api/v1/namespaces/free/pods", pod("exempt")).status == 201

    def annotations(path: str) -> Any:
        (found,) = [
            each
            for each in documents(world.audit)
            if each["requestURI"] == path and each["stage"] == "ResponseComplete"
        ][-1:]
        return found["annotations"]

    told = annotations(pods)
    assert told["pod-security.kubernetes.io/enforce-policy"] == "privileged:latest"
    violations = told["pod-security.kubernetes.io/audit-violations"]
    assert violations.startswith('would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false')
    assert annotations("/api/v1/namespaces/free/pods")["pod-security.kubernetes.io/exempt"] == "namespace"


def test_nothing_privileged_where_it_is_not_allowed(world: World) -> None:
    world.namespace("unprivileged", labels={"pod-security.kubernetes.io/enforce": "privileged"})
    container = {"name": "c", "image": "web:1", "securityContext": {"privileged": True}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    answer = world.create("/api/v1/namespaces/unprivileged/pods", {**template, "metadata": {"name": "p"}})
    path = "spec.containers[0].securityContext.privileged"
    assert answer.status == 422
    assert answer.json["details"]["causes"] == [
        {"reason": "FieldValueForbidden", "message": "Forbidden: disallowed by cluster policy", "field": path}
    ]
    deployment = {
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    answer = world.create("/apis/apps/v1/namespaces/unprivileged/deployments", deployment)
    assert answer.json["details"]["causes"][0]["field"] == f"spec.template.{path}"
