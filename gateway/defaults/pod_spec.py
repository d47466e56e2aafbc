"""Defaults of containers, volumes and pod specs, in pods and in the pod templates of workloads.

Source: Kubernetes API reference, PodSpec, Container, Probe and Volume.
"""

from __future__ import annotations

from gateway.defaults.images import pull_policy
from gateway.defaults.quantities import round_up
from gateway.defaults.table import compile_table
from gateway.jsontypes import JsonObject

_HTTP_GET = compile_table({"path": "/", "scheme": "HTTP"})

_PROBE = compile_table(
    {
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
        "httpGet": _HTTP_GET,
        "grpc.service?": "",
    }
)


def _image_pull_policy(container: JsonObject) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))


CONTAINER = compile_table(
    {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "ports[].protocol": "TCP",
        "env[].valueFrom.fieldRef.apiVersion": "v1",
        "env[].valueFrom.fileKeyRef.optional?": False,
        "resources.limits": round_up,
        "resources.requests": round_up,
        "livenessProbe": _PROBE,
        "readinessProbe": _PROBE,
        "startupProbe": _PROBE,
        "lifecycle.postStart.httpGet": _HTTP_GET,
        "lifecycle.preStop.httpGet": _HTTP_GET,
    },
    _image_pull_policy,
)

RBD = {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
ISCSI = {"iscsiInterface": "default"}
SCALE_IO = {"storageMode": "ThinProvisioned", "fsType": "xfs"}
AZURE_DISK = {"cachingMode?": "ReadWrite", "fsType?": "ext4", "readOnly?": False, "kind?": "Shared"}
HOST_PATH = {"type?": ""}

CLAIM_SPEC = compile_table(
    {"volumeMode?": "Filesystem", "resources.limits": round_up, "resources.requests": round_up},
)

_FILE_MODE = 0o644


def _volume_source(volume: JsonObject) -> None:
    """A volume without a source becomes an emptyDir; an image source gets the pull policy of its tag."""
    if len(volume) == (1 if "name" in volume else 0):
        volume["emptyDir"] = {}
    image = volume.get("image")
    if image is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(image.get("reference", ""))


VOLUME = compile_table(
    {
        "hostPath": compile_table(HOST_PATH),
        "secret.defaultMode?": _FILE_MODE,
        "configMap.defaultMode?": _FILE_MODE,
        "downwardAPI.defaultMode?": _FILE_MODE,
        "downwardAPI.items[].fieldRef.apiVersion": "v1",
        "projected.defaultMode?": _FILE_MODE,
        "projected.sources[].downwardAPI.items[].fieldRef.apiVersion": "v1",
        "projected.sources[].serviceAccountToken.expirationSeconds?": 3600,
        "ephemeral.volumeClaimTemplate.spec+": CLAIM_SPEC,
        "iscsi": compile_table(ISCSI),
        "rbd": compile_table(RBD),
        "azureDisk": compile_table(AZURE_DISK),
        "scaleIO": compile_table(SCALE_IO),
    },
    _volume_source,
)


def _service_account_names(spec: JsonObject) -> None:
    """Gives `serviceAccount`, the deprecated name, and `serviceAccountName` one value; `serviceAccountName` wins."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


POD_SPEC = compile_table(
    {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds?": 30,
        "securityContext?": {},
        "volumes[]": VOLUME,
        "initContainers[]": CONTAINER,
        "containers[]": CONTAINER,
        "ephemeralContainers[]": CONTAINER,
        "overhead": round_up,
        "resources.limits": round_up,
        "resources.requests": round_up,
    },
    _service_account_names,
)

_RETIRED_ANNOTATIONS = frozenset(
    f"pod.{stage}.kubernetes.io/{name}"
    for stage in ("alpha", "beta")
    for name in ("init-containers", "init-container-statuses")
)


def drop_retired_annotations(metadata: JsonObject) -> None:
    """Drops the annotations that carried init containers before the field existed."""
    annotations = metadata.get("annotations")
    if annotations and not _RETIRED_ANNOTATIONS.isdisjoint(annotations):
        kept = {key: value for key, value in annotations.items() if key not in _RETIRED_ANNOTATIONS}
        metadata["annotations"] = kept
        if not kept:
            del metadata["annotations"]


TEMPLATE = compile_table({"spec+": POD_SPEC, "metadata": drop_retired_annotations})
