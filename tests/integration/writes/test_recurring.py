"""Pods with a cached specification get the same defaults, checks and representations as the first one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, wait_for
from tests.forked import api_server
from tests.integration.server.client import Answer, ask

PODS = "/api/v1/namespaces/default/pods"
TIMES = 5  # from the third pod on the specification is cached, from the fourth on its managed fields
CONTAINER = {"name": "c", "image": "nginx"}
TWO = {"containers": [CONTAINER, {"name": "d", "image": "redis", "env": [{"name": "A", "value": "b"}]}]}


def pod_with(container: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    return {"containers": [CONTAINER | (container or {})], **members}


SPECIFICATIONS: dict[str, dict[str, Any]] = {
    "plain": pod_with(),
    "two containers": TWO,
    "defaults everywhere": pod_with(
        {
            "ports": [{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}],
            "livenessProbe": {"httpGet": {"port": "web"}},
            "env": [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "resources": {"limits": {"cpu": "1.5", "memory": "1024Ki"}},
        },
        volumes=[{"name": "v", "configMap": {"name": "m"}}, {"name": "e", "emptyDir": {}}],
        hostNetwork=True,
    ),
    "out of order": pod_with(
        {"volumeMounts": [{"mountPath": "/z", "name": "z"}]},
        tolerations=[{"value": "b", "key": "a"}],
        nodeSelector={"z": "1", "a": "2"},
        volumes=[{"hostPath": {"path": "/"}, "name": "z"}],
    ),
    "nulls and empty lists": pod_with({"env": None, "args": []}, volumes=[], tolerations=None),
    "warned of": pod_with({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}, nodeSelector={"a": "b"}),
    "unknown field": pod_with({"imagee": "x"}),
    "claim named by the pod": pod_with(
        volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}]
    ),
    "labels that join a selector": pod_with(
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["app"]}
            | {"labelSelector": {"matchLabels": {"a": "b"}}}
        ]
    ),
    "gated": pod_with(schedulingGates=[{"name": "example.com/wait"}]),
    "negative grace": pod_with(terminationGracePeriodSeconds=-3),
    "no container": {"containers": []},
    "empty": {},
    "invalid name": {"containers": [{"name": "C_", "image": "nginx"}]},
    "of a wrong type": pod_with({"ports": [{"containerPort": "eighty"}]}),
    "unknown policy": pod_with(restartPolicy="Maybe"),
    "no such class": pod_with(priorityClassName="missing"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server() as server:
        wait_for(server, "/api/v1/namespaces/default/serviceaccounts/default", bool)  # pods need it
        yield server


def make(server: ApiServer, name: str, specification: dict[str, Any], **metadata: Any) -> Answer:
    return ask(server, "POST", PODS, {"metadata": {"name": name, **metadata}, "spec": specification})


def shown(answer: Answer, name: str) -> tuple[int, str, str]:
    """An answer without the fields that differ between objects."""
    text = answer.body.decode().replace(name, "NAME")
    for member in ("uid", "creationTimestamp", "resourceVersion", "time", "lastTransitionTime"):
        text = re.sub(rf'"{member}":"[^"]*"', f'"{member}":""', text)
    return answer.status, answer.headers.get("warning", ""), re.sub(r"kube-api-access-\w{5}", "ACCESS", text)


@pytest.mark.parametrize("case", SPECIFICATIONS)
def test_all_are_like_the_first(server: ApiServer, case: str) -> None:
    specification, labels = SPECIFICATIONS[case], {"app": "one"}
    names = [f"{case.replace(' ', '-')}-{number}" for number in range(TIMES)]
    answers = [make(server, name, specification, labels=labels) for name in names]
    first, *others = [shown(answer, name) for answer, name in zip(answers, names, strict=True)]
    assert others == [first] * len(others)
    if answers[0].status == 201:
        read = [ask(server, "GET", f"{PODS}/{name}").body for name in names]
        assert read == [answer.body for answer in answers]


def test_metadata_is_looked_at_beside_a_known_specification(server: ApiServer) -> None:
    def answers(case: str, warm: int) -> list[tuple[int, str, str]]:
        """The answers for pods that have only their specification in common, after `warm` pods with it."""
        specification = pod_with({"workingDir": f"/{case}"}, subdomain="sub")
        for number in range(warm):
            assert make(server, f"{case}-warm-{number}", specification).status == 201
        profile = {"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"}
        mirror = {"kubernetes.io/config.mirror": "x"}
        metadata: list[dict[str, Any]] = [
            {"annotations": profile},
            {"annotations": mirror},
            {"labels": {"a": 1}},
            {"labels": {"a": "b", "c": None}},
            {"labelz": {}},
            {"managedFields": []},
            {"finalizers": ["no"]},
        ]
        found = []
        for number, each in enumerate(metadata):
            name = f"{case}-{number}"
            answer = make(server, name, specification, **each)
            found.append(shown(answer, name))
        return [(code, warning, text.replace(f"/{case}", "/DIR")) for code, warning, text in found]

    assert answers("known", warm=4) == answers("fresh", warm=0)


def test_pods_that_share_a_specification_are_changed_one_by_one(server: ApiServer) -> None:
    specification = pod_with({"workingDir": "/apart"}, activeDeadlineSeconds=100)
    for number in range(4):
        make(server, f"apart-{number}", specification)
    merge = {"Content-Type": "application/merge-patch+json"}
    patch = {"spec": {"activeDeadlineSeconds": 50}}
    assert ask(server, "PATCH", f"{PODS}/apart-3", patch, headers=merge).status == 200
    assert make(server, "apart-4", specification).json["spec"]["activeDeadlineSeconds"] == 100
    assert ask(server, "GET", f"{PODS}/apart-2").json["spec"]["activeDeadlineSeconds"] == 100


def test_what_admission_adds_by_then_is_in_them(server: ApiServer) -> None:
    specification = pod_with({"workingDir": "/priority"})
    before = [make(server, f"before-{number}", specification).json for number in range(4)]
    assert {pod["spec"]["priority"] for pod in before} == {0}
    default = {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True}
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    assert ask(server, "POST", classes, default).status == 201
    after = [make(server, f"after-{number}", specification).json for number in range(3)]
    assert {pod["spec"]["priority"] for pod in after} == {7}
    assert ask(server, "DELETE", f"{classes}/usual").status == 200
    assert make(server, "again", specification).json["spec"]["priority"] == 0


def test_metadata_may_be_deeper_than_what_is_encoded_beside_bytes(server: ApiServer) -> None:
    fields: dict[str, Any] = {}
    for _ in range(280):
        fields = {"f:a": fields}
    manager = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
    for number in range(TIMES):
        metadata = {"name": f"deep-{number}", "managedFields": [manager]}
        made = ask(server, "POST", PODS, {"metadata": metadata, "spec": pod_with()})
        assert made.status == 201, made.body
    label = {"metadata": {"labels": {"a": "b"}}}
    headers = {"Content-Type": "application/merge-patch+json"}
    patched = ask(server, "PATCH", f"{PODS}/deep-0", label, headers=headers)
    assert patched.status == 200, patched.body
    assert patched.json["metadata"]["managedFields"][0]["fieldsV1"] == fields
