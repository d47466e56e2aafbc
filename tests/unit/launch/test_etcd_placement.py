"""Which resources --etcd-servers-overrides can move to another etcd, and the messages for others."""

from __future__ import annotations

import pytest

from gateway.kinds.builtin import builtin_registry
from gateway.launch.etcd_placement import servers_apart
from gateway.settings.config import InvalidSettings, Settings
from gateway.settings.etcd_overrides import etcd_overrides

REGISTRY = builtin_registry()


def apart(*resources: str, servers: str = "http://b:1") -> dict[str, tuple[str, ...]]:
    text = ",".join(f"{each}#{servers}" for each in resources)
    settings = Settings(etcd_servers=("http://a:1",), etcd_servers_overrides=etcd_overrides(text))
    return servers_apart(settings, REGISTRY)


@pytest.mark.parametrize(
    "resource, reason",
    [
        ("/namespaces", "a namespace contains objects of all etcds"),
        ("rbac.authorization.k8s.io/roles", "it decides about requests"),
        ("rbac.authorization.k8s.io/clusterrolebindings", "it decides about requests"),
        ("flowcontrol.apiserver.k8s.io/flowschemas", "it decides about requests"),
        ("admissionregistration.k8s.io/mutatingwebhookconfigurations", "it decides about requests"),
        ("apiextensions.k8s.io/customresourcedefinitions", "kube-apiserver stores it in --etcd-servers, too"),
        ("apiregistration.k8s.io/apiservices", "kube-apiserver stores it in --etcd-servers, too"),
    ],
)
def test_what_all_etcds_stand_on_is_refused(resource: str, reason: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        apart(resource)
    assert str(refused.value).startswith(
        f"--etcd-servers-overrides: {resource} must be in the etcd of --etcd-servers: {reason}"
    )


@pytest.mark.parametrize("resource", ["/nothing", "example.com/widgets", "authorization.k8s.io/subjectaccessreviews"])
def test_what_is_not_stored_is_refused(resource: str) -> None:
    with pytest.raises(InvalidSettings, match="is not a stored resource"):
        apart(resource)


def test_all_others_can_be() -> None:
    refused = {"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"}
    refused |= {"flowcontrol.apiserver.k8s.io", "rbac.authorization.k8s.io"}
    wanted = {
        each.storage_prefix: f"{each.model.group}/{each.resource}"
        for each in REGISTRY.stored()
        if each.group not in refused and each.resource != "namespaces"
    }
    assert apart(*wanted.values()).keys() == wanted.keys()
    assert len(wanted) > 40


def test_the_same_servers_are_no_other_etcd() -> None:
    assert apart("/pods", servers="http://a:1") == {}
