"""Defaults of the core kinds with pod templates (Kubernetes API reference)."""

from __future__ import annotations

from gateway.defaults.pod_spec import TEMPLATE
from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table
from gateway.jsontypes import JsonObject


def _labels_of_template(controller: JsonObject) -> None:
    """A replication controller takes its selector and its own labels from its template."""
    spec = controller.get("spec") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if not labels:
        return
    if not spec.get("selector"):
        spec["selector"] = dict(labels)
    if not controller["metadata"].get("labels"):
        controller["metadata"]["labels"] = dict(labels)


DEFAULTERS: Defaulters = {
    ("v1", "PodTemplate"): compile_table({"template+": TEMPLATE}),
    ("v1", "ReplicationController"): compile_table(
        {"spec+.replicas?": 1, "spec+.template": TEMPLATE},
        _labels_of_template,
    ),
}
