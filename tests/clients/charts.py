"""Renders the chart deploy/helm/apiserver-gateway with given values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.clients.command import Helm

ROOT = Path(__file__).parents[2]


CHART = str(ROOT / "deploy" / "helm" / "apiserver-gateway")


NAME = "api-apiserver-gateway"


CONFIG = "apiserver.config.k8s.io/v1"


INIT = {
    "name": "fetch",
    "image": "registry.example.org/fetch",
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    },
    "resources": {"limits": {"memory": "64Mi"}},
}


FILES = {
    "audit": {"policy": {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}},
    "authentication": {
        "configuration": {"apiVersion": CONFIG, "kind": "AuthenticationConfiguration", "anonymous": {"enabled": True}},
    },
    "authorization": {
        "configuration": {
            "apiVersion": CONFIG,
            "kind": "AuthorizationConfiguration",
            "authorizers": [{"type": "RBAC", "name": "rbac"}],
        },
    },
    "admission": {
        "configuration": {"apiVersion": CONFIG, "kind": "AdmissionConfiguration", "plugins": []},
        "enablePlugins": ["AlwaysPullImages"],
    },
    "encryption": {
        "configuration": {
            "apiVersion": CONFIG,
            "kind": "EncryptionConfiguration",
            "resources": [{"resources": ["secrets"], "providers": [{"identity": {}}]}],
        },
    },
}


GIVEN = {"mode": "secret", "secretName": "given", "signingKeySecretName": "key"}
EXTERNAL = {"mode": "external", "external": {"endpoints": ["https://etcd.example.org:2379"]}}


def rendered(helm: Helm, values: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects that the chart renders with the values."""
    return [each for each in yaml.safe_load_all(helm("template", "api", CHART, "-f", "-", given=values)) if each]


def pods(objects: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The pod specs in the objects: those of pods, and of templates."""
    for each in objects:
        match each["kind"]:
            case "Pod":
                yield each["spec"]
            case "StatefulSet":
                spec = each["spec"]["template"]["spec"]
                claims = [made["metadata"]["name"] for made in each["spec"].get("volumeClaimTemplates", ())]
                own = [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-0"}} for name in claims]
                yield {**spec, "volumes": [*spec["volumes"], *own]}
            case "Deployment" | "Job":
                yield each["spec"]["template"]["spec"]
            case "CronJob":
                yield each["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def listed(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": items}


def one_of(objects: list[dict[str, Any]], kind: str, name: str = "") -> dict[str, Any]:
    """The only object of a kind, or of a kind and name."""
    (found,) = [each for each in objects if each["kind"] == kind and name in ("", each["metadata"]["name"])]
    return found
