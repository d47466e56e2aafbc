"""A real node on this server: the usual work of kubelet, containerd and kube-proxy in a cluster."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

from tests.upstream.node.cluster import Cluster
from tests.upstream.node.images import AGNHOST, BUSYBOX
from tests.upstream.node.joining import start_kubelet

WEB = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: web
        image: {AGNHOST}
        args: [netexec, --http-port=8080]
        readinessProbe: {{httpGet: {{path: /hostname, port: 8080}}, periodSeconds: 1}}
        livenessProbe: {{httpGet: {{path: /healthz, port: 8080}}}}
---
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec: {{selector: {{app: web}}, ports: [{{port: 80, targetPort: 8080}}]}}
"""
TOOLS = f"""
apiVersion: v1
kind: Pod
metadata: {{name: tools}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {{name: tools, image: {BUSYBOX}, command: [sh, -c, "echo begun; sleep 100000"],
     volumeMounts: [{{name: token, mountPath: /token}}]}}
  volumes:
  - name: token
    projected: {{sources: [{{serviceAccountToken: {{path: token, audience: a, expirationSeconds: 600}}}}]}}
"""
ASKING = f"""
apiVersion: v1
kind: Pod
metadata: {{name: asking}}
spec:
  restartPolicy: Never
  containers:
  - {{name: asking, image: {BUSYBOX}, stdin: true, stdinOnce: true, command: [sh, -c, "read word; echo got $word"]}}
"""
JOB = f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: count}}
spec:
  completions: 3
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: count, image: {BUSYBOX}, command: [sh, -c, "echo $JOB_COMPLETION_INDEX"]}}]
"""
BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
"""
VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget"
DRAIN = ("drain", "n1", "--ignore-daemonsets", "--delete-emptydir-data", "--force")


def test_a_node_joins_by_a_bootstrap_token_and_a_certificate_that_it_asks_for(nodes: Cluster) -> None:
    requests = json.loads(nodes.kubectl("get", "csr", "-o", "json"))["items"]
    asked = {each["spec"]["signerName"]: each["spec"]["username"] for each in requests}
    assert asked["kubernetes.io/kube-apiserver-client-kubelet"] == "system:bootstrap:abcdef"
    assert asked["kubernetes.io/kubelet-serving"] == "system:node:n1"
    assert nodes.kubectl("get", "nodes", "-o", "name") == "node/n1\n"


def test_pods_of_a_deployment_run_and_a_service_answers(nodes: Cluster) -> None:
    nodes.kubectl("apply", "-f", "-", given=WEB + "---" + TOOLS)
    nodes.kubectl("rollout", "status", "deployment/web", "--timeout=100s")
    nodes.kubectl("wait", "--for=condition=Ready", "pod/tools", "--timeout=100s")
    assert "web-" in _asked(nodes)


def test_a_job_ends(nodes: Cluster) -> None:
    nodes.kubectl("apply", "-f", "-", given=JOB)
    nodes.kubectl("wait", "--for=condition=complete", "job/count", "--timeout=100s")
    assert sorted(nodes.kubectl("logs", "-l", "batch.kubernetes.io/job-name=count").split()) == ["0", "1", "2"]


def test_a_pod_can_be_looked_into(nodes: Cluster) -> None:
    """kubectl logs, exec, cp, attach, debug and port-forward go through the server to the kubelet."""
    nodes.until(lambda: nodes.kubectl("logs", "tools") == "begun\n", "the log has what the pod has said")
    assert nodes.kubectl("exec", "-i", "tools", "--", "sh", "-c", "tr a-z A-Z; exit 0", given="word") == "WORD"
    (file := nodes.directory / "sent").write_bytes(os.urandom(1 << 20))
    nodes.kubectl("cp", str(file), "tools:/tmp/there")
    nodes.kubectl("cp", "tools:/tmp/there", str(nodes.directory / "back"))
    assert (nodes.directory / "back").read_bytes() == file.read_bytes()
    nodes.kubectl("apply", "-f", "-", given=ASKING)
    nodes.kubectl("wait", "--for=condition=Ready", "pod/asking", "--timeout=100s")
    nodes.kubectl("attach", "-i", "asking", given="a-word\n")
    nodes.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/asking", "--timeout=100s")
    assert nodes.kubectl("logs", "asking") == "got a-word\n"
    nodes.kubectl("debug", "tools", f"--image={BUSYBOX}", "--container=looking", "--", "sh", "-c", "echo looked")
    nodes.until(lambda: nodes.can("logs", "tools", "-c", "looking"), "the ephemeral container has run")
    assert nodes.kubectl("logs", "tools", "-c", "looking") == "looked\n"


def test_a_port_is_forwarded(nodes: Cluster) -> None:
    nodes.start("port-forward", *nodes.kubectl_words("port-forward", "deployment/web", "18080:8080"))
    nodes.until(lambda: "Forwarding from" in nodes.log("port-forward").read_text(), "the port is forwarded")
    assert "web-" in nodes.run("bash", "-c", _get("127.0.0.1", 18080))
    nodes.kill("port-forward")


def test_a_projected_token_is_renewed_by_a_kubelet_that_starts_again(nodes: Cluster) -> None:
    """The pod still runs, and gets another token, which the server accepts."""
    before, pod = _token(nodes), _pod(nodes, "tools")
    nodes.kill("n1-kubelet")
    start_kubelet(nodes, "n1")

    def is_renewed() -> bool:
        with contextlib.suppress(AssertionError):  # the kubelet does not answer yet
            return _token(nodes) not in ("", before)
        return False

    nodes.until(is_renewed, "the kubelet has renewed the token", 200)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    given = json.dumps({**review, "spec": {"token": _token(nodes), "audiences": ["a"]}})
    status = json.loads(nodes.kubectl("create", "-f", "-", "-o", "json", given=given))["status"]
    assert status["authenticated"] and status["user"]["username"] == "system:serviceaccount:default:default"
    assert _pod(nodes, "tools") == pod


def test_pods_go_on_while_the_server_is_killed_and_comes_back(nodes: Cluster) -> None:
    pod = _pod(nodes, "tools")
    address = nodes.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
    nodes.kill("apiserver")
    assert "web-" in nodes.run("bash", "-c", _get(address, 80), node="n1"), "the service answers without the server"
    nodes.start_server()
    nodes.kubectl("scale", "deployment/web", "--replicas=3")
    nodes.kubectl("rollout", "status", "deployment/web", "--timeout=110s")
    assert _pod(nodes, "tools") == pod and "web-" in _asked(nodes)
    nodes.kubectl("scale", "deployment/web", "--replicas=2")
    nodes.kubectl("rollout", "status", "deployment/web", "--timeout=110s")


def test_a_drain_evicts_as_a_disruption_budget_allows(nodes: Cluster) -> None:
    nodes.kubectl("apply", "-f", "-", given=BUDGET)
    nodes.kubectl("wait", "--for=jsonpath={.status.currentHealthy}=2", "pdb/web", "--timeout=100s")
    nodes.start("drain", *nodes.kubectl_words(*DRAIN, "--pod-selector=app=web"))  # drain retries evictions
    nodes.until(lambda: VIOLATED in nodes.log("drain").read_text(), "an eviction is refused")
    assert "evicted" not in nodes.log("drain").read_text()
    nodes.kill("drain")
    nodes.kubectl("delete", "pdb", "web")
    nodes.kubectl(*DRAIN, "--timeout=100s")
    phases = ("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].status.phase}")
    nodes.until(lambda: nodes.kubectl(*phases) == "Pending Pending", "others wait in their place")
    nodes.kubectl("uncordon", "n1")
    nodes.kubectl("rollout", "status", "deployment/web", "--timeout=110s")


def test_a_node_leaves(nodes: Cluster) -> None:
    nodes.kubectl("delete", "deployment", "web", "--timeout=100s")
    nodes.kubectl(*DRAIN, "--timeout=100s")
    nodes.kill("n1-kubelet")
    nodes.kubectl("delete", "node", "n1", "--timeout=100s")
    nodes.until(
        lambda: not nodes.can("get", "pods", "-A", "--field-selector=spec.nodeName=n1", "-o", "name"),
        "no pod is left on it",
    )
    assert nodes.kubectl("get", "nodes", "-o", "name") == ""


def _asked(nodes: Cluster) -> str:
    """The service's answer to the node; a pod can reach it, too."""
    address = nodes.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
    connecting = "exec", "deployment/web", "--", "/agnhost", "connect", "--timeout=20s", f"{address}:80"

    def reached() -> bool:
        with contextlib.suppress(AssertionError):
            nodes.kubectl(*connecting)
            return True
        return False

    nodes.until(reached, "kube-proxy knows the pods of the service")
    return nodes.run("bash", "-c", _get(address, 80), node="n1")


def _get(address: str, port: int) -> str:
    """A bash command that asks agnhost for its host name, because the image has no HTTP client."""
    return f"exec 3<>/dev/tcp/{address}/{port}; printf 'GET /hostname HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"


def _token(nodes: Cluster) -> str:
    return nodes.kubectl("exec", "tools", "--", "cat", "/token/token")


def _pod(nodes: Cluster, name: str) -> dict[str, Any]:
    """The parts of a pod that do not change while it runs: its identity, its node, and its container."""
    found = json.loads(nodes.kubectl("get", "pod", name, "-o", "json"))
    container = found["status"]["containerStatuses"][0]
    return {"uid": found["metadata"]["uid"], "ip": found["status"]["podIP"]} | {
        key: container[key] for key in ("containerID", "restartCount")
    }
