"""Which addresses and families a Service may change."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.validation.service_addresses import cluster_ips_update, ip_families_update

ONE = {"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]}
BOTH = {**ONE, "clusterIPs": ["10.0.0.1", "fd00::1"], "ipFamilies": ["IPv4", "IPv6"]}
HEADLESS = {"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "ipFamilies": ["IPv4"]}
ALIAS = {"type": "ExternalName"}
OTHER = {**ONE, "clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"], "ipFamilies": ["IPv6"]}
SINGLE = {"ipFamilyPolicy": "SingleStack"}


@pytest.mark.parametrize(
    ("spec", "before", "addresses", "families"),
    [
        (ONE, ONE, [], []),
        (BOTH, ONE, [], []),
        ({**ONE, **SINGLE}, BOTH, [], []),
        ({**ONE, "ipFamilyPolicy": "PreferDualStack"}, BOTH, ["spec.ipFamilyPolicy"], ["spec.ipFamilyPolicy"]),
        (OTHER, ONE, ["spec.clusterIPs[0]"], ["spec.ipFamilies[0]"]),
        ({**OTHER, **SINGLE}, BOTH, ["spec.clusterIPs[0]"], ["spec.ipFamilies[0]"]),
        (ALIAS, ONE, [], []),
        (OTHER, {**ONE, **ALIAS}, [], []),
        ({**HEADLESS, "ipFamilies": ["IPv6"]}, HEADLESS, [], []),
        ({**HEADLESS, "ipFamilies": ["IPv6"]}, ONE, ["spec.clusterIPs[0]"], []),
        (OTHER, HEADLESS, ["spec.clusterIPs[0]"], []),
    ],
)
def test_the_first_stays_but_for_who_has_none(
    spec: dict[str, Any], before: dict[str, Any], addresses: list[str], families: list[str]
) -> None:
    assert [each.field for each in cluster_ips_update(spec, before)] == addresses
    assert [each.field for each in ip_families_update(spec, before)] == families
