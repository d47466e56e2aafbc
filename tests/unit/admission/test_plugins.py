"""Admission plug-ins: what they set, what they refuse, and their order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.admission.metrics import ADMIT, AdmissionHalf, timed
from gateway.admission.plugins import chain_for, plugin_of
from gateway.admission.plugins.default_class import newest_default
from gateway.admission.record import Admission, Found, record_of
from gateway.admission.webhooks.configuration import Hooks
from gateway.http.request_info import RequestInfo
from gateway.http.status import StatusError
from gateway.jsontypes import dumps
from gateway.kinds.attributes import Attributes, Operation
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.write_context import WriteContext
from gateway.settings.admission_plugins import PLUGINS
from gateway.settings.config import Settings
from tests.unit.admission.parts import parts_on
from tests.unit.verbs.conftest import ADMIN, NAMESPACE, Api
from tests.unit.verbs.fake_store import FakeStore

PODS = "/api/v1/namespaces/default/pods"
REGISTRY = builtin_registry()
RESOURCES = REGISTRY.resources
PARTS = parts_on(FakeStore(), REGISTRY)


@pytest.fixture
def api() -> Api:
    return Api()


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@pytest.mark.parametrize("waits", [False, True])
async def test_a_plugin_that_changes_an_object_in_place_fails_its_test(waits: bool) -> None:
    async def later(admission: Admission) -> None:
        at_once(admission)

    def at_once(admission: Admission) -> None:
        assert admission.obj is not None
        admission.obj["spec"]["hostNetwork"] = True

    half = AdmissionHalf([timed(later if waits else at_once, "Own", ADMIT, Operation.CREATE)], ADMIT, Operation.CREATE)
    info = RequestInfo("create", "", True, namespace="default", resource="pods")
    context = WriteContext(Attributes(ADMIN, info), RESOURCES["", "v1", "pods", ""])
    with pytest.raises(AssertionError, match="Own changes an object in place"):
        await half.run(record_of(context, Operation.CREATE, pod(), None, RESOURCES["", "v1", "pods", ""], "p"))


async def refused(answer: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        await answer
    return caught.value


# kube-apiserver 1.36.3: AllOrderedPlugins, and which of them DefaultOffAdmissionPlugins names
ORDER = (
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceLifecycle",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodSecurity",
    "PodNodeSelector",
    "Priority",
    "DefaultTolerationSeconds",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PodGroupProtection",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DenyServiceExternalIPs",
    "PodTopologyLabels",
    "PodGroupWorkloadExists",
    "NodeDeclaredFeatureValidator",
    "JobValidation",
    "PodResizeValidator",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
)
OFF = (
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "NodeRestriction",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodNodeSelector",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "OwnerReferencesPermissionEnforcement",
    "DenyServiceExternalIPs",
    "AlwaysDeny",
)


SORTS = ("mutating", "validating")
DYNAMIC = frozenset(
    (*(f"{sort.capitalize()}Admission{what}" for sort in SORTS for what in ("Policy", "Webhook")), "ResourceQuota")
)  # which may concern all resources


def test_plugins_come_in_kube_apiserver_s_order() -> None:
    assert list(PLUGINS) == [name for name in ORDER if name in PLUGINS]
    assert all(plugin_of(name).name == name for name, place in PLUGINS.items() if place.module)
    assert set(ORDER) == PLUGINS.keys()


def test_plugins_are_on_where_kube_apiserver_s_are() -> None:
    assert [name for name, place in PLUGINS.items() if not place.default_on] == list(OFF)


def test_a_chain_holds_only_what_has_something_to_say() -> None:
    chain = chain_for(RESOURCES["", "v1", "configmaps", ""], (), DYNAMIC, PARTS)
    assert {operation: len(found.looks) for operation, found in chain.mutating.items()} == {
        Operation.CREATE: 1,
        Operation.UPDATE: 1,
        Operation.DELETE: 0,
        Operation.CONNECT: 0,
    }
    assert not any(half.looks for half in chain.validating.values())


def test_no_webhook_is_asked_about_the_configuration_of_admission_but_those_of_files() -> None:
    """So that what refuses everything can be removed, and what a file says cannot."""
    every = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
    configuration = {"metadata": {"name": "all.static.k8s.io"}, "webhooks": [{"name": "a.b.c", "rules": [every]}]}
    client = PARTS.webhooks.validating.client
    exempt = [each for each in RESOURCES.values() if each.group == "admissionregistration.k8s.io"]
    assert exempt
    for static, asked in (([], 0), ([configuration], 1)):
        hooks = Hooks(REGISTRY, client)
        hooks.guard(static)
        assert {len(hooks.of(each, operation)) for each in exempt for operation in Operation} == {asked}


def test_a_plugin_can_be_switched_off() -> None:
    resource = RESOURCES["", "v1", "configmaps", ""]
    assert chain_for(resource, (), {"NamespaceLifecycle", *DYNAMIC}, PARTS).mutating[Operation.CREATE].looks == ()


async def test_a_pod_gets_tolerations_and_a_priority(api: Api) -> None:
    _, made = await api.send("POST", PODS, pod())
    spec = made["spec"]
    assert [each["tolerationSeconds"] for each in spec["tolerations"]] == [300, 300]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")


async def test_a_priority_is_that_of_the_class(api: Api) -> None:
    body = {"metadata": {"name": "high"}, "value": 7}
    await api.send("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)
    _, made = await api.send("POST", PODS, pod(priorityClassName="high"))
    assert made["spec"]["priority"] == 7
    error = await refused(api.send("POST", PODS, pod(priorityClassName="none")))
    assert error.message == 'pods "p" is forbidden: no PriorityClass with name none was found'
    error = await refused(api.send("POST", PODS, pod(priorityClassName="high", priority=3)))
    assert "the integer value of priority (3) must not be provided" in error.message


async def test_a_default_class_counts_from_the_next_pod_on(api: Api) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"

    async def priority_of(name: str) -> tuple[int, str]:
        _, made = await api.send("POST", PODS, {**pod(), "metadata": {"name": name}})
        return made["spec"]["priority"], made["spec"].get("priorityClassName", "")

    assert await priority_of("before") == (0, "")
    await api.send("POST", classes, {"metadata": {"name": "usual"}, "value": 5, "globalDefault": True})
    assert [await priority_of(name) for name in ("one", "two")] == [(5, "usual"), (5, "usual")]
    await api.send("DELETE", f"{classes}/usual")
    assert await priority_of("after") == (0, "")


async def test_nothing_new_in_a_terminating_namespace(api: Api) -> None:
    await api.send("POST", PODS, pod())
    ending = {**NAMESPACE, "status": {"phase": "Terminating"}}
    api.store._put(b"/registry/namespaces/default", dumps(ending))
    error = await refused(api.send("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}}))
    assert (error.code, error.reason) == (403, "Forbidden")
    assert error.details is not None
    assert error.details["causes"][0]["reason"] == "NamespaceTerminating"
    code, _ = await api.send("PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json")
    assert code == 200


@pytest.mark.parametrize(("minor", "code"), [("1.36", 404), ("1.37", 200)])
async def test_an_update_needs_its_namespace_before_1_37(minor: str, code: int) -> None:
    api, maps = Api(minor), "/api/v1/namespaces/default/configmaps"
    await api.send("POST", maps, {"metadata": {"name": "m"}})
    del api.store.objects[b"/registry/namespaces/default"]
    try:
        found, _ = await api.send("PATCH", f"{maps}/m", {"data": {"a": "b"}}, "application/merge-patch+json")
    except StatusError as error:
        found = error.code
    assert found == code
    error = await refused(api.send("POST", maps, {"metadata": {"name": "c"}}))
    assert error.message == 'namespaces "default" not found'


async def test_some_namespaces_stay(api: Api) -> None:
    error = await refused(api.send("DELETE", "/api/v1/namespaces/default"))
    assert error.message == 'namespaces "default" is forbidden: this namespace may not be deleted'


async def test_a_new_node_is_not_ready(api: Api) -> None:
    _, made = await api.send("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    assert made["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


async def test_claims_are_protected_and_grow_only_when_bound(api: Api) -> None:
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "s"}
    _, made = await api.send("POST", path, {"metadata": {"name": "c"}, "spec": spec})
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    grown = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    error = await refused(api.send("PATCH", f"{path}/c", grown, "application/merge-patch+json"))
    assert error.code in (403, 422)


async def test_a_pod_runs_as_a_service_account(api: Api) -> None:
    api.endpoints.services.settings = Settings()
    error = await refused(api.send("POST", PODS, pod()))
    assert error.message == (
        'pods "p" is forbidden: error looking up service account default/default: serviceaccount "default" not found'
    )
    await api.send("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    _, made = await api.send("POST", PODS, pod())
    spec = made["spec"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    volume = spec["volumes"][0]
    assert volume["name"].startswith("kube-api-access-")
    assert spec["containers"][0]["volumeMounts"][0]["name"] == volume["name"]


def test_of_several_default_classes_the_newest_counts() -> None:
    def marked(name: str, made: str) -> dict[str, Any]:
        return {"metadata": {"name": name, "creationTimestamp": made, "annotations": {"default": "true"}}}

    classes = [marked("a", "2020"), marked("c", "2021"), marked("b", "2021"), {"metadata": {"name": "d"}}]
    assert newest_default(classes, "default") == "b"
    assert newest_default(classes[3:], "default") == ""


async def test_who_is_idle_is_not_asked_and_counts_as_accepting() -> None:
    asked: list[Admission] = []
    some = SimpleNamespace(idle=True)
    look = timed(asked.append, "Any", ADMIT, Operation.CREATE, some)
    half, admission = AdmissionHalf([look], ADMIT, Operation.CREATE), begun()
    await half.run(admission)
    assert (asked, look.accepted is not None and look.accepted.counts[0]) == ([], 1)
    some.idle = False
    await half.run(admission)
    assert asked == [admission]


def begun() -> Admission:
    resource = RESOURCES["", "v1", "configmaps", ""]
    context = WriteContext(Attributes(ADMIN, RequestInfo("create", "")), resource, "default", "x")
    return record_of(context, Operation.CREATE, {"apiVersion": "v1", "kind": "ConfigMap"}, None, resource, "x")


async def test_each_plug_in_gets_the_record_that_the_one_before_has_returned() -> None:
    asked: list[Admission] = []

    def changing(admission: Admission) -> Found:
        asked.append(admission)
        return None if admission.reinvoked else admission.keeping("Changing", 7, reinvoke=True)

    async def replacing(admission: Admission) -> Admission:
        asked.append(admission)
        return await admission.replacing({"apiVersion": "v1", "kind": "ConfigMap", "data": {}})

    looks = [timed(each, "Any", ADMIT, Operation.CREATE) for each in (changing, replacing)]
    first = begun()
    last = await AdmissionHalf(looks, ADMIT, Operation.CREATE).run(first)
    assert [(dict(each.kept), each.reinvoked, each.replaced) for each in asked] == [
        ({}, False, False),
        ({"Changing": 7}, False, False),
        ({"Changing": 7}, True, True),
        ({"Changing": 7}, True, True),
    ]
    assert first == begun(), "what a plug-in was given has not changed"
    assert last.obj == {"apiVersion": "v1", "kind": "ConfigMap", "data": {}}
