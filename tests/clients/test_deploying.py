"""The chart deploy/helm/apiserver-gateway: what it renders is valid, and it is installed onto the gateway itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver_gateway.testing import ApiServer
from gateway.settings.config import Settings
from tests.clients.command import Helm, Kubectl
from tests.integration.deploy.pods import running_jobs

ROOT = Path(__file__).parents[2]
CHART = str(ROOT / "deploy" / "helm" / "apiserver-gateway")
NAME = "api-apiserver-gateway"
GROUPS = {
    "v1",
    "apps",
    "batch",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
}  # what the gateway serves of what the chart makes

EXTERNAL = {"mode": "external", "external": {"endpoints": ["https://etcd.example.org:2379"]}}
MATRIX: dict[str, dict[str, Any]] = {
    "defaults": {},
    "one of each": {"replicaCount": 1, "etcd": {"replicaCount": 1}, "podDisruptionBudget": {"enabled": False}},
    "etcd of others": {"etcd": EXTERNAL},
    "etcd of others with TLS and a user": {
        "etcd": {**EXTERNAL, "external": {**EXTERNAL["external"], "tlsSecretName": "tls", "userSecretName": "user"}},
    },
    "given certificates": {"certificates": {"mode": "secret", "secretName": "given", "signingKeySecretName": "key"}},
    "cert-manager": {
        "certificates": {"mode": "certManager", "issuerRef": {"name": "ca"}, "names": ["api.example.org", "10.1.2.3"]},
    },
    "from outside": {
        "service": {"type": "LoadBalancer", "nodePort": 30443, "loadBalancerSourceRanges": ["10.0.0.0/8"]},
        "ingress": {"enabled": True, "host": "api.example.org", "className": "nginx"},
        "tlsRoute": {"enabled": True, "parentRefs": [{"name": "edge"}], "hostnames": ["api.example.org"]},
        "admin": {"server": "https://api.example.org:8443", "token": "given"},
    },
    "all that is off by default": {
        "networkPolicy": {"enabled": True, "from": [{"podSelector": {}}]},
        "monitoring": {"serviceMonitor": {"enabled": True}, "rules": {"enabled": True, "labels": {"a": "b"}}},
        "etcd": {"snapshots": {"enabled": True, "className": "slow"}},
        "podAntiAffinity": "hard",
        "workers": 2,
        "env": [{"name": "A", "value": "b"}],
        "flags": {"allow-privileged": False, "etcd-compaction-interval": "1m", "min-body-rate": 0},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "control-plane", "operator": "Exists"}],
        "imagePullSecrets": [{"name": "registry"}],
        "priorityClassName": "system-cluster-critical",
        "podAnnotations": {"note": "x"},
    },
    "neither spread nor waiting": {"podAntiAffinity": "none", "topologySpread": False, "preStopSeconds": 0},
    "a port of nodes": {"service": {"type": "NodePort", "nodePort": 30443}},
    "an account of others": {"serviceAccount": {"create": False, "name": "default"}},
}
INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown value": ({"replicas": 3}, "additional properties 'replicas' not allowed"),
    "an even number of members": ({"etcd": {"replicaCount": 2}}, "'/etcd/replicaCount': value must be one of 1, 3, 5"),
    "an etcd of nobody": ({"etcd": {"mode": "external"}}, "'/etcd/external/endpoints': minItems: got 0, want 1"),
    "certificates of nobody": ({"certificates": {"mode": "secret"}}, "'/certificates/secretName': minLength: got 0"),
    "an ingress without a host": ({"ingress": {"enabled": True}}, "'/ingress/host': minLength: got 0"),
    "a port that is none": ({"service": {"port": 70000}}, "'/service/port': maximum: got 70,000, want 65,535"),
    "half a digest": ({"image": {"digest": "sha256:ab"}}, "'/image/digest': 'sha256:ab' does not match pattern"),
    "a server without TLS": ({"admin": {"server": "http://api.example.org"}}, "does not match pattern '^(https://"),
}


def rendered(helm: Helm, values: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects that the chart makes of the values."""
    return [each for each in yaml.safe_load_all(helm("template", "api", CHART, "-f", "-", given=values)) if each]


def pods(objects: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The spec of each pod that the objects are, or make."""
    for each in objects:
        match each["kind"]:
            case "Pod":
                yield each["spec"]
            case "Deployment" | "StatefulSet" | "Job":
                yield each["spec"]["template"]["spec"]
            case "CronJob":
                yield each["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def test_readme_and_schema_are_those_of_the_values() -> None:
    subprocess.run([sys.executable, str(ROOT / "hack" / "chart.py"), "--check"], check=True)


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)
def test_what_is_rendered_is_valid(helm: Helm, kubectl: Kubectl, values: dict[str, Any]) -> None:
    helm("lint", "--strict", CHART, "-f", "-", given=values)
    objects = rendered(helm, values)
    built_in = [each for each in objects if each["apiVersion"].partition("/")[0] in GROUPS]
    accounts = [each for each in built_in if each["kind"] == "ServiceAccount"]
    if accounts:  # without which no pod is let in
        kubectl("create", "-f", "-", given=_list(accounts))
    others = [each for each in built_in if each not in accounts]
    kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", given=_list(others))
    names = {"default", *(each["metadata"]["name"] for each in accounts)}
    for pod in pods(objects):
        assert_restricted(pod)
        assert pod["serviceAccountName"] in names


def _list(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": items}


def assert_restricted(pod: dict[str, Any]) -> None:
    """The rules of the Pod Security level `restricted`, a read-only root, no token, bounded memory."""
    assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers"} & set(pod)
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for volume in pod["volumes"]:
        assert set(volume) - {"name"} <= {"emptyDir", "secret", "configMap", "persistentVolumeClaim", "projected"}
    for container in [*pod.get("initContainers", ()), *pod["containers"]]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]
        assert not any("hostPort" in port for port in container.get("ports", ()))


@pytest.mark.parametrize(("values", "said"), INVALID.values(), ids=INVALID)
def test_values_that_cannot_work_are_refused(helm: Helm, values: dict[str, Any], said: str) -> None:
    outcome = helm.run("template", "api", CHART, "-f", "-", given=values)
    assert outcome.returncode and "values don't meet the specifications of the schema" in outcome.stderr
    assert said in outcome.stderr


def test_a_release_keeps_its_identity(server: ApiServer, helm: Helm, kubectl: Kubectl, tmp_path: Path) -> None:
    with running_jobs(server, tmp_path):
        notes = helm("install", "api", CHART)
        assert f"get secret {NAME}-kubeconfig" in notes
        _await_jobs(kubectl)
        made = _secrets(kubectl)
        assert set(made) == {
            f"{NAME}-{it}" for it in ("identity", "kubeconfig", "etcd-ca", "etcd-member", "etcd-client")
        }
        helm("upgrade", "api", CHART, "--set", "replicaCount=3")
        assert kubectl.get("deployment", NAME)["spec"]["replicas"] == 3
        _await_jobs(kubectl)
        assert _secrets(kubectl) == made
        helm("rollback", "api", "1")
        assert kubectl.get("deployment", NAME)["spec"]["replicas"] == 2
        _await_jobs(kubectl)
        (release,) = json.loads(helm("list", "-o", "json"))
        assert (release["revision"], release["status"]) == ("3", "deployed")
        helm("uninstall", "api")
        assert _left(kubectl) == [f"secret/{name}" for name in sorted(made)], "they outlive it, as volumes do"
        helm("install", "api", CHART, "--set", "admin.token=given,admin.server=https://api.example.org")
        _await_jobs(kubectl)
        kept = _secrets(kubectl)
    changed = {name for name in made if made[name] != kept[name]}
    assert changed == {f"{NAME}-identity", f"{NAME}-kubeconfig"}
    assert kept[f"{NAME}-identity"] == made[f"{NAME}-identity"] | {"admin-token": b"given"}
    kubeconfig = yaml.safe_load(kept[f"{NAME}-kubeconfig"]["kubeconfig"])
    assert kubeconfig["users"][0]["user"]["token"] == "given"
    cluster = kubeconfig["clusters"][0]["cluster"]
    assert b64decode(cluster["certificate-authority-data"]) == kept[f"{NAME}-identity"]["ca.crt"]
    assert cluster["server"] == "https://api.example.org"


def test_given_certificates_are_trusted_and_no_others_made(
    server: ApiServer, helm: Helm, kubectl: Kubectl, tmp_path: Path
) -> None:
    data = {key: b64encode(key.encode()).decode() for key in ("ca.crt", "tls.crt", "tls.key")}
    given = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "given"},
        "type": "kubernetes.io/tls",
        "data": data,
    }
    kubectl("create", "-f", "-", given=given)
    with running_jobs(server, tmp_path):
        helm("install", "api", CHART, "-f", "-", given=MATRIX["given certificates"] | {"etcd": EXTERNAL})
        _await_jobs(kubectl)
    made = _secrets(kubectl)
    assert set(made) == {"given", f"{NAME}-identity", f"{NAME}-kubeconfig"}
    assert set(made[f"{NAME}-identity"]) == {"admin-token"}
    kubeconfig = yaml.safe_load(made[f"{NAME}-kubeconfig"]["kubeconfig"])
    assert b64decode(kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"]) == b"ca.crt"


def test_a_job_that_fails_is_left_to_be_looked_at(
    server: ApiServer, helm: Helm, kubectl: Kubectl, tmp_path: Path
) -> None:
    """A Secret of the same name that holds no CA stays as it is."""
    data = {"ca.crt": b64encode(b"none").decode(), "ca.key": b64encode(b"none").decode()}
    other = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{NAME}-etcd-ca"}, "data": data}
    kubectl("create", "-f", "-", given=other)
    with running_jobs(server, tmp_path):
        helm("install", "api", CHART)
        _await_jobs(kubectl, "failed")
    (job,) = kubectl.get("jobs")["items"]  # it is left, to be looked at
    assert "what a Secret holds cannot be used" in job["status"]["conditions"][-1]["message"]


def _await_jobs(kubectl: Kubectl, end: str = "complete") -> None:
    kubectl("wait", f"--for=condition={end}", "job", "--all", "--timeout=60s")


def test_the_job_may_make_secrets_and_read_and_change_its_own(helm: Helm, kubectl: Kubectl) -> None:
    kinds = ("ServiceAccount", "Role", "RoleBinding")
    kubectl("create", "-f", "-", given=_list([each for each in rendered(helm, {}) if each["kind"] in kinds]))
    account = f"--as=system:serviceaccount:{kubectl.namespace}:{NAME}-secrets"
    for verb, what, allowed in (
        ("create", "secrets", True),
        ("update", f"secrets/{NAME}-identity", True),
        ("get", "secrets", False),
        ("get", "secrets/other", False),
        ("delete", f"secrets/{NAME}-identity", False),
        ("get", "pods", False),
    ):
        assert kubectl.run("auth", "can-i", verb, what, account).returncode == (0 if allowed else 1), (verb, what)


def test_alerts_are_about_metrics_that_are_served(helm: Helm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by its name, with labels that it has. /metrics shows a family only once there is something to count."""
    monkeypatch.syspath_prepend(str(ROOT / "hack"))
    from metrics import families

    declared = {each.name: {"job", "namespace", *each.label_names} for each in families()}
    objects = rendered(helm, {"monitoring": {"rules": {"enabled": True}}})
    (made,) = [each for each in objects if each["kind"] == "PrometheusRule"]
    expressions = [rule["expr"] for group in made["spec"]["groups"] for rule in group["rules"]]
    named = {name for each in expressions for name in re.findall(r"apiserver_\w+", each)}
    assert named and named <= set(declared)
    for expression in expressions:
        for name, matchers in re.findall(r"(apiserver_\w+)\{(.*?)\}", expression):
            kept = ",".join(re.findall(r"\bby \((.*?)\)", expression))
            labels = {*re.findall(r"(\w+)=", matchers), *re.findall(r"\w+", kept)}
            assert labels <= declared[name], expression


def test_a_gateway_has_the_time_that_it_needs_to_end(helm: Helm) -> None:
    """It goes on while others take it off their lists, and then finishes what is under way."""
    (deployment,) = [each for each in rendered(helm, {}) if each["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    waits = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert waits + Settings().shutdown_timeout < pod["terminationGracePeriodSeconds"]


def _left(kubectl: Kubectl) -> list[str]:
    kinds = "deployments,statefulsets,services,secrets,configmaps,cronjobs,poddisruptionbudgets,serviceaccounts"
    kinds += ",jobs,roles,rolebindings"
    return [name for name in kubectl.names(kinds) if name != "serviceaccount/default"]


def _secrets(kubectl: Kubectl) -> dict[str, dict[str, bytes]]:
    """What the Secrets hold that are not helm's own."""
    return {
        each["metadata"]["name"]: {key: b64decode(text) for key, text in each["data"].items()}
        for each in kubectl.get("secrets")["items"]
        if each["type"] != "helm.sh/release.v1"
    }


def test_images_are_pulled_by_the_digests_that_are_given(helm: Helm) -> None:
    digests = [f"sha256:{each * 64}" for each in "ab"]
    values = {
        "image": {"digest": digests[0]},
        "etcd": {"image": {"digest": digests[1]}, "snapshots": {"enabled": True}},
    }
    images = {
        container["image"]
        for pod in pods(rendered(helm, values))
        for container in (*pod.get("initContainers", ()), *pod["containers"])
    }
    ours, etcd = f"apiserver-gateway:0.1.0@{digests[0]}", f"gcr.io/etcd-development/etcd:v3.6.16@{digests[1]}"
    assert images == {ours, etcd}


def _selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    return set(selector.get("matchLabels", {}).items()) <= set(labels.items())


def lets_in(policies: list[dict[str, Any]], source: dict[str, str], target: dict[str, str], port: str) -> bool:
    """Whether network policies let a pod of the namespace reach a named port of another, by their labels."""
    concerning = [each["spec"] for each in policies if _selects(each["spec"]["podSelector"], target)]
    rules = [rule for spec in concerning if "Ingress" in spec["policyTypes"] for rule in spec.get("ingress", ())]
    return not concerning or any(
        any(port == each["port"] for each in rule["ports"])
        and any(_selects(peer["podSelector"], source) for peer in rule.get("from", [{"podSelector": {}}]))
        for rule in rules
    )


def test_network_policies_let_in_what_is_needed_and_nobody_else(helm: Helm) -> None:
    friends = {"team": "a"}
    values = {"networkPolicy": {"enabled": True, "from": [{"podSelector": {"matchLabels": friends}}]}}
    objects = rendered(helm, values | {"etcd": {"snapshots": {"enabled": True}}})
    of = {(each["kind"], each["metadata"]["name"]): each for each in objects}
    policies = [each for (kind, _), each in of.items() if kind == "NetworkPolicy"]
    gateway, etcd = (of[key]["spec"]["template"] for key in (("Deployment", NAME), ("StatefulSet", f"{NAME}-etcd")))
    ports = {port["name"] for pod in (gateway, etcd) for port in pod["spec"]["containers"][0]["ports"]}
    assert ports == {"https", "client", "peer", "metrics"}
    names = ("defrag", "snapshot")
    jobs = [of["CronJob", f"{NAME}-etcd-{name}"]["spec"]["jobTemplate"]["spec"]["template"] for name in names]
    test, stranger = of["Pod", f"{NAME}-test"], {"metadata": {"labels": {"app": "other"}}}
    friend = {"metadata": {"labels": friends}}
    pods = {"gateway": gateway, "etcd": etcd, "defrag": jobs[0], "snapshot": jobs[1], "test": test}
    pods |= {"stranger": stranger, "friend": friend}
    labels = {name: pod["metadata"]["labels"] for name, pod in pods.items()}
    allowed = {
        "https": {"test", "friend"},
        "client": {"gateway", "etcd", "defrag", "snapshot"},
        "peer": {"etcd"},
        "metrics": set(labels),
    }
    for port, sources in allowed.items():
        target = labels["gateway" if port == "https" else "etcd"]
        assert {name for name in labels if lets_in(policies, labels[name], target, port)} == sources, port
    # what leaves is not cut: names are looked up, and webhooks and issuers are asked
    assert all(each["spec"]["policyTypes"] == ["Ingress"] for each in policies)


def test_pods_of_a_kind_keep_away_from_each_other(helm: Helm) -> None:
    """By nodes, as a wish or as a demand, and by zones; each pod is meant by its own selectors alone."""
    for wanted, key in {
        "soft": "preferredDuringSchedulingIgnoredDuringExecution",
        "hard": "requiredDuringSchedulingIgnoredDuringExecution",
    }.items():
        made = [
            each["spec"]["template"]
            for each in rendered(helm, {"podAntiAffinity": wanted})
            if each["kind"] in ("Deployment", "StatefulSet")
        ]
        for pod in made:
            ((term),) = pod["spec"]["affinity"]["podAntiAffinity"][key]
            term = term.get("podAffinityTerm", term)
            (spread,) = pod["spec"]["topologySpreadConstraints"]
            assert (term["topologyKey"], spread["topologyKey"]) == (
                "kubernetes.io/hostname",
                "topology.kubernetes.io/zone",
            )
            for selector in (term["labelSelector"], spread["labelSelector"]):
                meant = [_selects(selector, other["metadata"]["labels"]) for other in made]
                assert meant == [other is pod for other in made]
