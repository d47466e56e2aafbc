"""Extension API servers behind a gateway: Kubernetes' own sample-apiserver, and a stub of metrics-server."""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from apiserver_gateway.testing import ApiServer
from gateway.credentials.certificates import ensure_certificates, server_context
from storage.embedded import EmbeddedEtcd
from tests.clients.command import Kubectl
from tests.clients.golang import built
from tests.ports import free_ports

HOME = "wardle"
GROUP = "wardle.example.com"
METRICS = "metrics.k8s.io"
_ACCOUNT = {"kind": "ServiceAccount", "name": "apiserver", "namespace": HOME}
_READ = ["get", "list", "watch"]
_ADMISSION = [
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
]
_RULES = [
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": _READ},
    {"apiGroups": ["admissionregistration.k8s.io"], "resources": _ADMISSION, "verbs": _READ},
    {
        "apiGroups": ["flowcontrol.apiserver.k8s.io"],
        "resources": ["flowschemas", "prioritylevelconfigurations"],
        "verbs": _READ,
    },
]


def _bound(kind: str, name: str, role_kind: str, role: str, namespace: str = "") -> dict[str, Any]:
    rbac = "rbac.authorization.k8s.io"
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    reference = {"apiGroup": rbac, "kind": role_kind, "name": role}
    return {
        "apiVersion": f"{rbac}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": reference,
        "subjects": [_ACCOUNT],
    }


def service(name: str, port: int) -> dict[str, Any]:
    """A service with this machine's address, for extension API servers."""
    spec = {"type": "ExternalName", "externalName": "127.0.0.1", "ports": [{"port": port}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": HOME}, "spec": spec}


def api_service(group: str, version: str, name: str, port: int) -> dict[str, Any]:
    """An APIService that delegates a group version to a service."""
    spec = {
        "group": group,
        "version": version,
        "service": {"namespace": HOME, "name": name, "port": port},
        "insecureSkipTLSVerify": True,
        "groupPriorityMinimum": 1000,
        "versionPriority": 15,
    }
    metadata = {"name": f"{version}.{group}"}
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": spec}


def listed(*items: Mapping[str, Any]) -> dict[str, Any]:
    """Puts objects into one List for kubectl."""
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def _furnished(kubectl: Kubectl, port: int) -> None:
    """The roles and bindings of the sample's own manifests."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": HOME}}
    reader = "extension-apiserver-authentication-reader"
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "apiserver", "namespace": HOME}},
        {**role, "rules": _RULES},
        _bound("ClusterRoleBinding", f"{HOME}-reads", "ClusterRole", HOME),
        _bound("ClusterRoleBinding", f"{HOME}:system:auth-delegator", "ClusterRole", "system:auth-delegator"),
        _bound("RoleBinding", f"{HOME}-auth-reader", "Role", reader, "kube-system"),
        service("api", port),
        api_service(GROUP, "v1alpha1", "api", port),
        api_service(GROUP, "v1beta1", "api", port),
    ]
    kubectl("apply", "-f", "-", given=listed(*objects))


@contextmanager
def wardle(server: ApiServer, kubectl: Kubectl, directory: Path) -> Iterator[None]:
    """Kubernetes' sample-apiserver with its own etcd, as a service account; its APIService is available."""
    program, (port,) = built("wardle"), free_ports(1)
    _furnished(kubectl, port)
    token = kubectl("create", "token", "apiserver", f"--namespace={HOME}", "--duration=1h").strip()
    kubeconfig = directory / "kubeconfig"
    cluster = {"server": server.url, "certificate-authority": str(server.ca_file)}
    kubeconfig.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": {"token": token}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "c",
            }
        )
    )
    with EmbeddedEtcd() as etcd, (directory / "wardle.log").open("wb") as log:
        command = [str(program), f"--etcd-servers={etcd.endpoint}", f"--secure-port={port}", "--bind-address=127.0.0.1"]
        command += [f"--cert-dir={directory}"]
        command += [f"--{kind}kubeconfig={kubeconfig}" for kind in ("", "authentication-", "authorization-")]
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            for version in ("v1alpha1", "v1beta1"):
                kubectl("wait", "--for=condition=Available", f"apiservice/{version}.{GROUP}", "--timeout=120s")
            yield
        finally:
            process.kill()  # on SIGTERM it would wait for the watches of the gateway's controllers
            process.wait(60)


class _Metrics(BaseHTTPRequestHandler):
    """metrics.k8s.io like that of metrics-server, with one node and one pod."""

    protocol_version = "HTTP/1.1"
    root = f"/apis/{METRICS}/v1beta1"
    usage: Mapping[str, Any] = {"timestamp": "2026-01-02T03:04:05Z", "window": "15s"}
    kinds: Mapping[str, Any] = {
        "nodes": {"namespaced": False, "kind": "NodeMetrics"},
        "pods": {"namespaced": True, "kind": "PodMetrics"},
    }

    def do_GET(self) -> None:
        path, what = self.path.partition("?")[0], self.path.partition("?")[0].rpartition("/")[2]
        version = f"{METRICS}/v1beta1"
        if path == self.root:
            found = [
                {"name": each, "singularName": "", "verbs": ["get", "list"], **of} for each, of in self.kinds.items()
            ]
            said: dict[str, Any] = {"kind": "APIResourceList", "groupVersion": version, "resources": found}
        elif what == "nodes":
            usage = {"metadata": {"name": "big"}, "usage": {"cpu": "250m", "memory": "1Gi"}, **self.usage}
            said = {"kind": "NodeMetricsList", "apiVersion": version, "metadata": {}, "items": [usage]}
        elif what == "pods":
            containers = [{"name": "c", "usage": {"cpu": "7m", "memory": "12Mi"}}]
            usage = {"metadata": {"name": "web", "namespace": "default"}, "containers": containers, **self.usage}
            said = {"kind": "PodMetricsList", "apiVersion": version, "metadata": {}, "items": [usage]}
        else:
            said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
        body = json.dumps(said).encode()
        self.send_response(said.get("code", 200))
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def metrics(directory: Path) -> Iterator[int]:
    """Starts a server of metrics.k8s.io. Yields its port."""
    files = ensure_certificates(directory, ["127.0.0.1"])
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Metrics)
    context: ssl.SSLContext = server_context(files.certificate, files.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
