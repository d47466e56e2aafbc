"""kubectl changes objects: apply of both kinds, edit, label, annotate, patch, scale, set, rollout, diff, dry runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.command import Kubectl

SETTINGS: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings"},
    "data": {"colour": "blue", "size": "small"},
}


def deployment(image: str = "nginx:1.27") -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [
                        {"name": "web", "image": image, "ports": [{"containerPort": 80}]},
                        {"name": "side", "image": "envoy:1"},
                    ]
                },
            },
        },
    }


def images(kubectl: Kubectl) -> list[str]:
    return [each["image"] for each in kubectl.get("deployment", "web")["spec"]["template"]["spec"]["containers"]]


@pytest.fixture
def settings(kubectl: Kubectl) -> Kubectl:
    """kubectl, with an existing ConfigMap "settings"."""
    kubectl("create", "-f", "-", given=SETTINGS)
    return kubectl


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    """kubectl, with an existing Deployment "web"."""
    kubectl("create", "-f", "-", given=deployment())
    return kubectl


def test_apply_on_the_client_side(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", given=deployment()) == "deployment.apps/web created\n"
    assert kubectl("apply", "-f", "-", given=deployment()) == "deployment.apps/web unchanged\n"
    changed = deployment("nginx:1.28")
    del changed["spec"]["replicas"], changed["spec"]["template"]["spec"]["containers"][1]
    assert kubectl("apply", "-f", "-", given=changed) == "deployment.apps/web configured\n"
    assert images(kubectl) == ["nginx:1.28"]
    live = kubectl.get("deployment", "web")
    assert live["spec"]["replicas"] == 1  # no manager applies it any more, so it is defaulted
    assert "kubectl.kubernetes.io/last-applied-configuration" in live["metadata"]["annotations"]


def test_apply_keeps_what_others_set(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=SETTINGS)
    kubectl("patch", "configmap", "settings", "--type=merge", "--patch", '{"data":{"owner":"somebody"}}')
    kubectl("apply", "-f", "-", given={**SETTINGS, "data": {"colour": "red"}})
    assert kubectl.get("configmap", "settings")["data"] == {"colour": "red", "owner": "somebody"}


def test_apply_with_prune(kubectl: Kubectl) -> None:
    labelled = {**SETTINGS, "metadata": {"name": "settings", "labels": {"set": "one"}}}
    other = {**labelled, "metadata": {"name": "other", "labels": {"set": "one"}}}
    both = {"apiVersion": "v1", "kind": "List", "items": [labelled, other]}
    kubectl("apply", "-f", "-", given=both)
    prune = ("apply", "--prune", "--selector=set=one", "--prune-allowlist=core/v1/ConfigMap", "-f", "-")
    assert "configmap/other pruned" in kubectl(*prune, given=labelled)
    assert kubectl.names("configmaps") == ["configmap/settings"]


def test_apply_on_the_server_side(kubectl: Kubectl) -> None:
    apply = ("apply", "--server-side", "-f", "-")
    assert kubectl(*apply, given=deployment()) == "deployment.apps/web serverside-applied\n"
    before = kubectl.get("deployment", "web")["metadata"]["resourceVersion"]
    kubectl(*apply, given=deployment())
    assert kubectl.get("deployment", "web")["metadata"]["resourceVersion"] == before
    (manager,) = kubectl.get("deployment", "web", "--show-managed-fields")["metadata"]["managedFields"]
    assert (manager["manager"], manager["operation"]) == ("kubectl", "Apply")


def test_a_conflict_of_appliers_is_shown_and_can_be_forced(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "-f", "-", given=SETTINGS)
    changed = {**SETTINGS, "data": {"colour": "red"}}
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    refused = kubectl.run(*other, given=changed)
    assert refused.returncode == 1
    assert 'conflict with "kubectl": .data.colour' in refused.stderr
    kubectl(*other, "--force-conflicts", given=changed)
    assert kubectl.get("configmap", "settings")["data"] == {"colour": "red", "size": "small"}


def test_from_client_side_to_server_side_apply(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=SETTINGS)
    kubectl("apply", "--server-side", "-f", "-", given={**SETTINGS, "data": {"colour": "red"}})
    settings = kubectl.get("configmap", "settings", "--show-managed-fields")
    assert settings["data"] == {"colour": "red"}  # the fields of client-side apply have a new manager
    assert {entry["operation"] for entry in settings["metadata"]["managedFields"]} == {"Apply"}


def test_edit(settings: Kubectl, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/blue/green/ "$1"\n')
    editor.chmod(0o755)
    edited = settings("edit", "configmap", "settings", environment={"KUBE_EDITOR": str(editor)})
    assert edited == "configmap/settings edited\n"
    assert settings.get("configmap", "settings")["data"]["colour"] == "green"


def test_label_and_annotate(settings: Kubectl) -> None:
    settings("label", "configmap", "settings", "tier=front", "zone=a")
    settings("annotate", "configmap", "settings", "example.com/note=some words")
    metadata = settings.get("configmap", "settings")["metadata"]
    assert metadata["labels"] == {"tier": "front", "zone": "a"}
    assert metadata["annotations"] == {"example.com/note": "some words"}
    refused = settings.run("label", "configmap", "settings", "tier=back")
    assert "--overwrite is false" in refused.stderr
    settings("label", "--overwrite", "configmap", "settings", "tier=back", "zone-")
    assert settings.get("configmap", "settings")["metadata"]["labels"] == {"tier": "back"}


def test_patches_of_three_types(web: Kubectl) -> None:
    strategic = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "nginx:2"}]}}}}
    web("patch", "deployment", "web", "--type=strategic", "--patch", json.dumps(strategic))
    assert images(web) == ["nginx:2", "envoy:1"]
    operations = [{"op": "replace", "path": "/spec/template/spec/containers/1/image", "value": "envoy:2"}]
    web("patch", "deployment", "web", "--type=json", "--patch", json.dumps(operations))
    assert images(web) == ["nginx:2", "envoy:2"]
    merge = {"spec": {"template": {"spec": {"containers": [{"name": "only", "image": "caddy:2"}]}}}}
    web("patch", "deployment", "web", "--type=merge", "--patch", json.dumps(merge))
    assert images(web) == ["caddy:2"]


def test_patch_of_a_subresource(web: Kubectl) -> None:
    status = {"status": {"replicas": 2, "observedGeneration": 1}, "spec": {"replicas": 9}}
    web("patch", "deployment", "web", "--subresource=status", "--type=merge", "--patch", json.dumps(status))
    live = web.get("deployment", "web")
    assert (live["status"]["replicas"], live["spec"]["replicas"]) == (2, 2)


def test_scale(web: Kubectl) -> None:
    web("scale", "deployment", "web", "--replicas=5")
    assert web.get("deployment", "web")["spec"]["replicas"] == 5
    refused = web.run("scale", "deployment", "web", "--current-replicas=2", "--replicas=1")
    assert "Expected replicas to be 2, was 5" in refused.stderr


def test_set_image_environment_and_resources(web: Kubectl) -> None:
    web("set", "image", "deployment/web", "web=nginx:3")
    assert images(web) == ["nginx:3", "envoy:1"]
    web("set", "env", "deployment/web", "--containers=web", "COLOUR=blue")
    web("set", "resources", "deployment/web", "--containers=web", "--limits=cpu=1,memory=1Gi")
    main = web.get("deployment", "web")["spec"]["template"]["spec"]["containers"][0]
    assert main["env"] == [{"name": "COLOUR", "value": "blue"}]
    assert main["resources"] == {"limits": {"cpu": "1", "memory": "1Gi"}}


def test_rollout(web: Kubectl) -> None:
    generation = web.get("deployment", "web")["metadata"]["generation"]
    web("rollout", "restart", "deployment/web")
    live = web.get("deployment", "web")
    assert "kubectl.kubernetes.io/restartedAt" in live["spec"]["template"]["metadata"]["annotations"]
    assert live["metadata"]["generation"] == generation + 1
    web("rollout", "pause", "deployment/web")
    assert web.get("deployment", "web")["spec"]["paused"] is True
    web("rollout", "resume", "deployment/web")
    assert "paused" not in web.get("deployment", "web")["spec"]


def test_dry_runs_leave_nothing_behind(kubectl: Kubectl) -> None:
    shown = json.loads(kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", given=deployment()))
    assert shown["metadata"]["uid"]
    assert shown["spec"]["revisionHistoryLimit"] == 10  # the server's default
    assert (
        kubectl("apply", "--dry-run=server", "-f", "-", given=SETTINGS)
        == "configmap/settings created (server dry run)\n"
    )
    assert kubectl.names("deployments,configmaps") == []


def test_a_dry_run_is_validated(kubectl: Kubectl) -> None:
    invalid = deployment()
    invalid["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    refused = kubectl.run("create", "--dry-run=server", "-f", "-", given=invalid)
    assert refused.returncode == 1
    assert "`selector` does not match template `labels`" in refused.stderr


def test_diff(web: Kubectl) -> None:
    assert web.run("diff", "-f", "-", given=deployment()).returncode == 0
    different = web.run("diff", "-f", "-", given=deployment("nginx:1.28"))
    assert different.returncode == 1, different.stderr
    lines = {line[0] + line[1:].strip() for line in different.stdout.splitlines() if line[:1] in "+-"}
    assert {"-- image: nginx:1.27", "+- image: nginx:1.28"} <= lines
    assert images(web)[0] == "nginx:1.27"
    on_server = web.run("diff", "--server-side", "--force-conflicts", "-f", "-", given=deployment("nginx:1.28"))
    assert on_server.returncode == 1, on_server.stderr


def test_taint_and_cordon(kubectl: Kubectl) -> None:
    name = kubectl.namespace
    kubectl("create", "-f", "-", given={"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    kubectl("taint", "node", name, "dedicated=tests:NoSchedule")
    kubectl("cordon", name)
    spec = kubectl.get("node", name)["spec"]
    assert spec["unschedulable"] is True
    assert {"key": "dedicated", "value": "tests", "effect": "NoSchedule"} in spec["taints"]
    kubectl("delete", "node", name)
