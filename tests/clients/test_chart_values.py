"""The objects that the chart deploy/helm/apiserver-gateway renders are valid, and wrong values are refused."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from gateway.settings.config import Settings
from hack.metrics import families
from tests.clients.charts import CHART, EXTERNAL, FILES, GIVEN, INIT, NAME, ROOT, listed, one_of, pods, rendered
from tests.clients.command import Helm, Kubectl

GROUPS = {
    "v1",
    "apps",
    "batch",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
}  # what the gateway serves of what the chart makes


MATRIX: dict[str, dict[str, Any]] = {
    "defaults": {},
    "one of each": {"replicaCount": 1, "etcd": {"replicaCount": 1}, "podDisruptionBudget": {"enabled": False}},
    "etcd of others": {"etcd": EXTERNAL},
    "etcd of others with TLS and a user": {
        "etcd": {**EXTERNAL, "external": {**EXTERNAL["external"], "tlsSecretName": "tls", "userSecretName": "user"}},
    },
    "given certificates": {"certificates": GIVEN},
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
    "configuration files": FILES,
    "more of a pod": {
        "extraEnv": [{"name": "A", "value": "b"}],
        "extraVolumes": [{"name": "more", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
        "initContainers": [INIT],
        "encryption": {"secretName": "given"},
        "monitoring": {"serviceMonitor": {"enabled": True, "tokenSecretName": "given"}},
        "flags": {"token-auth-file": "/more/tokens.csv"},
    },
    "neither spread nor waiting": {"podAntiAffinity": "none", "topologySpread": False, "preStopSeconds": 0},
    "a port of nodes": {"service": {"type": "NodePort", "nodePort": 30443}},
    "a minor of Kubernetes": {"kubernetesVersion": "1.37"},
    "a minor of Kubernetes as a flag": {"flags": {"kubernetes-version": "1.35"}},
    "an account of others": {"serviceAccount": {"create": False, "name": "default"}},
}


INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown value": ({"replicas": 3}, "additional properties 'replicas' not allowed"),
    "an even number of members": ({"etcd": {"replicaCount": 2}}, "'/etcd/replicaCount': value must be one of 1, 3, 5"),
    "an etcd of nobody": ({"etcd": {"mode": "external"}}, "'/etcd/external/endpoints': minItems: got 0, want 1"),
    "certificates of nobody": ({"certificates": {"mode": "secret"}}, "'/certificates/secretName': minLength: got 0"),
    "an ingress without a host": ({"ingress": {"enabled": True}}, "'/ingress/host': minLength: got 0"),
    "a port that is none": ({"service": {"port": 70000}}, "'/service/port': maximum: got 70,000, want 65,535"),
    "an unknown flag": ({"flags": {"etcd-server": "x"}}, "invalid propertyName 'etcd-server'"),
    "a flag with a value of its own": ({"flags": {"workers": 2}}, "invalid propertyName 'workers'"),
    "a policy of another kind": ({"audit": {"policy": {"kind": "Policy"}}}, "missing property 'apiVersion'"),
    "half a digest": ({"image": {"digest": "sha256:ab"}}, "'/image/digest': 'sha256:ab' does not match pattern"),
    "a server without TLS": ({"admin": {"server": "http://api.example.org"}}, "does not match pattern '^(https://"),
}


def test_readme_and_schema_are_those_of_the_values() -> None:
    subprocess.run([sys.executable, str(ROOT / "hack" / "chart.py"), "--check"], check=True)


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)
def test_what_is_rendered_is_valid(helm: Helm, kubectl: Kubectl, values: dict[str, Any]) -> None:
    helm("lint", "--strict", CHART, "-f", "-", given=values)
    objects = rendered(helm, values)
    built_in = [each for each in objects if each["apiVersion"].partition("/")[0] in GROUPS]
    accounts = [each for each in built_in if each["kind"] == "ServiceAccount"]
    if accounts:  # no pod is admitted without its service account
        kubectl("create", "-f", "-", given=listed(accounts))
    others = [each for each in built_in if each not in accounts]
    kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", given=listed(others))
    names = {"default", *(each["metadata"]["name"] for each in accounts)}
    kubectl("label", "namespace", kubectl.namespace, "pod-security.kubernetes.io/enforce=restricted")
    found = list(pods(objects))
    for pod in found:
        assert_restricted(pod)
        assert pod["serviceAccountName"] in names
    alone = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}"}, "spec": pod} for i, pod in enumerate(found)
    ]
    kubectl("create", "--dry-run=server", "-f", "-", given=listed(alone))


def assert_restricted(pod: dict[str, Any]) -> None:
    """Asserts the Pod Security level `restricted`, a read-only root, no token and limited memory."""
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


def test_alerts_are_about_metrics_that_are_served(helm: Helm) -> None:
    """By name, with labels that the metric has. /metrics shows a family only after its first event."""
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


def test_pods_that_exclude_each_other_are_replaced_without_one_more(helm: Helm) -> None:
    """With as many nodes as pods there is no node for an additional pod."""
    hard = one_of(rendered(helm, {"podAntiAffinity": "hard", "replicaCount": 3}), "Deployment")["spec"]["strategy"]
    assert hard["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
    soft = one_of(rendered(helm, {}), "Deployment")["spec"]["strategy"]
    assert soft["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}


def test_a_gateway_has_the_time_that_it_needs_to_end(helm: Helm) -> None:
    """It still serves while load balancers remove it, and then completes its requests."""
    (deployment,) = [each for each in rendered(helm, {}) if each["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    waits = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert waits + Settings().shutdown_timeout < pod["terminationGracePeriodSeconds"]


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
    ours, etcd = f"apiserver-gateway:0.1.0@{digests[0]}", f"gcr.io/etcd-development/etcd:v3.7.3@{digests[1]}"
    assert images == {ours, etcd}


def _selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    return set(selector.get("matchLabels", {}).items()) <= set(labels.items())


def lets_in(policies: list[dict[str, Any]], source: dict[str, str], target: dict[str, str], port: str) -> bool:
    """Whether network policies let a pod of the namespace reach a named port of another pod, by their labels."""
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
    # outgoing traffic is not restricted: DNS, webhooks and issuers are needed
    assert all(each["spec"]["policyTypes"] == ["Ingress"] for each in policies)


def test_pods_of_a_kind_keep_away_from_each_other(helm: Helm) -> None:
    """By nodes, as a preference or a requirement, and by zones. Each rule selects only pods of its own component."""
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
