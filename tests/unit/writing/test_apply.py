"""An apply of a Scale is decided by the present workload each time."""

from __future__ import annotations

from typing import Any

from tests.unit.verbs.conftest import Api

OBJECTS = "/apis/apps/v1/namespaces/default/deployments"
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
LABELS = {"a": "b"}
DEPLOYMENT: dict[str, Any] = {
    "metadata": {"name": "it"},
    "spec": {
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
}
SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "it"}, "spec": {"replicas": 2}}


async def test_replicas_that_somebody_else_has_changed_are_set_again() -> None:
    api = Api()
    await api.send("POST", OBJECTS, DEPLOYMENT)
    for _ in range(3):
        _, scale = await api.send("PATCH", f"{OBJECTS}/it/scale", SCALE, APPLY, "fieldManager=m&force=true")
        assert scale["spec"]["replicas"] == 2
    await api.send("PATCH", f"{OBJECTS}/it", {"spec": {"replicas": 5}}, MERGE)
    _, scale = await api.send("PATCH", f"{OBJECTS}/it/scale", SCALE, APPLY, "fieldManager=m&force=true")
    assert scale["spec"]["replicas"] == 2
