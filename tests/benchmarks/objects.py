"""The objects with which benchmarks fill a server, and the user who creates them."""

from __future__ import annotations

from typing import Any

TOKEN = "bench"
READER = "reader-token"
NAMESPACE = "bench"


def pod(name: str, index: int) -> dict[str, Any]:
    """A pod of about 3 KB as stored."""
    environment = [{"name": f"E{each}", "value": "v" * 20} for each in range(6)]
    container = {"image": "nginx:1.25", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": f"a{index % 10}"}, "annotations": {"note": "x" * 600}},
        "spec": {
            "containers": [
                {**container, "name": f"c{n}", "ports": [{"containerPort": 80 + n}], "env": environment}
                for n in range(2)
            ]
        },
    }


def deployment() -> dict[str, Any]:
    """A deployment of about 4 KB as stored."""
    template = pod("", 0)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "applied", "annotations": {"note": "x" * 600}},
        "spec": {
            "selector": {"matchLabels": {"app": "a0"}},
            "template": {"metadata": {"labels": {"app": "a0"}}, "spec": template["spec"]},
        },
    }
