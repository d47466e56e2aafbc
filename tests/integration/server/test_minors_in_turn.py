"""One etcd that is served as one minor of Kubernetes after the other: no object is lost, and none changes."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from apiserver_gateway.testing.requests import Refused, ask
from apiserver_gateway.testing.server import ApiServer
from gateway.credentials.certificates import new_authority
from gateway.jsontypes import loads
from gateway.kinds.builtin import builtin_registry, early_versions
from gateway.release.minors import DEFAULT
from gateway.release.release import release_of
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings
from tests.forked import api_server
from tests.upstream.protobuf_recordings import NAME, bodies

# kinds that come with 1.37, and fields that are dropped by earlier minors
LATER: dict[str, Any] = {
    "/apis/certificates.k8s.io/v1/clustertrustbundles": {"trustBundle": new_authority().certificate.decode()},
    "/apis/resource.k8s.io/v1/devicetaintrules": {
        "deviceSelector": {"driver": "gpu.example.com"},
        "taint": {"key": "example.com/broken", "effect": "NoSchedule"},
    },
    "/apis/storagemigration.k8s.io/v1/storageversionmigrations": {
        "resource": {"group": "apps", "resource": "deployments"}
    },
    "/apis/storage.k8s.io/v1/csidrivers": {"preventPodSchedulingIfMissing": True},
}
# kinds that are served if they are switched on
ON_DEMAND: dict[str, Any] = {
    "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates": {
        **{"leaseName": "l", "strategy": "OldestEmulationVersion"},
        **{"binaryVersion": "1.2.3", "emulationVersion": "1.2.3"},
    },
}
ALL = "--runtime-config=api/all=true"
# made by a kubelet alone; and those whose status the server writes
NOT_MADE = {"PodCertificateRequest", "APIService", "CustomResourceDefinition"}
PATIENCE = 60.0  # seconds that etcd may take, on a busy machine too
OURS = re.compile(NAME.encode() + rb"|/later$|/192\.168\.3\.4$")
FLAGS = ("--controllers=-*", "--disable-admission-plugins=ServiceAccount,ResourceQuota,LimitRanger")


def asked() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    made = x509.CertificateSigningRequestBuilder(x509.Name([])).sign(key, hashes.SHA256())
    return b64encode(made.public_bytes(Encoding.PEM)).decode()


def of_each_kind() -> Iterator[tuple[str, Any]]:
    for path, body in bodies():
        if path.endswith("certificatesigningrequests"):
            body["spec"]["request"] = asked()
        if not path.endswith(("reviews", "/namespaces")):
            yield path, body


def later() -> Iterator[tuple[str, Any]]:
    for path, spec in (LATER | ON_DEMAND).items():
        yield path, {"metadata": {"name": "later"}, "spec": spec}


def make(api: ApiServer, objects: Iterator[tuple[str, Any]]) -> list[str]:
    """Creates objects. Returns their paths."""
    made, refused = [], []
    for path, body in objects:
        try:
            ask(api, "POST", path, body)
            made.append(path)
        except Refused as error:
            refused.append(str(error))
    assert not refused
    return made


def stored(etcd: EmbeddedEtcd) -> dict[bytes, bytes]:
    """All objects in etcd, but for those of the servers."""

    async def read() -> dict[bytes, bytes]:
        async with EtcdClient(EtcdSettings((etcd.endpoint,), timeout=PATIENCE)) as client:
            found = await client.prefix(b"/registry/")
            return {each.key: each.value for each in found.kvs if OURS.search(each.key)}

    return asyncio.run(read())


def shown(api: ApiServer, path: str) -> list[str]:
    try:
        return [each["metadata"]["name"] for each in ask(api, "GET", path)["items"]]
    except Refused as error:
        assert error.status == 404
        return []


@pytest.mark.parametrize(("first", "flags"), [("1.36", []), ("1.37", [ALL])])
def test_objects_of_every_kind_outlast_other_minors(first: str, flags: list[str]) -> None:
    with EmbeddedEtcd() as etcd:

        def serving(minor: str, *also: str) -> Any:
            named = () if minor == DEFAULT else (f"--kubernetes-version={minor}",)
            return api_server(*FLAGS, *named, *also, etcd_servers=etcd.endpoint)

        with serving(first) as api:
            ask(api, "POST", "/api/v1/namespaces", {"metadata": {"name": NAME}})
            paths = make(api, of_each_kind())
        made = stored(etcd)
        with serving("1.37", ALL) as api:
            paths += make(api, later())
        before = stored(etcd)
        assert made.items() <= before.items()
        for minor in ("1.36", "1.37", "1.36", "1.34"):
            with serving(minor, *flags) as api:
                assert all(("later" in shown(api, path)) is bool(flags) for path in ON_DEMAND)
                for path in LATER:
                    assert ("later" in shown(api, path)) is (minor == "1.37" or path.endswith("csidrivers"))
            assert stored(etcd) == before, minor
        with serving("1.37", ALL) as api:
            assert all(shown(api, path) for path in paths)
    release = release_of(minor="1.37")
    resources = builtin_registry(release=release, early=frozenset(early_versions(release))).resources.values()
    kinds = {each.kind for each in resources if each.model.storage_prefix and not each.subresource}
    assert kinds - {each["kind"] for each in map(loads, before.values())} == NOT_MADE
