"""A kubelet may request a certificate for a pod that runs on its node as it says, from a signer that the pod names."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.access.authorization import NO_OPINION, Decision, Verdict
from gateway.access.nodes.references import MIRROR
from gateway.admission.plugins.node_certificates import NodeCertificates
from gateway.http.status import StatusError
from gateway.kinds.attributes import Operation

SPEC = {
    "nodeName": "a",
    "nodeUID": "node-uid",
    "podName": "p",
    "podUID": "pod-uid",
    "serviceAccountName": "robot",
    "serviceAccountUID": "account-uid",
    "signerName": "example.com/ca",
}
SOURCES = [{"secret": {}}, {"podCertificate": {"signerName": "example.com/ca"}}]
POD = {
    "metadata": {"name": "p", "uid": "pod-uid"},
    "spec": {
        "nodeName": "a",
        "serviceAccountName": "robot",
        "volumes": [{"emptyDir": {}}, {"projected": {"sources": SOURCES}}],
    },
}
STORED = {
    ("nodes", "", "a"): {"metadata": {"uid": "node-uid"}},
    ("serviceaccounts", "n", "robot"): {"metadata": {"uid": "account-uid"}},
    ("pods", "n", "p"): POD,
}
PLACE = ("pods", "n", "p")


async def verdict(
    spec: Mapping[str, Any] = {},
    pod: dict[str, Any] | None = None,
    without: tuple[str, ...] = (),
    allows: Verdict = NO_OPINION,
    **of_admission: Any,
) -> tuple[int, str]:
    """The code and message of the refusal of a request for node a; 0 and "" if it is admitted."""
    stored = {key: value for key, value in (STORED | {PLACE: pod or POD}).items() if key[0] not in without}
    asked = []

    async def get(resource: Any, namespace: str, name: str) -> Any:
        return stored.get((resource.resource, namespace, name))

    async def authorize(question: Any) -> Verdict:
        asked.append(question)
        return allows

    admission: Any = SimpleNamespace(
        operation=Operation.CREATE,
        subresource="",
        obj={"metadata": {"name": "r"}, "spec": SPEC | dict(spec)},
        name="r",
        namespace="n",
        resource=SimpleNamespace(group="certificates.k8s.io", resource="podcertificaterequests"),
        user=SimpleNamespace(name="system:node:a"),
    )
    for name, value in of_admission.items():
        setattr(admission, name, value)
    objects: Any = SimpleNamespace(get=get)
    authorizer: Any = SimpleNamespace(authorize=authorize)
    try:
        await NodeCertificates(objects, authorizer).check("a", admission)
    except StatusError as error:
        return error.code, error.message
    return 0, ""


async def test_a_request_that_is_as_the_pod_runs_is_admitted() -> None:
    assert await verdict() == (0, "")


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        ({"operation": Operation.UPDATE}, 403, "unexpected operation UPDATE"),
        ({"subresource": "status"}, 403, "unexpected subresource status"),
        ({"spec": {"nodeName": "b"}}, 403, "which is not the requesting node"),
        ({"spec": {"nodeUID": "other"}}, 500, 'node UID "other", inconsistent with the running node ("node-uid")'),
        ({"spec": {"podUID": "other"}}, 500, 'pod UID ("other") which differs from running pod "pod-uid"'),
        ({"spec": {"serviceAccountName": "other"}}, 403, 'serviceAccountName ("other") that differs'),
        ({"spec": {"serviceAccountUID": "other"}}, 500, 'service account UID "other", which differs'),
        ({"spec": {"signerName": "example.com/other"}}, 403, "does not mount a podCertificate projected volume"),
        ({"without": ("nodes",)}, 500, 'while retrieving node "a"'),
        ({"without": ("pods",)}, 500, 'while retrieving pod "n/p" named in the PodCertificateRequest'),
        ({"without": ("serviceaccounts",)}, 500, 'while retrieving service account "n/robot"'),
    ],
)
async def test_others_are_refused(given: dict[str, Any], code: int, says: str) -> None:
    found, message = await verdict(**given)
    assert found == code and says in message


@pytest.mark.parametrize(
    ("where", "value", "says"),
    [
        ("nodeName", "b", "is not running on node"),
        ("volumes", None, "does not mount a podCertificate projected volume"),
    ],
)
async def test_the_pod_decides(where: str, value: Any, says: str) -> None:
    pod: Any = copy.deepcopy(POD)
    pod["spec"][where] = value
    code, message = await verdict(pod=pod)
    assert code == 403 and says in message


async def test_mirror_pods_get_none() -> None:
    pod: Any = copy.deepcopy(POD)
    pod["metadata"]["annotations"] = {MIRROR: "x"}
    code, message = await verdict(pod=pod)
    assert code == 403 and "is a mirror pod" in message


async def test_the_authorizer_may_allow_a_signer_that_the_pod_does_not_name() -> None:
    other = {"signerName": "example.com/other"}
    assert await verdict(spec=other, allows=Verdict(Decision.ALLOW)) == (0, "")
    code, message = await verdict(spec=other, allows=Verdict(Decision.NO_OPINION, error="it broke"))
    assert code == 403 and 'for signer "example.com/other": it broke' in message
