"""What webhook configurations and policies that are about other resources add to the create of a pod."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

from tests.benchmarks import load
from tests.benchmarks.bench import Bench
from tests.benchmarks.cases import CREATE
from tests.benchmarks.objects import TOKEN, pod

_PATH = "/apis/admissionregistration.k8s.io/v1"
_NAMESPACE = "configured"  # its pods are in nobody's lists
_EACH = 50  # of webhook configurations and of policies, mutating and validating ones


def _configurations() -> list[tuple[str, dict[str, Any]]]:
    """200 configurations, by the plurals of their resources."""
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["*"],
        "resources": ["deployments"],
        "operations": ["CREATE", "UPDATE"],
    }
    hook = {"clientConfig": {"url": "https://127.0.0.1:1/"}, "rules": [rule], "sideEffects": "None"}
    match = {"matchConstraints": {"resourceRules": [rule]}}
    changed = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
    made: list[tuple[str, dict[str, Any]]] = []
    for i in range(_EACH):
        meta = {"name": f"other-{i}"}
        webhooks = [{**hook, "name": "other.example.org", "admissionReviewVersions": ["v1"]}]
        validating = {**match, "validations": [{"expression": "false"}]}
        mutating = {**match, "mutations": [changed], "reinvocationPolicy": "Never"}
        made += [
            ("validatingwebhookconfigurations", {"metadata": meta, "webhooks": webhooks}),
            ("mutatingwebhookconfigurations", {"metadata": meta, "webhooks": webhooks}),
            ("validatingadmissionpolicies", {"metadata": meta, "spec": validating}),
            ("mutatingadmissionpolicies", {"metadata": meta, "spec": mutating}),
        ]
        for sort, actions in (("validating", {"validationActions": ["Deny"]}), ("mutating", {})):
            made.append(
                (f"{sort}admissionpolicybindings", {"metadata": meta, "spec": {"policyName": meta["name"], **actions}})
            )
    return made


def report(bench: Bench) -> None:
    create = CREATE % (TOKEN, json.dumps(pod("NAME", 1)))
    url = f"{bench.ours}/api/v1/namespaces/{_NAMESPACE}/pods"
    namespace = json.dumps({"metadata": {"name": _NAMESPACE}}).encode()
    assert asyncio.run(load.send(bench.ours, TOKEN, [("POST", "/api/v1/namespaces", namespace)], 1)) == [201]
    configurations = _configurations()

    def creates() -> float:
        return load.wrk(url, TOKEN, bench.options.seconds, 32, create, (f"c{random.randrange(1 << 30)}",))

    def beside() -> float:
        posts = [("POST", f"{_PATH}/{plural}", json.dumps(body).encode()) for plural, body in configurations]
        assert set(asyncio.run(load.send(bench.ours, TOKEN, posts))) == {201}
        try:
            return creates()
        finally:
            paths = [f"{_PATH}/{plural}/{body['metadata']['name']}" for plural, body in configurations]
            asyncio.run(load.send(bench.ours, TOKEN, [("DELETE", path, b"") for path in paths]))

    bench.record("CREATE pod beside 200 configurations / alone", beside, creates, times=3)
