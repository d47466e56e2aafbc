"""Objects that the control plane cleans up: servers' leases, certificate requests, events, jobs, volumes."""

from __future__ import annotations

import socket
import time
from base64 import b64encode
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.controllers.identity import lease_name
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server
from tests.integration.lifecycle.api import Api
from tests.integration.server.client import ask
from tests.until import until

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
LABELS = {"apiserver.kubernetes.io/identity": "kube-apiserver"}


def names(server: ApiServer, path: str) -> set[str]:
    return {each["metadata"]["name"] for each in ask(server, "GET", path).json["items"]}


def lease(server: ApiServer, name: str, renewed: str) -> None:
    body = {"metadata": {"name": name, "labels": LABELS}, "spec": {"leaseDurationSeconds": 3600, "renewTime": renewed}}
    assert ask(server, "POST", LEASES, body).status == 201


def test_each_server_has_a_lease_until_it_stops_and_those_of_the_dead_go(own_etcd: EmbeddedEtcd) -> None:
    name, now = lease_name(socket.gethostname()), time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    with api_server("--controllers=-*", etcd_servers=own_etcd.endpoint) as first:
        until(lambda: name in names(first, LEASES))
        own = ask(first, "GET", f"{LEASES}/{name}").json
        assert own["metadata"]["labels"] == {**LABELS, "kubernetes.io/hostname": socket.gethostname()}
        assert own["spec"]["holderIdentity"].startswith(f"{name}_")
        assert own["spec"]["leaseDurationSeconds"] == 3600
        lease(first, "apiserver-dead", "2020-01-01T00:00:00.000000Z")
        lease(first, "apiserver-living", now)
    with api_server("--controllers=-*", etcd_servers=own_etcd.endpoint) as second:
        until(lambda: {"apiserver-living", name} == names(second, LEASES))
        another = ask(second, "GET", f"{LEASES}/{name}").json
        assert another["metadata"]["uid"] != own["metadata"]["uid"], "a clean stop deletes it"


def test_a_certificate_request_that_was_denied_long_ago_goes(server: ApiServer) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding

    key = ec.generate_private_key(ec.SECP256R1())
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    request = b64encode(made.public_bytes(Encoding.PEM)).decode()
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    spec = {"request": request, "signerName": "example.com/s", "usages": ["client auth"]}
    for name, year in (("old", 2020), ("young", 2120)):
        body: dict[str, Any] = {"metadata": {"name": name}, "spec": spec}
        answer = ask(server, "POST", path, body)
        assert answer.status == 201, answer.body
        at = f"{year}-01-01T00:00:00Z"
        denied = {"type": "Denied", "status": "True", "reason": "No", "message": "no", "lastUpdateTime": at}
        body = answer.json | {"status": {"conditions": [denied]}}
        answer = ask(server, "PUT", f"{path}/{name}/approval", body)
        assert answer.status == 200, answer.body
    until(lambda: names(server, path) == {"young"})
    ask(server, "DELETE", f"{path}/young")


def test_events_go_after_their_time() -> None:
    with api_server("--event-ttl=2s", "--controllers=-*") as server:
        api = Api(server, "default")
        about = {"kind": "Pod", "namespace": "default", "name": "p"}
        body = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "R", "message": "m", "type": "Normal"}
        there = None
        while there is None:  # on a busy machine it may have expired
            assert api.ask("POST", api.path(resource="events"), body).status == 201
            there = api.get("e", "events")
        until(lambda: api.get("e", "events") is None)


def job(api: Api, name: str, finished: bool, ttl: int | None) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    spec: dict[str, Any] = {"template": template}
    if ttl is not None:
        spec["ttlSecondsAfterFinished"] = ttl
    path = f"/apis/batch/v1/namespaces/{api.namespace}/jobs"
    made = api.ask("POST", path, {"metadata": {"name": name}, "spec": spec})
    assert made.status == 201, made.body
    if finished:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        condition = {"status": "True", "lastTransitionTime": at, "lastProbeTime": at}
        kinds = ("FailureTarget", "Failed")
        status = {"conditions": [{**condition, "type": kind} for kind in kinds], "startTime": at, "failed": 1}
        answer = api.ask("PUT", f"{path}/{name}/status", made.json | {"status": status})
        assert answer.status == 200, answer.body


def test_finished_jobs_go_after_their_time(api: Api) -> None:
    job(api, "done", finished=True, ttl=1)
    job(api, "running", finished=False, ttl=1)
    job(api, "kept", finished=True, ttl=None)
    path = f"/apis/batch/v1/namespaces/{api.namespace}/jobs"
    until(lambda: names(api.server, path) == {"running", "kept"})


def claim(api: Api) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    answer = api.ask("POST", api.path(resource="persistentvolumeclaims"), {"metadata": {"name": "c"}, "spec": spec})
    assert answer.status == 201, answer.body


def test_a_claim_stays_while_a_scheduled_pod_uses_it(api: Api) -> None:
    claims = "persistentvolumeclaims"
    claim(api)
    api.has_account()
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    body = {"metadata": {"name": "p", "finalizers": ["example.com/f"]}, "spec": spec}
    assert api.ask("POST", api.path(resource="pods"), body).status == 201
    api.delete("c", resource=claims)
    held = api.get("c", claims)
    assert held is not None and held["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    api.delete("p", resource="pods")
    api.patch("p", {"finalizers": None}, "pods")
    until(lambda: api.get("c", claims) is None)


def test_a_volume_stays_while_it_is_bound(api: Api) -> None:
    name, path = f"{api.namespace}-v", "/api/v1/persistentvolumes"
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "persistentVolumeReclaimPolicy": "Retain",
    }
    made = api.ask("POST", path, {"metadata": {"name": name}, "spec": spec})
    assert made.status == 201, made.body
    headers = {"Content-Type": "application/merge-patch+json"}
    bound = api.ask("PATCH", f"{path}/{name}/status", {"status": {"phase": "Bound"}}, headers=headers)
    assert bound.json["status"]["phase"] == "Bound"
    marked = api.ask("DELETE", f"{path}/{name}").json
    assert marked["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    api.ask("PATCH", f"{path}/{name}/status", {"status": {"phase": "Released"}}, headers=headers)
    until(lambda: api.ask("GET", f"{path}/{name}").status == 404)


CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"


def attributes_class(api: Api, name: str) -> str:
    """Creates a VolumeAttributesClass. Returns its path."""
    name = f"{api.namespace}-{name}"
    made = api.ask("POST", CLASSES, {"metadata": {"name": name}, "driverName": "example.com", "parameters": {"a": "b"}})
    assert made.json["metadata"]["finalizers"] == ["kubernetes.io/vac-protection"]
    return f"{CLASSES}/{name}"


@pytest.mark.parametrize("named", ["spec", "status"])
def test_a_class_of_volume_attributes_stays_while_a_claim_names_it(api: Api, named: str) -> None:
    used, unused = attributes_class(api, "used"), attributes_class(api, "unused")
    name = used.rpartition("/")[2]
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spec |= {"volumeAttributesClassName": name} if named == "spec" else {}
    claims = api.path(resource="persistentvolumeclaims")
    assert api.ask("POST", claims, {"metadata": {"name": "c"}, "spec": spec}).status == 201
    if named == "status":
        headers = {"Content-Type": "application/merge-patch+json"}
        modified = {"targetVolumeAttributesClassName": name, "status": "InProgress"}
        status = {"status": {"modifyVolumeStatus": modified}}
        assert api.ask("PATCH", f"{claims}/c/status", status, headers=headers).status == 200
    assert "deletionTimestamp" in api.ask("DELETE", used).json["metadata"]
    api.ask("DELETE", unused)
    until(lambda: api.ask("GET", unused).status == 404)
    assert api.ask("GET", used).status == 200
    api.delete("c", resource="persistentvolumeclaims")
    until(lambda: api.ask("GET", used).status == 404)
