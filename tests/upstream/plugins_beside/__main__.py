"""Has a kube-apiserver and a gateway with all plug-ins that are off by default decide on the same requests.

Compared are status, reason, message, details, and what is made of what is accepted.

    python -m tests.upstream plugins_beside [--programs DIR] [--only PodNodeSelector,ImagePolicyWebhook]

`--programs` (or APISERVER_GATEWAY_KUBERNETES) is where kube-apiserver is. NodeRestriction is compared by
tests/upstream/kubelet_requests.py. `EXPECTED` says what is known to differ, and why. Exit 1 where something else does.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from apiserver_gateway.testing import api_server
from apiserver_gateway.testing.webhooks import _certified
from tests.upstream import PEER
from tests.upstream.controlplane.server import TOKEN, kube_apiserver

from ..definition_fuzz.__main__ import report
from ..definition_fuzz.servers import LEVELS, Answer, Result, Side
from .cases import PARTS, prepared

Json = dict[str, Any]

USERS = ("writer", "deleter", "finalizer")
ON = (
    *("AlwaysAdmit", "AlwaysPullImages", "DenyServiceExternalIPs", "EventRateLimit", "ExtendedResourceToleration"),
    *("ImagePolicyWebhook", "LimitPodHardAntiAffinityTopology", "NamespaceAutoProvision", "NamespaceExists"),
    *("OwnerReferencesPermissionEnforcement", "PodNodeSelector", "PodTolerationRestriction"),
)
FLAGS = (f"--enable-admission-plugins={','.join(ON)}", "--disable-admission-plugins=ServiceAccount")
_CHOSEN = re.compile(r"\b(?<=[ps]-)[a-z0-9]{5}\b|\b10\.0\.0\.\d+\b")
EXPECTED: dict[str, str] = {  # case -> why
    "NamespaceAutoProvision/19": "a pod that is to be bound is looked for before admission",
}


class Images(BaseHTTPRequestHandler):
    """An image policy webhook that decides by the names of images."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = json.dumps(review["spec"])
        status: Json = {"allowed": '"bad' not in said}
        if "bad-reason" in said:
            status["reason"] = "no such registry"
        if "audited" in said:
            status["auditAnnotations"] = {"a": "b"}
        found: Any = {**review, "status": status}
        if "no-status" in said:
            del found["status"]
        body = {"garbage": b"{", "empty": b""}.get(next((k for k in ("garbage", "empty") if k in said), ""))
        code = re.search(r"status-(\d+)", said)
        self._answer(int(code[1]) if code else 200, json.dumps(found).encode() if body is None else body)

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""


def images(directory: Path) -> Path:
    """Serves `Images` until the process ends. Returns the path of a kubeconfig for it."""
    context, authority = _certified()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Images)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (directory / "images.crt").write_bytes(authority)
    cluster = {
        "server": f"https://127.0.0.1:{server.server_port}/",
        "certificate-authority": str(directory / "images.crt"),
    }
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    (directory / "images.kubeconfig").write_text(json.dumps(content))
    return directory / "images.kubeconfig"


def configuration(directory: Path) -> Path:
    """The file for --admission-control-config-file."""

    def typed(group: str, kind: str, **fields: Any) -> Json:
        return {"apiVersion": group, "kind": kind, **fields}

    events = [{"type": "Namespace", "qps": 1, "burst": 3}, {"type": "SourceAndObject", "qps": 1, "burst": 2}]
    priorities = {"scopeName": "PriorityClass", "operator": "In", "values": ["system-cluster-critical"]}
    limited = [
        {"resource": "pods", "matchScopes": [priorities], "matchContains": ["example.com"]},
        {"resource": "persistentvolumeclaims", "matchContains": [".storageclass.storage.k8s.io/requests.storage"]},
        {"resource": "secrets", "matchContains": ["secrets"]},
        {"resource": "services", "matchContains": ["nodeports", "loadbalancers"]},
        {"apiGroup": "apps", "resource": "deployments", "matchContains": ["deployments"]},
    ]
    selectors = {"clusterDefaultNodeSelector": "zone=here", "only": "zone=here,env=prod"}
    plugins = {
        "EventRateLimit": typed("eventratelimit.admission.k8s.io/v1alpha1", "Configuration", limits=events),
        "ImagePolicyWebhook": {"imagePolicy": {"kubeConfigFile": str(images(directory)), "retryBackoff": 1}},
        "PodNodeSelector": {"podNodeSelectorPluginConfig": selectors},
        "PodTolerationRestriction": typed(
            "podtolerationrestriction.admission.k8s.io/v1alpha1",
            "Configuration",
            whitelist=[
                {"key": "k", "operator": "Exists"},
                {"key": "team", "operator": "Exists"},
                {"operator": "Exists", "key": "node.kubernetes.io/not-ready"},
                {"operator": "Exists", "key": "node.kubernetes.io/unreachable"},
                {"operator": "Exists", "key": "node.kubernetes.io/memory-pressure"},
                {"operator": "Exists", "key": "example.com/gpu"},
            ],
            default=[{"key": "team", "operator": "Exists"}],
        ),
        "ResourceQuota": typed("apiserver.config.k8s.io/v1", "ResourceQuotaConfiguration", limitedResources=limited),
    }
    for name, content in plugins.items():
        (directory / f"{name}.yaml").write_text(json.dumps(content))
    files = [{"name": name, "path": str(directory / f"{name}.yaml")} for name in plugins]
    path = directory / "admission.yaml"
    path.write_text(json.dumps(typed("apiserver.config.k8s.io/v1", "AdmissionConfiguration", plugins=files)))
    return path


def _even(answer: Answer) -> Answer:
    """The answer without names and addresses that the server has chosen."""
    return replace(answer, body=json.loads(_CHOSEN.sub("<chosen>", json.dumps(answer.body))))


def compared(sides: dict[str, dict[str, Side]], only: set[str]) -> list[Result]:
    """Sends all requests to both servers, as the user that a request is `about` (by default the administrator)."""
    results = []
    for name, part in {"prepared": prepared, **PARTS}.items():
        if name != "prepared" and only and name not in only:
            continue
        for number, ask in enumerate(part()):
            answers = [_even(side[ask.about].ask(copy.deepcopy(ask))) for side in sides.values()]
            results.append(Result(f"{name}/{number}", ask, *answers))
        if name == "prepared":
            time.sleep(2)  # until the peer's informers have what was written
    return results


def _agrees(result: Result) -> bool:
    """Whether the answers agree; also if the peer's answer is a server error."""
    return result.level == len(LEVELS) and result.peer.status == result.ours.status


def main(words: Sequence[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, default=Path(os.environ.get("APISERVER_GATEWAY_KUBERNETES", ".")))
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true", help="show each case that differs as a whole")
    options = parser.parse_args(words)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        lines = "\n".join(f"{user},{user},{number}" for number, user in enumerate(USERS))
        (directory / "tokens.csv").write_text(f"{TOKEN},admin,1,system:masters\n{lines}\n")
        flags = [*FLAGS, f"--admission-control-config-file={configuration(directory)}", "--authorization-mode=RBAC"]
        start = kube_apiserver(options.programs / "kube-apiserver", flags, lines)
        peer = stack.enter_context(start(directory / "peer"))
        ours = stack.enter_context(
            api_server(*flags, f"--token-auth-file={directory / 'tokens.csv'}", "--controllers=-*", version=PEER)
        )
        sides = {
            name: {"": Side(url, TOKEN), **{user: Side(url, user) for user in USERS}}
            for name, url in (("peer", peer.url), ("ours", ours.url))
        }
        results = compared(sides, set(filter(None, options.only.split(","))))
    differing = [each for each in results if not _agrees(each) and each.name not in EXPECTED]
    if options.verbose:
        for each in differing:
            print(f"\n{each.name}: {each.request.method} {each.request.path} {json.dumps(each.request.body)[:300]}")
            for side, answer in (("peer", each.peer), ("ours", each.ours)):
                print(f"  {side}: {answer.status} {json.dumps(answer.body)[:900]}")
    report(differing, 60)
    print(f"{len(results)} cases, {len(differing)} differ")
    return int(bool(differing))
