"""What a cluster has beside nodes: a registry of images, DNS, and local volumes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.upstream.node.cluster import HERE, Cluster
from tests.upstream.node.component_images import COREDNS
from tests.upstream.node.joining import VOLUMES


def serve_images(made: Cluster, *layouts: Path) -> None:
    """Runs the registry that nodes pull from; it has the images of these layouts."""
    made.start("registry", sys.executable, "-m", "tests.upstream.node.registry", *map(str, layouts))


def add_services(made: Cluster) -> None:
    """Adds DNS, a default storage class and its volumes, and waits until names are answered. Raises AssertionError."""
    text = (HERE / "manifests" / "services.yaml").read_text().replace("COREDNS", COREDNS)
    made.kubectl("apply", "-f", "-", given=text)
    volumes = [_volume(node, number) for node in made.nodes for number in range(1, VOLUMES + 1)]
    made.kubectl("apply", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": volumes}))
    status = ("-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=170s")
    made.kubectl(*status, seconds=200)


def _volume(node: str, number: int) -> dict[str, object]:
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    spec = {
        "capacity": {"storage": "20Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "persistentVolumeReclaimPolicy": "Retain",
        "local": {"path": f"/var/lib/volumes/{number}"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
    }
    named = {"name": f"{node}-{number}"}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": named, "spec": spec}
