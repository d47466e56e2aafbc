"""Sends the same requests of a kubelet to two servers, and says where they decide otherwise: `python -m tests.upstream
kubelet_requests URL TOKEN URL TOKEN --node-token TOKEN`, the first tokens being administrators'.

Both take --authorization-mode=Node,RBAC, --enable-admission-plugins=NodeRestriction and a token of `system:node:a` in
the group `system:nodes`. One of the servers is meant to be a kube-apiserver.
"""

from __future__ import annotations

import argparse
import http.client
import json
import ssl
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]
Sent = tuple[str, str, Any, str]  # method, path, body, media type
JSON, MERGE, APPLY = "application/json", "application/merge-patch+json", "application/apply-patch+yaml"
HOME = f"nodes-{int(time.time())}"
PATIENCE = 20.0  # seconds in which kube-apiserver's informers get its writes, on a busy machine too
SPACE = f"/api/v1/namespaces/{HOME}"
STORAGE, DEVICES = "/apis/storage.k8s.io/v1", "/apis/resource.k8s.io/v1"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


class Server:
    """One of the two servers."""

    def __init__(self, url: str, admin: str, node: str) -> None:
        parts = urlsplit(url)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self._connection = http.client.HTTPSConnection(parts.hostname or "", parts.port or 443, context=context)
        self._tokens = {"admin": admin, "node": node}

    def send(self, who: str, sent: Sent) -> tuple[int, Json]:
        method, path, body, media = sent
        headers = {"Authorization": f"Bearer {self._tokens[who]}", "Content-Type": media, "Accept": JSON}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read() or b"{}")

    def uid(self, path: str) -> str:
        return str(self.send("admin", ("GET", path, None, JSON))[1].get("metadata", {}).get("uid", ""))


def made() -> Iterator[Sent]:
    """The administrator's objects: two nodes, each with a pod and all that the pod refers to."""
    yield _post("/api/v1/namespaces", {"metadata": {"name": HOME}})
    for node in ("a", "b"):
        yield "DELETE", f"/api/v1/nodes/{node}", None, JSON
        yield _post("/api/v1/nodes", {"metadata": {"name": node}})
        for kind in ("secrets", "configmaps"):
            for use in ("volume", "projected", "env", "key", "pull", "csi", "free"):
                yield _post(f"{SPACE}/{kind}", {"metadata": {"name": f"{use}-{node}"}})
        yield _post(f"{SPACE}/serviceaccounts", {"metadata": {"name": f"robot-{node}"}})
        spec: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        claim = {"metadata": {"name": f"claim-{node}"}, "spec": spec | {"volumeName": f"{HOME}-{node}"}}
        yield _post(f"{SPACE}/persistentvolumeclaims", claim)
        yield _post(f"{SPACE}/persistentvolumeclaims", {"metadata": {"name": f"pod-{node}-scratch"}, "spec": spec})
        yield _post("/api/v1/persistentvolumes", _volume(node))
        attachment = {"attacher": "d", "nodeName": node, "source": {"persistentVolumeName": f"{HOME}-{node}"}}
        yield _post(f"{STORAGE}/volumeattachments", {"metadata": {"name": f"{HOME}-{node}"}, "spec": attachment})
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        devices = {"driver": "d.example.com", "nodeName": node, "pool": pool, "devices": []}
        yield _post(f"{DEVICES}/resourceslices", {"metadata": {"name": f"{HOME}-{node}"}, "spec": devices})
        yield _post(f"{DEVICES}/namespaces/{HOME}/resourceclaims", {"metadata": {"name": f"device-{node}"}, "spec": {}})
        yield _post(f"{STORAGE}/csinodes", {"metadata": {"name": node}, "spec": {"drivers": []}})
        yield _post(LEASES, {"metadata": {"name": node}})
        yield _post(f"{SPACE}/pods", _pod(node))


def _volume(node: str) -> Json:
    csi = {
        "driver": "d",
        "volumeHandle": node,
        "nodePublishSecretRef": {"namespace": HOME, "name": f"csi-{node}"},
        "controllerPublishSecretRef": {"namespace": HOME, "name": f"free-{node}"},
    }
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": HOME, "name": f"claim-{node}"}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "csi": csi, "claimRef": claim}
    return {"metadata": {"name": f"{HOME}-{node}"}, "spec": spec}


def _pod(node: str) -> Json:
    projected = [{"secret": {"name": f"projected-{node}"}}, {"configMap": {"name": f"projected-{node}"}}]
    volumes = [
        {"name": "s", "secret": {"secretName": f"volume-{node}"}},
        {"name": "m", "configMap": {"name": f"volume-{node}"}},
        {"name": "p", "projected": {"sources": projected}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": f"claim-{node}"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}},
    ]  # fmt: skip
    container = {
        "name": "c",
        "image": "i",
        "envFrom": [{"secretRef": {"name": f"env-{node}"}}, {"configMapRef": {"name": f"env-{node}"}}],
        "env": [
            {"name": "S", "valueFrom": {"secretKeyRef": {"name": f"key-{node}", "key": "k"}}},
            {"name": "M", "valueFrom": {"configMapKeyRef": {"name": f"key-{node}", "key": "k"}}},
        ],
    }
    spec = {
        "nodeName": node,
        "serviceAccountName": f"robot-{node}",
        "imagePullSecrets": [{"name": f"pull-{node}"}],
        "resourceClaims": [{"name": "d", "resourceClaimName": f"device-{node}"}],
        "containers": [container],
        "volumes": volumes,
    }
    return {"metadata": {"name": f"pod-{node}"}, "spec": spec}


def asked(server: Server) -> Iterator[Sent]:
    """The requests of node `a`'s kubelet; uids are those of the server."""
    yield from _reads()
    yield from _own_things()
    yield from _tokens(server)
    yield from _pods(server)
    yield from _labels()


def _reads() -> Iterator[Sent]:
    for node in ("a", "b"):
        for kind in ("secrets", "configmaps"):
            for use in ("volume", "projected", "env", "key", "pull", "csi", "free"):
                yield _get(f"{SPACE}/{kind}/{use}-{node}")
        yield _get(f"{SPACE}/secrets?fieldSelector=metadata.name%3Dvolume-{node}")
        yield _get(f"{SPACE}/pods/pod-{node}")
        yield _get(f"{SPACE}/pods/pod-{node}/log")
        yield _get(f"{SPACE}/serviceaccounts/robot-{node}")
        for name in (f"claim-{node}", f"pod-{node}-scratch"):
            yield _get(f"{SPACE}/persistentvolumeclaims/{name}")
            status = {"status": {"phase": "Pending"}}
            yield "PATCH", f"{SPACE}/persistentvolumeclaims/{name}/status", status, MERGE
            yield "PATCH", f"{SPACE}/persistentvolumeclaims/{name}", {"metadata": {"labels": {"x": "y"}}}, MERGE
        yield _get(f"/api/v1/persistentvolumes/{HOME}-{node}")
        yield _get(f"{STORAGE}/volumeattachments/{HOME}-{node}")
        yield _get(f"{STORAGE}/csinodes/{node}")
        yield _get(f"{DEVICES}/namespaces/{HOME}/resourceclaims/device-{node}")
        yield _get(f"{DEVICES}/resourceslices/{HOME}-{node}")
        yield _get(f"{DEVICES}/resourceslices?fieldSelector=spec.nodeName%3D{node}")
        yield _get(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{node}")
        yield _get(f"/api/v1/nodes/{node}")
        yield _get(f"/api/v1/nodes?fieldSelector=metadata.name%3D{node}")
        yield _get(f"{LEASES}/{node}")
    for path in (
        f"{SPACE}/secrets", f"{SPACE}/configmaps", f"{SPACE}/pods", f"{SPACE}/persistentvolumeclaims", "/api/v1/nodes",
        "/api/v1/persistentvolumes", f"{STORAGE}/csinodes", f"{STORAGE}/volumeattachments", f"{STORAGE}/csidrivers",
        f"{DEVICES}/resourceslices", LEASES, "/api/v1/services", f"{SPACE}/services/x", "/api/v1/namespaces", REQUESTS,
        "/apis/node.k8s.io/v1/runtimeclasses", f"{SPACE}/endpoints", f"{SPACE}/events", "/apis/apps/v1/deployments",
        f"{SPACE}/serviceaccounts", f"{DEVICES}/deviceclasses", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    ):  # fmt: skip
        yield _get(path)


def _own_things() -> Iterator[Sent]:
    for node in ("a", "b", "c"):
        yield "PATCH", f"{LEASES}/{node}", {"spec": {"holderIdentity": node}}, MERGE
        yield _post(LEASES, {"metadata": {"name": node}})
        yield "PATCH", f"{STORAGE}/csinodes/{node}", {"metadata": {"labels": {"x": "y"}}}, MERGE
        yield _post(f"{STORAGE}/csinodes", {"metadata": {"name": node}, "spec": {"drivers": []}})
        yield "DELETE", f"{STORAGE}/csinodes/{node}", None, JSON
        yield "PATCH", f"{DEVICES}/resourceslices/{HOME}-{node}", {"metadata": {"labels": {"x": "y"}}}, MERGE
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "d.example.com", "nodeName": node, "pool": pool, "devices": []}
        yield _post(f"{DEVICES}/resourceslices", {"metadata": {"name": f"{HOME}-new-{node}"}, "spec": spec})
        yield "DELETE", f"{DEVICES}/resourceslices/{HOME}-{node}", None, JSON
        yield "DELETE", f"{DEVICES}/resourceslices?fieldSelector=spec.nodeName%3D{node}", None, JSON
        yield "DELETE", f"{LEASES}/{node}", None, JSON
    yield "DELETE", f"{DEVICES}/resourceslices", None, JSON
    yield "DELETE", LEASES, None, JSON
    request = {"spec": {"request": "", "signerName": "kubernetes.io/kubelet-serving", "usages": ["server auth"]}}
    yield _post(REQUESTS, {"metadata": {"name": f"{HOME}-a"}, **request})


def _tokens(server: Server) -> Iterator[Sent]:
    for node in ("a", "b"):
        uid = server.uid(f"{SPACE}/pods/pod-{node}")
        for account in ("robot-a", "robot-b", "default"):
            path = f"{SPACE}/serviceaccounts/{account}/token"
            bound = {"kind": "Pod", "apiVersion": "v1", "name": f"pod-{node}", "uid": uid}
            yield _post(path, {"spec": {"boundObjectRef": bound}})
            yield _post(path, {"spec": {"boundObjectRef": {**bound, "uid": ""}}})
            yield _post(path, {"spec": {"boundObjectRef": bound, "audiences": ["bank"]}})
            yield _post(path, {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "volume-a"}}})
            yield _post(path, {"spec": {}})


def _pods(server: Server) -> Iterator[Sent]:
    for node in ("a", "b"):
        owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": server.uid(f"/api/v1/nodes/{node}")}
        meta: Json = {"name": f"mirror-{node}", "annotations": {"kubernetes.io/config.mirror": "x"}}
        plain: Json = {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}
        yield _post(f"{SPACE}/pods", {"metadata": {"name": "plain"}, "spec": plain})
        yield _post(f"{SPACE}/pods", {"metadata": meta, "spec": plain})
        meta = meta | {"ownerReferences": [owner | {"controller": True}]}
        for more in (
            {"serviceAccountName": "robot-a"},
            {"volumes": [{"name": "v", "secret": {"secretName": "volume-a"}}]},
            {"volumes": [{"name": "v", "configMap": {"name": "volume-a"}}]},
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "claim-a"}}]},
            {"resourceClaims": [{"name": "d", "resourceClaimName": "device-a"}]},
            {},
        ):
            yield _post(f"{SPACE}/pods", {"metadata": meta, "spec": plain | more})
        for name in (f"pod-{node}", f"mirror-{node}"):
            yield "PATCH", f"{SPACE}/pods/{name}/status", {"status": {"phase": "Running"}}, MERGE
            yield "PATCH", f"{SPACE}/pods/{name}/status", {"metadata": {"labels": {"x": "y"}}}, MERGE
            claims = [{"name": "d", "resourceClaimName": "device-b"}]
            yield "PATCH", f"{SPACE}/pods/{name}/status", {"status": {"resourceClaimStatuses": claims}}, MERGE
            yield "PATCH", f"{SPACE}/pods/{name}", {"metadata": {"labels": {"x": "y"}}}, MERGE
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": f"mirror-{node}"}}
        yield _post(f"{SPACE}/pods/mirror-{node}/eviction", eviction)
        for name in (f"pod-{node}", f"mirror-{node}"):
            yield "DELETE", f"{SPACE}/pods/{name}?gracePeriodSeconds=0", None, JSON
    yield "DELETE", f"{SPACE}/pods", None, JSON


def _labels() -> Iterator[Sent]:
    for node in ("a", "b"):
        for key in (
            "example.org/any", "kubernetes.io/hostname", "kubernetes.io/arch", "node.kubernetes.io/any", "any",
            "kubelet.kubernetes.io/any", "topology.kubernetes.io/zone", "node-restriction.kubernetes.io/any",
            "sub.node-restriction.kubernetes.io/any", "node-role.kubernetes.io/control-plane", "kubernetes.io/any",
            "beta.kubernetes.io/os", "k8s.io/any", "node.kubernetes.io/instance-type", "any.kubelet.kubernetes.io/x",
        ):  # fmt: skip
            yield "PATCH", f"/api/v1/nodes/{node}", {"metadata": {"labels": {key: "x"}}}, MERGE
        yield "PATCH", f"/api/v1/nodes/{node}", {"metadata": {"annotations": {"x": "y"}}}, MERGE
        yield "PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}, MERGE
        yield "PATCH", f"/api/v1/nodes/{node}", {"spec": {"podCIDR": "10.1.0.0/24"}}, MERGE
        owner = {"apiVersion": "v1", "kind": "Node", "name": "b", "uid": "x"}
        yield "PATCH", f"/api/v1/nodes/{node}", {"metadata": {"ownerReferences": [owner]}}, MERGE
        capacity = {"status": {"capacity": {"cpu": "1"}}}
        yield "PATCH", f"/api/v1/nodes/{node}/status", capacity, MERGE
        yield "PATCH", f"/api/v1/nodes/{node}/status", {"metadata": {"labels": {"k8s.io/any": "x"}}}, MERGE
        source = {"configMap": {"namespace": HOME, "name": "x", "kubeletConfigKey": "k"}}
        yield "PATCH", f"/api/v1/nodes/{node}", {"spec": {"configSource": source}}, MERGE
        applied = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": {"applied": "x"}}}
        yield "PATCH", f"/api/v1/nodes/{node}?fieldManager=kubelet", applied, APPLY
        yield _post("/api/v1/nodes", {"metadata": {"name": node}})
        yield "DELETE", f"/api/v1/nodes/{node}", None, JSON
    yield _post("/api/v1/nodes", {"metadata": {"name": "c", "labels": {"node-role.kubernetes.io/x": ""}}})


def _post(path: str, body: Json) -> Sent:
    return "POST", path, body, JSON


def _get(path: str) -> Sent:
    return "GET", path, None, JSON


def _shown(server: Server, sent: Sent) -> tuple[int, str]:
    status, answer = server.send("node", sent)
    return status, str(answer.get("message", "")) if status >= 400 else ""


def _compared(servers: list[Server], asked: list[Sent]) -> list[tuple[int, str]]:
    """Both answers. Requests without side effects are repeated while the answers differ: kube-apiserver's graph may be
    late.
    """
    said = [_shown(server, sent) for server, sent in zip(servers, asked, strict=True)]
    end = time.monotonic() + PATIENCE
    while said[0] != said[1] and time.monotonic() < end:
        time.sleep(0.2)
        for place, (server, sent) in enumerate(zip(servers, asked, strict=True)):
            if sent[0] == "GET" or said[place][0] >= 400:
                said[place] = _shown(server, sent)
    return said


def main(words: Sequence[str]) -> int:
    """Compares the servers. Returns 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers", nargs=4, metavar="URL TOKEN")
    parser.add_argument("--node-token", required=True)
    parsed = parser.parse_args(words)
    servers = [Server(url, token, parsed.node_token) for url, token in (parsed.servers[:2], parsed.servers[2:])]
    for sent in made():
        for server in servers:
            status, answer = server.send("admin", sent)
            if status not in (200, 201) and sent[0] == "POST":
                print(f"{sent[:2]} answered {status}: {answer.get('message')}")
    time.sleep(2)  # kube-apiserver's graph is late
    count = found = 0
    for ours, theirs in zip(asked(servers[0]), asked(servers[1]), strict=True):
        one, other = _compared(servers, [ours, theirs])
        count += 1
        if one != other:
            found += 1
            print(f"{ours[0]} {ours[1]} {json.dumps(ours[2])}\n    {one}\n    {other}")
        elif ours[0] != "GET" and one[0] < 300:
            time.sleep(0.2)
    print(f"{count} requests, {found} decided otherwise")
    return 1 if found else 0
