"""kubectl creates, reads, replaces, watches and deletes objects of namespaced, cluster-scoped and grouped types."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.release.minors import DEFAULT
from tests.clients.command import Kubectl

APPLICATION = Path(__file__).parent / "application" / "application.yaml"
PARTS = [
    "configmap/settings",
    "cronjob.batch/tidy",
    "deployment.apps/web",
    "horizontalpodautoscaler.autoscaling/web",
    "ingress.networking.k8s.io/web",
    "job.batch/migrate",
    "networkpolicy.networking.k8s.io/store",
    "poddisruptionbudget.policy/web",
    "role.rbac.authorization.k8s.io/shop",
    "rolebinding.rbac.authorization.k8s.io/shop",
    "secret/credentials",
    "service/store",
    "service/web",
    "serviceaccount/shop",
    "statefulset.apps/store",
]


def configmap(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_the_printed_commands_work(server: ApiServer, kubectl: Kubectl) -> None:
    log = server.log_file.read_text()
    assert f"export KUBECONFIG={server.kubeconfig}" in log
    assert "kubectl get namespaces" in log
    shown = kubectl("get", "namespaces")
    for name in ("default", "kube-node-lease", "kube-public", "kube-system", kubectl.namespace):
        assert name in shown


def test_an_application_of_many_parts(kubectl: Kubectl) -> None:
    created = kubectl("create", "-f", str(APPLICATION)).splitlines()
    assert sorted(line.removesuffix(" created") for line in created) == PARTS
    assert sorted(kubectl.names("-f", str(APPLICATION))) == PARTS
    web = kubectl.get("deployment", "web")
    assert web["spec"]["strategy"]["type"] == "RollingUpdate"  # defaulted
    assert kubectl.get("service", "web")["spec"]["clusterIP"].startswith("10.0.0.")
    assert kubectl.get("secret", "credentials")["data"] == {"password": "bm90IGEgc2VjcmV0"}
    again = kubectl.run("create", "-f", str(APPLICATION))
    assert again.returncode == 1
    assert again.stderr.count("AlreadyExists") == len(PARTS)
    kubectl("delete", "-f", str(APPLICATION), "--wait=true")
    assert kubectl.names("deployments,services,configmaps,secrets,ingresses,jobs,statefulsets") == []


def test_replace(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=configmap("settings", colour="blue"))
    kubectl("replace", "-f", "-", given=configmap("settings", colour="red"))
    settings = kubectl.get("configmap", "settings")
    assert settings["data"] == {"colour": "red"}
    settings["metadata"]["resourceVersion"] = "1"
    refused = kubectl.run("replace", "-f", "-", given=settings)
    assert refused.returncode == 1
    assert "the object has been modified" in refused.stderr


def test_replace_by_force_makes_another_object(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=configmap("settings", colour="blue"))
    before = kubectl.get("configmap", "settings")["metadata"]["uid"]
    kubectl("replace", "--force", "-f", "-", given=configmap("settings", colour="red"))
    assert kubectl.get("configmap", "settings")["metadata"]["uid"] != before


def test_objects_made_on_the_command_line(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "settings", "--from-literal=colour=blue")  # these bodies are protobuf
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2", "--port=80")
    kubectl("expose", "deployment", "web", "--port=80")
    kubectl("create", "secret", "generic", "credentials", "--from-literal=password=secret")
    kubectl("run", "once", "--image=busybox", "--restart=Never")
    kubectl("create", "quota", "limits", "--hard=pods=10,requests.cpu=2")
    assert kubectl.get("configmap", "settings")["data"] == {"colour": "blue"}
    assert kubectl.get("deployment", "web")["spec"]["replicas"] == 2
    assert kubectl.get("service", "web")["spec"]["selector"] == {"app": "web"}
    assert kubectl.get("resourcequota", "limits")["spec"]["hard"] == {"pods": "10", "requests.cpu": "2"}
    assert kubectl.get("pod", "once")["spec"]["restartPolicy"] == "Never"


def test_what_get_prints_can_be_created_again(kubectl: Kubectl) -> None:
    kubectl("create", "-f", str(APPLICATION))
    shown = kubectl("get", "deployments,configmaps,secrets", "-o", "yaml")
    kubectl("delete", "deployments,configmaps,secrets", "--all")
    kubectl("create", "-f", "-", given=shown)
    assert len(kubectl.names("deployments,configmaps,secrets")) == 3


def test_delete_by_name_by_label_and_all(kubectl: Kubectl) -> None:
    for name in ("a", "b", "c", "d"):
        kubectl("create", "-f", "-", given=configmap(name))
    kubectl("label", "configmap", "b", "c", "kind=odd")
    assert kubectl("delete", "configmap", "a") == f'configmap "a" deleted from {kubectl.namespace} namespace\n'
    kubectl("delete", "configmaps", "--selector=kind=odd")
    assert kubectl.names("configmaps") == ["configmap/d"]
    kubectl("delete", "configmaps", "--all")
    assert kubectl.names("configmaps") == []
    missing = kubectl.run("delete", "configmap", "a")
    assert 'Error from server (NotFound): configmaps "a" not found' in missing.stderr


def test_watch_shows_what_happens(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=configmap("before"))
    watch = (
        "get",
        "configmaps",
        "--watch",
        "--output-watch-events",
        "-o",
        r'jsonpath={.type} {.object.metadata.name}{"\n"}',
    )
    with kubectl.running(*watch) as watching:
        assert next_line(watching).split() == ["ADDED", "before"]
        kubectl("create", "-f", "-", given=configmap("after"))
        assert next_line(watching).split() == ["ADDED", "after"]
        kubectl("label", "configmap", "after", "colour=blue")
        assert next_line(watching).split() == ["MODIFIED", "after"]
        kubectl("delete", "configmap", "before")
        assert next_line(watching).split() == ["DELETED", "before"]


def test_wait_for_deletion_and_for_a_value(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=configmap("settings"))
    with kubectl.running("wait", "--for=delete", "configmap/settings", "--timeout=120s") as waiting:
        kubectl("delete", "configmap", "settings")
        assert waiting.wait(120) == 0
    kubectl("create", "-f", "-", given=configmap("settings"))
    with kubectl.running(
        "wait", "--for=jsonpath={.data.colour}=blue", "configmap/settings", "--timeout=120s"
    ) as waiting:
        kubectl("patch", "configmap", "settings", "--type=merge", "--patch", '{"data":{"colour":"blue"}}')
        assert waiting.wait(120) == 0


def test_lists_in_chunks(kubectl: Kubectl) -> None:
    items = [configmap(f"chunk-{number:02d}") for number in range(23)]
    kubectl("create", "-f", "-", given={"apiVersion": "v1", "kind": "List", "items": items})
    names = kubectl.names("configmaps", "--chunk-size=5")
    assert names == [f"configmap/chunk-{number:02d}" for number in range(23)]
    verbose = kubectl.run("get", "configmaps", "--chunk-size=5", "-v=6").stderr
    assert verbose.count("limit=5") == 5


def test_cluster_scoped_types(kubectl: Kubectl) -> None:
    name = kubectl.namespace
    for manifest in (
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}},
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": "example.com/disk",
        },
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": 10,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        },
    ):
        kind = f"{str(manifest['kind']).lower()}"
        kubectl("create", "-f", "-", given=manifest)
        assert kubectl.get(kind, name)["metadata"]["uid"]
        kubectl("label", kind, name, "colour=blue")
        assert [each.rpartition("/")[2] for each in kubectl.names(kind, "-l", "colour=blue")] == [name]
        kubectl("delete", kind, name)
        assert kubectl.run("get", kind, name).returncode == 1


def test_pods(kubectl: Kubectl) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one"},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]},
    }
    kubectl("create", "-f", "-", given=pod)
    assert kubectl.get("pod", "one")["status"]["phase"] == "Pending"
    assert kubectl.names("pods", "--field-selector=status.phase=Pending") == ["pod/one"]
    assert kubectl.names("pods", "--field-selector=spec.nodeName!=") == []
    kubectl("delete", "pod", "one", "--now")
    assert kubectl.names("pods") == []


def test_api_resources_and_versions(kubectl: Kubectl) -> None:
    rows = [line.split() for line in kubectl("api-resources", "--no-headers").splitlines()]
    assert ["deployments", "deploy", "apps/v1", "true", "Deployment"] in rows
    assert ["namespaces", "ns", "v1", "false", "Namespace"] in rows
    assert len(rows) > 55
    versions = kubectl("api-versions").split()
    assert {"v1", "apps/v1", "batch/v1", "networking.k8s.io/v1", "rbac.authorization.k8s.io/v1"} <= set(versions)


def test_every_listable_type_can_be_listed(kubectl: Kubectl) -> None:
    types = kubectl("api-resources", "--verbs=list", "-o", "name").split()
    assert json.loads(kubectl("get", ",".join(types), "--all-namespaces", "-o", "json"))["kind"] == "List"


def test_explain(kubectl: Kubectl) -> None:
    shown = kubectl("explain", "deployment.spec.strategy.rollingUpdate.maxSurge")
    assert "GROUP:      apps" in shown
    assert "maxSurge <IntOrString>" in shown


def test_explain_describes_fields(kubectl: Kubectl) -> None:
    shown = kubectl("explain", "pod.spec")
    assert "PodSpec is a description of a pod" in shown.replace("\n", " ")
    assert shown.count("<no description>") < shown.count(" <") / 5
    assert "hostNetwork\t<boolean>" in kubectl("explain", "pod", "--recursive")


def test_an_unknown_field_is_refused(kubectl: Kubectl) -> None:
    refused = kubectl.run("create", "-f", "-", given={**configmap("settings"), "datum": {}})
    assert refused.returncode == 1
    assert 'unknown field "datum"' in refused.stderr


def test_version(kubectl: Kubectl) -> None:
    shown = json.loads(kubectl("version", "-o", "json"))
    assert shown["serverVersion"]["gitVersion"].startswith(f"v{DEFAULT}.")


def next_line(process: subprocess.Popen[str]) -> str:
    """The next line that is not empty. The watch ends with the test, so this does not wait for ever."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip():
            return line
    pytest.fail(f"the command ended with {process.wait()}")
