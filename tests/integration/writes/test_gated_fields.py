"""Feature gates: fields with the gate on are defaulted, validated and kept; others are dropped, unless already
stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server
from tests.integration.server.client import ask

DRIVERS = "/apis/storage.k8s.io/v1/csidrivers"
SETS = "/apis/apps/v1/namespaces/default/statefulsets"
AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
EARLIER = "--kubernetes-version=1.36"
GATES = ("HPAScaleToZero", "MaxUnavailableStatefulSet", "VolumeLimitScaling")
MERGE = {"Content-Type": "application/merge-patch+json"}
Servers = tuple[ApiServer, ApiServer]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """Two servers of 1.36 on one etcd: with feature gates that are off by default there, and without them."""
    gates = f"--feature-gates={','.join(f'{each}=true' for each in GATES)}"
    with (
        EmbeddedEtcd() as etcd,
        api_server("--controllers=-*", EARLIER, gates, etcd_servers=etcd.endpoint) as gated,
        api_server("--controllers=-*", EARLIER, etcd_servers=etcd.endpoint) as plain,
    ):
        yield gated, plain


def stateful_set(name: str) -> Any:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": pod}}


def rolling(obj: Any) -> Any:
    return obj["spec"]["updateStrategy"]["rollingUpdate"]


def autoscaler(name: str) -> Any:
    target = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name}
    value = {"type": "Value", "value": "1"}
    metric = {"type": "External", "external": {"metric": {"name": "m"}, "target": value}}
    return {
        "metadata": {"name": name},
        "spec": {"scaleTargetRef": target, "minReplicas": 0, "maxReplicas": 2, "metrics": [metric]},
    }


def test_a_field_whose_gate_is_on_is_defaulted_and_kept(servers: Servers) -> None:
    gated, plain = servers
    made = ask(gated, "POST", SETS, stateful_set("kept"))
    assert made.status == 201 and rolling(made.json) == {"partition": 0, "maxUnavailable": 1}
    driver = ask(gated, "POST", DRIVERS, {"metadata": {"name": "kept.example.com"}, "spec": {}})
    assert driver.status == 201 and driver.json["spec"]["preventPodSchedulingIfMissing"] is False
    changed = ask(plain, "PATCH", f"{SETS}/kept", {"spec": {"replicas": 2}}, headers=MERGE)
    assert changed.status == 200 and rolling(changed.json)["maxUnavailable"] == 1
    changed = ask(plain, "PATCH", f"{DRIVERS}/kept.example.com", {"spec": {"podInfoOnMount": True}}, headers=MERGE)
    assert changed.status == 200 and changed.json["spec"]["preventPodSchedulingIfMissing"] is False


def test_a_field_whose_gate_is_off_is_dropped(servers: Servers) -> None:
    _, plain = servers
    sent = stateful_set("dropped")
    sent["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    made = ask(plain, "POST", SETS, sent)
    assert made.status == 201 and rolling(made.json) == {"partition": 0}
    patch = {"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}}
    assert rolling(ask(plain, "PATCH", f"{SETS}/dropped", patch, headers=MERGE).json) == {"partition": 0}
    spec = {"preventPodSchedulingIfMissing": True}
    driver = ask(plain, "POST", DRIVERS, {"metadata": {"name": "dropped.example.com"}, "spec": spec})
    assert driver.status == 201 and "preventPodSchedulingIfMissing" not in driver.json["spec"]


def test_an_autoscaler_may_scale_to_zero_where_its_gate_is_on(servers: Servers) -> None:
    gated, plain = servers
    refused = ask(plain, "POST", AUTOSCALERS, autoscaler("zero"))
    assert refused.status == 422
    assert "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1" in refused.json["message"]
    made = ask(gated, "POST", AUTOSCALERS, autoscaler("zero"))
    assert made.status == 201 and made.json["spec"]["minReplicas"] == 0
    changed = ask(plain, "PATCH", f"{AUTOSCALERS}/zero", {"spec": {"maxReplicas": 3}}, headers=MERGE)
    assert changed.status == 200 and changed.json["spec"]["minReplicas"] == 0
    assert ask(gated, "PATCH", f"{AUTOSCALERS}/zero", {"spec": {"metrics": []}}, headers=MERGE).status == 422
