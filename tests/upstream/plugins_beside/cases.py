"""The requests to both servers for each admission plug-in that is off by default, in this order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..definition_fuzz.servers import Request

Json = dict[str, Any]

CORE = "/api/v1"
DRY = "?dryRun=All"
SELECTOR = "scheduler.alpha.kubernetes.io/node-selector"
TOLERATIONS = "scheduler.alpha.kubernetes.io/defaultTolerations"
ALLOWED = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
QUOTA = {"hard": {"pods": "10", "count/secrets": "10", "requests.storage": "10Gi"}}


def namespace(name: str, **annotations: str) -> Request:
    """The creation of a namespace."""
    return Request("POST", f"{CORE}/namespaces", {"metadata": {"name": name, "annotations": annotations}})


def pod(name: str = "p", image: str = "web:1", **spec: Any) -> Json:
    """A pod with one container; `container` has further fields of the container."""
    container = {"name": "c", "image": image, **spec.pop("container", {})}
    meta = {"generateName": name} if name.endswith("-") else {"name": name}
    return {"metadata": meta, "spec": {"containers": [container], **spec}}


def pods(place: str, name: str = "", *, dry: bool = True) -> str:
    """The path of a namespace's pods, or of one of them."""
    return f"{CORE}/namespaces/{place}/pods{f'/{name}' if name else ''}{DRY if dry else ''}"


def apart(*keys: str) -> Json:
    """Required anti-affinity by topology keys."""
    terms = [{"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": key} for key in keys]
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def topology() -> Iterator[Request]:
    """LimitPodHardAntiAffinityTopology."""
    for keys in (("kubernetes.io/hostname",), ("zone",), ("kubernetes.io/hostname", "zone"), ("zone", "rack"), ("",)):
        for name in ("p", "p-"):
            yield Request("POST", pods("plain"), pod(name, **apart(*keys)))
    yield Request("PATCH", pods("plain", "there"), {"metadata": {"labels": {"x": "y"}}}, "merge")
    yield Request("PATCH", pods("plain", "there"), {"spec": apart("zone")}, "merge")


def pulled() -> Iterator[Request]:
    """AlwaysPullImages."""
    for policy in ("Always", "IfNotPresent", "Never", "Odd", ""):
        yield Request("POST", pods("plain"), pod(container={"imagePullPolicy": policy}))
    volume = {"name": "v", "image": {"reference": "r", "pullPolicy": "Never"}}
    init = {"name": "i", "image": "other", "imagePullPolicy": "Never"}
    yield Request("POST", pods("plain"), pod(volumes=[volume], initContainers=[init]))
    change = [{"op": "replace", "path": "/spec/containers/0/image", "value": "web:2"}]
    yield Request("PATCH", pods("plain", "there"), change, "json")
    extra = {"spec": {"ephemeralContainers": [{"name": "e", "image": "new", "imagePullPolicy": "Never"}]}}
    path = f"{CORE}/namespaces/plain/pods/there/ephemeralcontainers{DRY}"
    yield Request("PATCH", path, extra, "merge")


def images() -> Iterator[Request]:
    """ImagePolicyWebhook: the name of the image determines the webhook's answer."""
    for image in ("fine", "bad", "bad-reason", "audited", "status-500", "status-404", "garbage", "empty", "no-status"):
        for name in ("p", "p-"):
            yield Request("POST", pods("plain"), pod(name, image))
    annotated = pod(image="bad-reason")
    annotated["metadata"]["annotations"] = {"a.image-policy.k8s.io/x": "1", "other": "2"}
    yield Request("POST", pods("plain"), annotated)
    extra = {"spec": {"ephemeralContainers": [{"name": "e", "image": "bad"}]}}
    yield Request("PATCH", f"{CORE}/namespaces/plain/pods/there/ephemeralcontainers{DRY}", extra, "merge")
    change = [{"op": "replace", "path": "/spec/containers/0/image", "value": "bad"}]
    yield Request("PATCH", pods("plain", "there"), change, "json")
    yield Request("PATCH", pods("plain", "there"), {"metadata": {"labels": {"x": "z"}}}, "merge")


def external() -> Iterator[Request]:
    """DenyServiceExternalIPs."""
    path = f"{CORE}/namespaces/plain/services"
    service: Json = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    with_ips = {**service, "spec": {**service["spec"], "externalIPs": ["1.2.3.4"]}}
    yield Request("POST", path + DRY, with_ips)
    yield Request("POST", path + DRY, {**with_ips, "metadata": {"generateName": "s-"}})
    yield Request("POST", path, service)
    yield Request("PATCH", f"{path}/s{DRY}", {"spec": {"externalIPs": ["1.2.3.4"]}}, "merge")
    yield Request("PATCH", f"{path}/s{DRY}", {"spec": {"externalIPs": []}}, "merge")
    yield Request("PATCH", f"{path}/s/status{DRY}", {"spec": {"externalIPs": ["1.2.3.4"]}}, "merge")


def extended() -> Iterator[Request]:
    """ExtendedResourceToleration."""

    def needs(*names: str) -> Json:
        return {"resources": {"limits": dict.fromkeys(names, "1")}}

    given = {"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    for tolerations in ([], [given], [{**given, "effect": "NoExecute", "tolerationSeconds": 5}], [{**given, "x": 1}]):
        container = needs("example.com/gpu", "other.example.com/x")
        yield Request("POST", pods("plain"), pod(container=container, tolerations=tolerations))
    for name in ("cpu", "requests.example.com/x", "kubernetes.io/x", "hugepages-2Mi", "x", "a/b/c"):
        yield Request("POST", pods("plain"), pod(container=needs(name)))
    init = {"name": "i", "image": "i", **needs("example.com/fpga")}
    yield Request("POST", pods("plain"), pod(initContainers=[init]))


def provisioned() -> Iterator[Request]:
    """NamespaceAutoProvision and NamespaceExists."""
    for place in ("missing-a", "Bad_Name", "a" * 70, "x.y"):
        yield Request("POST", pods(place), pod())
        yield Request("POST", pods(place, dry=False), pod())
    yield Request("GET", f"{CORE}/namespaces/missing-a")
    yield Request("POST", f"{CORE}/namespaces/missing-b/configmaps", {"metadata": {"name": "a b"}})
    yield Request("POST", f"{CORE}/namespaces/missing-c/pods/p/binding", {"target": {"kind": "Node", "name": "n"}})
    yield Request("POST", f"{CORE}/namespaces/missing-d/pods/p/eviction", {"metadata": {"name": "p"}})
    yield Request("PUT", f"{CORE}/namespaces/missing-e/configmaps/x", {"metadata": {"name": "x"}})
    yield Request("PATCH", f"{CORE}/namespaces/missing-f/configmaps/x", {"data": {"a": "b"}}, "merge")
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    yield Request("PATCH", f"{CORE}/namespaces/missing-g/configmaps/x?fieldManager=m", head, "apply")
    yield Request("DELETE", f"{CORE}/namespaces/missing-h/configmaps/x")
    yield Request("DELETE", f"{CORE}/namespaces/missing-h/configmaps")
    asked = {"namespace": "missing-i", "verb": "get", "resource": "pods"}
    path = "/apis/authorization.k8s.io/v1/namespaces/missing-i/localsubjectaccessreviews"
    yield Request(
        "POST", path, {"metadata": {"namespace": "missing-i"}, "spec": {"user": "u", "resourceAttributes": asked}}
    )
    for each in "bcdegi":
        yield Request("GET", f"{CORE}/namespaces/missing-{each}")


def owned() -> Iterator[Request]:
    """OwnerReferencesPermissionEnforcement, for users with few rights."""

    def owners(*given: tuple[str, str, bool]) -> list[Json]:
        return [
            {"apiVersion": version, "kind": kind, "name": f"o{i}", "uid": f"u{i}", "blockOwnerDeletion": blocks}
            for i, (version, kind, blocks) in enumerate(given)
        ]

    path = f"{CORE}/namespaces/plain/configmaps"
    sorts = [
        ("v1", "ConfigMap"),
        ("apps/v1", "Deployment"),
        ("v1", "Node"),
        ("v9", "Odd"),
        ("a/b/c", "X"),
        ("apps/v9", "Deployment"),
    ]
    for user in ("writer", "deleter", "finalizer"):
        for version, kind in sorts:
            for blocks in (True, False):
                meta = {"name": "new", "ownerReferences": owners((version, kind, blocks))}
                yield Request("POST", path + DRY, {"metadata": meta}, about=user)
                patch = {"metadata": {"ownerReferences": owners((version, kind, blocks))}}
                yield Request("PATCH", f"{path}/mine{DRY}", patch, "merge", about=user)
                yield Request("PATCH", f"{path}/owned{DRY}", patch, "merge", about=user)
        both = owners(("v1", "ConfigMap", True), ("v9", "Odd", True))
        yield Request("POST", path + DRY, {"metadata": {"name": "new", "ownerReferences": both}}, about=user)
        yield Request("PATCH", f"{path}/owned{DRY}", {"metadata": {"ownerReferences": None}}, "merge", about=user)


def selected() -> Iterator[Request]:
    """PodNodeSelector."""
    texts = (
        "env=prod",
        "env=prod,disk=ssd",
        "env",
        "env=prod,",
        "=x",
        "a=b=c",
        "env=bad value",
        "",
        " env = prod ",
        "e==f",
    )
    for number, text in enumerate((*texts, "env!=prod", "env in (a)", "bad key=x")):
        place = f"selected-{number}"
        yield namespace(place, **{SELECTOR: text})
        yield Request("POST", pods(place), pod())
        yield Request("POST", pods(place), pod("p-", nodeSelector={"env": "test"}))
        yield Request("POST", pods(place), pod(nodeSelector={"other": "x", "env": "prod"}))
    for labels in ({}, {"env": "prod"}, {"env": "test"}, {"other": "x"}):
        yield Request("POST", pods("only"), pod(nodeSelector=labels))
        yield Request("POST", pods("only"), pod("p-", nodeSelector=labels))


def tolerated() -> Iterator[Request]:
    """PodTolerationRestriction."""
    one = {"key": "k", "operator": "Exists", "effect": "NoSchedule"}
    texts = (
        *("not json", "{}", "[", "[1]", '["x"]', "null", "", "[]", '[{"key": 5}]', '[{"key":"k","odd":1}]'),
        *(
            '[{"key":"k","operator":"Odd"}]',
            '[{"key":"k","tolerationSeconds":"x"}]',
            json.dumps([one]),
            '[{"Key":"k"}]',
        ),
    )
    for number, text in enumerate(texts):
        for key, about in ((TOLERATIONS, "default"), (ALLOWED, "allowed")):
            place = f"{about}-{number}"
            yield namespace(place, **{key: text})
            yield Request("POST", pods(place), pod())
            yield Request("POST", pods(place), pod("p-", tolerations=[one]))
            yield Request("POST", pods(place), pod(tolerations=[{**one, "key": "other"}]))
    for operator, key in (("Equal", "k"), ("Exists", ""), ("", "k"), ("Lt", "k")):
        yield Request("POST", pods("plain"), pod(tolerations=[{"operator": operator, "key": key}]))
    yield namespace("conflicting", **{TOLERATIONS: json.dumps([{**one, "key": "x"}]), ALLOWED: json.dumps([one])})
    yield Request("POST", pods("conflicting"), pod())
    change = {"spec": {"tolerations": [{**one, "key": "team"}]}}
    yield Request("PATCH", pods("plain", "there"), change, "merge")


def limited() -> Iterator[Request]:
    """`limitedResources` of ResourceQuota, without a quota, with one that covers and with one that does not."""
    claim = {
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    gold = {**claim, "spec": {**claim["spec"], "storageClassName": "gold"}}
    for place in ("unlimited", "covered", "elsewhere"):
        base = f"{CORE}/namespaces/{place}"
        for priority in ("", "system-cluster-critical", "low"):
            yield Request("POST", pods(place), pod(**({"priorityClassName": priority} if priority else {})))
        yield Request(
            "POST",
            pods(place),
            pod(container={"resources": {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}}),
        )
        yield Request("POST", f"{base}/persistentvolumeclaims{DRY}", claim)
        yield Request("POST", f"{base}/persistentvolumeclaims{DRY}", gold)
        yield Request("POST", f"{base}/secrets{DRY}", {"metadata": {"name": "s"}})
        yield Request("POST", f"{base}/secrets{DRY}", {"metadata": {"generateName": "s-"}})
        yield Request("POST", f"{base}/configmaps{DRY}", {"metadata": {"name": "s"}})
        for type_ in ("ClusterIP", "NodePort", "LoadBalancer"):
            service = {"metadata": {"name": "v"}, "spec": {"type": type_, "ports": [{"port": 80}]}}
            yield Request("POST", f"{base}/services{DRY}", service)
        yield Request("POST", f"/apis/apps/v1/namespaces/{place}/deployments{DRY}", deployment())


def deployment() -> Json:
    """A Deployment whose pods are never created."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    return {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}


def noted() -> Iterator[Request]:
    """EventRateLimit: three events at once in a namespace, five for one object."""
    yield namespace("noisy")
    for number in range(6):
        about = {"kind": "Pod", "namespace": "noisy", "name": "p"}
        event = {
            "metadata": {"name": f"e{number}"},
            "involvedObject": about,
            "reason": "R",
            "source": {"component": "c"},
        }
        yield Request("POST", f"{CORE}/namespaces/noisy/events", event)
    yield Request("PATCH", f"{CORE}/namespaces/noisy/events/e0", {"message": "m"}, "merge")
    yield Request("DELETE", f"{CORE}/namespaces/noisy/events/e0")


PARTS = {
    "LimitPodHardAntiAffinityTopology": topology,
    "AlwaysPullImages": pulled,
    "ImagePolicyWebhook": images,
    "DenyServiceExternalIPs": external,
    "ExtendedResourceToleration": extended,
    "NamespaceAutoProvision": provisioned,
    "OwnerReferencesPermissionEnforcement": owned,
    "PodNodeSelector": selected,
    "PodTolerationRestriction": tolerated,
    "ResourceQuota": limited,
    "EventRateLimit": noted,
}


def prepared() -> Iterator[Request]:
    """The objects that must exist before."""
    for name in ("plain", "only", "unlimited", "covered", "elsewhere"):
        yield namespace(name)
    yield Request("POST", pods("plain", dry=False), pod("there"))
    maps = f"{CORE}/namespaces/plain/configmaps"
    yield Request("POST", maps, {"metadata": {"name": "mine"}})
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o0", "uid": "u0", "blockOwnerDeletion": False}
    yield Request("POST", maps, {"metadata": {"name": "owned", "ownerReferences": [owner]}})
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    yield Request("POST", classes, {"metadata": {"name": "low"}, "value": 1})
    hard = {"pods": "10", "count/secrets": "10", "gold.storageclass.storage.k8s.io/requests.storage": "10Gi"}
    more = {"requests.example.com/gpu": "4", "services.nodeports": "3"}
    critical = {"scopeName": "PriorityClass", "operator": "In", "values": ["system-cluster-critical"]}
    for place, spec in (
        ("covered", {"hard": {**hard, **more}}),
        ("covered", {"hard": {"pods": "5"}, "scopeSelector": {"matchExpressions": [critical]}}),
        ("elsewhere", {"hard": {"services": "5", "configmaps": "5"}}),
    ):
        path, name = f"{CORE}/namespaces/{place}/resourcequotas", f"q{len(spec)}"
        yield Request("POST", path, {"metadata": {"name": name}, "spec": spec})
        status = {"hard": spec["hard"], "used": dict.fromkeys(spec["hard"], "0")}
        yield Request("PATCH", f"{path}/{name}/status", {"status": status}, "merge")
    yield from allowed()


def allowed() -> Iterator[Request]:
    """The roles of users who write, delete and finalize ConfigMaps."""
    path = "/apis/rbac.authorization.k8s.io/v1"
    for user, verbs, resources in (
        ("writer", ["get", "create", "update", "patch"], ["configmaps"]),
        ("deleter", ["get", "create", "update", "patch", "delete"], ["configmaps"]),
        ("finalizer", ["*"], ["configmaps", "configmaps/finalizers"]),
    ):
        rules = [{"apiGroups": [""], "resources": resources, "verbs": verbs}]
        yield Request("POST", f"{path}/clusterroles", {"metadata": {"name": user}, "rules": rules})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
        binding = {"metadata": {"name": user}, "roleRef": reference, "subjects": [subject]}
        yield Request("POST", f"{path}/clusterrolebindings", binding)
