"""Objects of built-in kinds and of a custom kind, and random requests for them."""

from __future__ import annotations

import random
from typing import Any

from ..definition_fuzz.servers import Request

Json = dict[str, Any]

NAMESPACES = {"fuzz-a": {"env": "prod"}, "fuzz-b": {}, "fuzz-params": {"env": "test"}}
DRY = "dryRun=All"
_GADGETS = "/apis/fuzz.example.com/{version}/namespaces/{namespace}/gadgets"
COLLECTIONS = {
    "configmaps": "/api/v1/namespaces/{namespace}/configmaps",
    "pods": "/api/v1/namespaces/{namespace}/pods",
    "deployments": "/apis/apps/v1/namespaces/{namespace}/deployments",
    "gadgets": _GADGETS,
}


def definition() -> Json:
    """A CRD with two equal versions."""
    spec = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "default": 1},
            "name": {"type": "string", "maxLength": 5},
            "tags": {"type": "array", "items": {"type": "string"}},
            "replicas": {"type": "integer"},
        },
    }
    status = {"type": "object", "properties": {"replicas": {"type": "integer"}, "note": {"type": "string"}}}
    data = {"type": "object", "additionalProperties": {"type": "string"}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status, "data": data}}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}, "scale": scale},
        }
        for name in ("v1", "v2")
    ]
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
    spec = {"group": "fuzz.example.com", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": "gadgets.fuzz.example.com"}, "spec": spec}


def new(rng: random.Random, resource: str, group: str, name: str, version: str = "v1") -> Json:
    """A valid object of a resource, with the label of a group of cases."""
    labels = {"g": group}
    if rng.random() < 0.4:
        labels["env"] = rng.choice(("prod", "test"))
    meta: Json = {"name": name, "labels": labels}
    if rng.random() < 0.2:
        meta["annotations"] = {"note": "x"}
    match resource:
        case "configmaps":
            made: Json = {"metadata": meta}
            if rng.random() < 0.8:
                made["data"] = {key: rng.choice(("x", "yy", "")) for key in rng.sample(("a", "b", "c", "D"), 2)}
            return made
        case "pods":
            containers = [{"name": "c", "image": rng.choice(("r/app", "app"))}]
            return {"metadata": meta, "spec": {"containers": containers}}
        case "deployments":
            template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "r/app"}]}}
            selector = {"matchLabels": {"app": "x"}}
            return {
                "metadata": meta,
                "spec": {"replicas": rng.randrange(6), "selector": selector, "template": template},
            }
    spec: Json = {"size": rng.randrange(8), "tags": rng.sample(("one", "two", "longer"), 2)}
    if rng.random() < 0.3:
        del spec["size"]
    if rng.random() < 0.1:
        spec["unknown"] = 1
    head = {"apiVersion": f"fuzz.example.com/{version}", "kind": "Gadget"}
    return {**head, "metadata": meta, "spec": spec, "data": {"a": rng.choice(("x", "y"))}}


def request(rng: random.Random, group: str) -> Request:
    """A random write of an object of a group. The objects `a` and `b` of each resource exist in each namespace."""
    resource, namespace = rng.choice(sorted(COLLECTIONS)), rng.choice(("fuzz-a", "fuzz-b"))
    version = rng.choice(("v1", "v1", "v2"))
    path = COLLECTIONS[resource].format(namespace=namespace, version=version)
    old = f"{rng.choice('ab')}-{group}"
    at = f"{path}/{old}"
    match rng.randrange(12):
        case 0 | 1 | 2:
            obj = new(rng, resource, group, rng.choice(("new", "new", old)), version)
            if rng.random() < 0.2:
                obj["metadata"]["generateName"] = obj["metadata"].pop("name") + "-"
            manager = rng.choice(("", "&fieldManager=m", "&fieldValidation=Strict"))
            return Request("POST", f"{path}?{DRY}{manager}", obj)
        case 3 | 4:
            obj = new(rng, resource, group, old, version)
            if resource == "pods":
                return Request("PATCH", f"{at}?{DRY}", {"metadata": {"labels": {"env": "new"}}}, "merge")
            return Request("PUT", f"{at}?{DRY}", obj)
        case 5 | 6:
            patch: Json = {"metadata": {"labels": {"env": rng.choice(("prod", "new", None))}}}
            if resource in ("configmaps", "gadgets"):
                patch["data"] = {"a": rng.choice(("x", "z", None))}
            return Request("PATCH", f"{at}?{DRY}", patch, "merge")
        case 7:
            made = new(rng, resource, group, rng.choice(("new", old)), version)
            kinds = {"configmaps": ("v1", "ConfigMap"), "pods": ("v1", "Pod"), "deployments": ("apps/v1", "Deployment")}
            head = kinds.get(resource, (f"fuzz.example.com/{version}", "Gadget"))
            if resource == "pods":
                made["metadata"]["name"] = "new"
            name = made["metadata"]["name"]
            body = {"apiVersion": head[0], "kind": head[1], **made}
            return Request("PATCH", f"{path}/{name}?{DRY}&fieldManager=applier&force=true", body, "apply")
        case 8 | 9:
            return Request("DELETE", f"{at}?{DRY}", rng.choice((None, {"gracePeriodSeconds": 0})))
        case 10:
            return Request("DELETE", f"{path}?{DRY}&labelSelector=g={group}")
    if resource in ("configmaps", "pods"):
        note = {"status": {"message": "noted"}} if resource == "pods" else {"metadata": {"annotations": {"n": "1"}}}
        return Request("PATCH", f"{at}{'/status' if resource == 'pods' else ''}?{DRY}", note, "merge")
    if rng.random() < 0.5:
        return Request("PATCH", f"{at}/scale?{DRY}", {"spec": {"replicas": rng.randrange(6)}}, "merge")
    return Request("PATCH", f"{at}/status?{DRY}", {"status": {"replicas": rng.randrange(4)}}, "merge")
