"""PodTopologyLabels, the checks of a pod's resize, AlwaysDeny and ClusterTrustBundleAttest.

The last test: a cached result of LimitRanger or PodSecurity is not used after their rules have changed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.access.authorization import AlwaysAllow, AlwaysDeny
from gateway.admission.plugins import chain_for
from gateway.admission.plugins.trust_bundle_attest import PLUGIN as ATTEST
from gateway.admission.record import Admission, record_of
from gateway.http.request_info import RequestInfo
from gateway.http.status import StatusError
from gateway.kinds.attributes import Attributes, Operation
from gateway.kinds.write_context import WriteContext
from gateway.settings.admission_plugins import PLUGINS
from tests.unit.verbs.conftest import ADMIN, Api

PODS = "/api/v1/namespaces/default/pods"
PATCH = "application/strategic-merge-patch+json"


@pytest.fixture
def api() -> Api:
    return Api()


async def refusal(answer: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        await answer
    return caught.value


async def node(api: Api, name: str, *, labels: Any = None, **status: Any) -> None:
    await api.send("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels or {}}, "status": status})


def pod(node_name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    return {"metadata": {"name": "p"}, "spec": {"nodeName": node_name, "containers": [container], **spec}}


def resized(**requests: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}


async def test_a_pod_gets_the_zone_and_region_of_its_node_and_no_other_label(api: Api) -> None:
    zone, region = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
    await node(api, "n", labels={zone: "z", region: "r", "topology.kubernetes.io/rack": "k"})
    made = pod("n")
    made["metadata"]["labels"] = {zone: "mine", "own": "x"}
    _, found = await api.send("POST", PODS, made)
    assert found["metadata"]["labels"] == {zone: "z", region: "r", "own": "x"}


async def test_a_pod_grows_no_larger_than_its_node(api: Api) -> None:
    await node(api, "n", allocatable={"cpu": "1", "memory": "1Gi"})
    await api.send("POST", PODS, pod("n", overhead=None))
    error = await refusal(api.send("PATCH", f"{PODS}/p/resize", resized(cpu="1001m", memory="2Gi"), PATCH))
    needed = "cpu, requested: 1001, allocatable: 1000; memory, requested: 2147483648, allocatable: 1073741824"
    assert error.message == f'pods "p" is forbidden: node didn\'t have enough allocatable resources: {needed}'
    assert (error.details or {})["causes"] == [{"reason": "NodeCapacity"}]
    _, found = await api.send("PATCH", f"{PODS}/p/resize", resized(cpu="1"), PATCH)
    assert found["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}


async def test_pods_are_resized_on_linux_alone(api: Api) -> None:
    await node(api, "w", labels={"kubernetes.io/os": "windows"}, allocatable={"cpu": "9"})
    await api.send("POST", PODS, pod("w"))
    error = await refusal(api.send("PATCH", f"{PODS}/p/resize", resized(cpu="1"), PATCH))
    assert (error.details or {})["causes"] == [{"reason": "UnsupportedPlatform"}]


async def test_a_pod_on_no_node_that_is_there_is_not_resized(api: Api) -> None:
    await api.send("POST", PODS, pod("gone"))
    error = await refusal(api.send("PATCH", f"{PODS}/p/resize", resized(cpu="1"), PATCH))
    assert error.message == 'pods "p" is forbidden: node "gone" not found'


async def test_a_pod_s_own_resources_change_where_the_node_says_that_it_can(api: Api) -> None:
    feature = "InPlacePodLevelResourcesVerticalScaling"
    await node(api, "old", allocatable={"cpu": "9"})
    await api.send("POST", PODS, pod("old", resources={"requests": {"cpu": "1"}}))
    change = {"spec": {"resources": {"requests": {"cpu": "2"}}}}
    error = await refusal(api.send("PATCH", f"{PODS}/p/resize", change, PATCH))
    assert error.message.endswith(f'pod update requires features {feature} which are not available on node "old"')
    await api.send("PATCH", "/api/v1/nodes/old/status", {"status": {"declaredFeatures": [feature]}}, PATCH)
    _, found = await api.send("PATCH", f"{PODS}/p/resize", change, PATCH)
    assert found["spec"]["resources"]["requests"] == {"cpu": "2"}


def admission(api: Api, path: tuple[str, str, str], operation: Operation, obj: Any, old: Any = None) -> Admission:
    resource = api.endpoints.registry.resources[(*path, "")]
    context = WriteContext(Attributes(ADMIN, RequestInfo("create", "")), resource, "default", "x")
    return record_of(context, operation, obj, old, resource, "x")


@pytest.mark.parametrize("operation", list(Operation))
async def test_one_plug_in_refuses_everything(api: Api, operation: Operation) -> None:
    resource = api.endpoints.registry.resources["", "v1", "configmaps", ""]
    others = PLUGINS.keys() - {"AlwaysDeny"}
    parts = api.endpoints.services.admission
    chain = chain_for(resource, {"AlwaysDeny"}, others, parts)
    thing = admission(api, ("", "v1", "configmaps"), operation, {"metadata": {"name": "x"}})
    for half in (chain.mutate, chain.validate):
        error = await refusal(half(thing))
        assert error.message == 'configmaps "x" is forbidden: admission control is denying all modifications'


async def test_who_publishes_trust_must_be_allowed_to_attest(api: Api) -> None:
    bundle = {"metadata": {"name": "x"}, "spec": {"signerName": "a.b/c", "trustBundle": "t"}}

    async def validated(authorizer: Any, obj: Any, old: Any = None) -> None:
        review = ATTEST.make(replace(api.endpoints.services.admission, authorizer=authorizer)).validate
        assert review is not None
        operation = Operation.CREATE if old is None else Operation.UPDATE
        await review(admission(api, ("", "v1", "configmaps"), operation, obj, old))

    await validated(AlwaysAllow(), bundle)
    error = await refusal(validated(AlwaysDeny(), bundle))
    assert error.message.endswith('user not permitted to attest for signerName "a.b/c"')
    unsigned = {**bundle, "spec": {"trustBundle": "t"}}
    await validated(AlwaysDeny(), unsigned)
    collected = {**bundle, "metadata": {"name": "x", "finalizers": ["f"], "ownerReferences": []}}
    await validated(AlwaysDeny(), collected, bundle)  # only finalizers and ownerReferences have changed
    await refusal(validated(AlwaysDeny(), {**bundle, "spec": {**bundle["spec"], "trustBundle": "u"}}, bundle))


async def test_what_took_a_specification_is_asked_again_once_it_has_changed(api: Api) -> None:
    limits = "/api/v1/namespaces/default/limitranges"
    most = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}}
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}

    async def create(name: str) -> tuple[int, Any]:
        return await api.send("POST", PODS, {"metadata": {"name": name}, "spec": {"containers": [container]}})

    await api.send("POST", limits, most)
    for index in range(4):  # from the third pod on, the result for this specification is cached
        assert (await create(f"p{index}"))[0] == 201
    most["spec"] = {"limits": [{"type": "Container", "max": {"cpu": "500m"}}]}
    await api.send("PUT", f"{limits}/l", most)
    error = await refusal(create("q"))
    assert error.message == 'pods "q" is forbidden: maximum cpu usage per Container is 500m, but limit is 1'
    await api.send("DELETE", f"{limits}/l")
    labels = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    for index in range(4, 8):
        assert (await create(f"p{index}"))[0] == 201
    await api.send("PATCH", "/api/v1/namespaces/default", labels, PATCH)
    assert "violates PodSecurity" in (await refusal(create("r"))).message
