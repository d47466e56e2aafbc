"""Fields of pods whose gate is off, and which the stored object has: a write keeps them, and they are validated."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.unit.validation.replaying import judged

SOURCES = (
    {"serviceAccountToken": {"path": "t", "user": 3}},
    {"clusterTrustBundle": {"name": "x", "path": "b", "user": 3}},
    {"podCertificate": {"signerName": "a.b/c", "keyType": "ED25519", "credentialBundlePath": "q", "user": 3}},
)
FILE = {"path": "p", "fieldRef": {"fieldPath": "metadata.name"}, "user": 2}
SPEC: dict[str, Any] = {
    "containers": [
        {
            "name": "c",
            "image": "i",
            "volumeMounts": [
                {"name": "e", "mountPath": "/e", "bindMountOptions": ["noexec"]},
                {"name": "i", "mountPath": "/i"},
            ],
            "livenessProbe": {"grpc": {"port": 1, "mode": "TLS"}},
            "readinessProbe": {"httpGet": {"path": "/", "port": 1, "protocol": "HTTP2"}},
        }
    ],
    "volumes": [
        {"name": "e", "emptyDir": {"mode": 0o777}},
        {"name": "i", "image": {"reference": "x"}},
        {"name": "s", "secret": {"secretName": "s", "defaultUser": 1, "items": [{"key": "k", "path": "p", "user": 2}]}},
        {"name": "d", "downwardAPI": {"defaultUser": 1, "items": [FILE]}},
        {"name": "p", "projected": {"defaultUser": 1, "sources": list(SOURCES)}},
    ],
}
MOUNTS, VOLUMES = "containers.0.volumeMounts", "volumes"
PATH = "spec.template.spec"


def deployment(**changes: Any) -> dict[str, Any]:
    spec = deepcopy(SPEC)
    for path, value in changes.items():
        *holders, name = path.split(".")
        at: Any = spec
        for each in holders:
            at = at[int(each) if each.isdigit() else each]
        at[name] = value
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    return {"metadata": {"name": "g"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}


@pytest.mark.parametrize(
    ("path", "value", "fields"),
    [
        (f"{MOUNTS}.0.bindMountOptions", ["noexec"], []),
        (
            f"{MOUNTS}.0.bindMountOptions",
            ["x", "noexec", "noexec"],
            ["containers[0].volumeMounts[0].bindMountOptions[0]", "containers[0].volumeMounts[0].bindMountOptions[2]"],
        ),
        (f"{MOUNTS}.1.bindMountOptions", ["nodev"], ["containers[0].volumeMounts[1].bindMountOptions"]),
        ("containers.0.livenessProbe.grpc.mode", "x", ["containers[0].livenessProbe.grpc.mode"]),
        ("containers.0.readinessProbe.httpGet.protocol", "x", ["containers[0].readinessProbe.httpGet.protocol"]),
        ("containers.0.readinessProbe.httpGet.scheme", "HTTPS", ["containers[0].readinessProbe.httpGet.protocol"]),
        ("containers.0.readinessProbe.httpGet.host", "h", ["containers[0].readinessProbe.httpGet.host"]),
        (
            f"{VOLUMES}.0.emptyDir.mode",
            0o2000,
            ["volumes[0].emptyDir.mode", "containers[0].volumeMounts[0].name"],
        ),
        (f"{VOLUMES}.2.secret.defaultUser", -1, ["volumes[2].secret.defaultUser"]),
        (f"{VOLUMES}.2.secret.items.0.user", 1 << 33, ["volumes[2].secret.items[0].user"]),
        (f"{VOLUMES}.3.downwardAPI.items.0.user", -1, ["volumes[3].downwardAPI.user"]),
        (f"{VOLUMES}.4.projected.defaultUser", -1, ["volumes[4].projected.defaultUser"]),
        *(
            (f"{VOLUMES}.4.projected.sources.{i}.{key}.user", -1, [f"volumes[4].projected.sources[{i}].{key}.user"])
            for i, key in enumerate(("serviceAccountToken", "clusterTrustBundle", "podCertificate"))
        ),
    ],
)
def test_what_an_update_keeps_is_validated_as_by_kube_apiserver(path: str, value: Any, fields: list[str]) -> None:
    told = judged("apps/v1/deployments", "", deployment(**{path: value}), deployment(), "1.37")
    found = [cause["field"] for cause in told if not cause["field"].startswith("metadata.")]
    assert found == [f"{PATH}.{each}" for each in fields]


def test_what_a_create_drops_is_not() -> None:
    wrong = deployment(**{f"{VOLUMES}.0.emptyDir.mode": 0o2000, f"{MOUNTS}.0.bindMountOptions": ["x"]})
    assert judged("apps/v1/deployments", "", wrong, None, "1.37") == []
