"""Objects with one fault each: `faults/` has kube-apiserver's answers to their creates and updates.

An answer that is not the same in 1.36 and later has the minor that gives it.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.kinds.identity import GroupResource
from gateway.kinds.strategies import MODULES
from gateway.release.minors import DEFAULT
from tests.unit.validation.objects import create_errors, update_errors

FASTEST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # half a megabyte is read when tests are collected
CASES = [
    pytest.param(case, id=f"{file.stem}-{number}-{case['resource'].rpartition('/')[2]}")
    for file in sorted(Path(__file__).with_name("faults").glob("*.yaml"))
    for number, case in enumerate(yaml.load(file.read_text(), FASTEST))
]


@pytest.mark.parametrize("case", CASES)
def test_faults_are_named_and_worded_as_by_kube_apiserver(case: dict[str, Any]) -> None:
    minor = case.get("minor", DEFAULT)
    if "create" in case:
        errors = create_errors(case["resource"], case["create"], minor)
    else:
        errors = update_errors(case["resource"], case["update"], case.get("before"), minor)
    assert errors == case["errors"]


# kinds with a file of their own: pods, what runs them, and what no server of 1.36 has
LATER = "../../integration/server/test_later_kinds.py"
ELSEWHERE = {
    GroupResource("", "pods"): "test_pod_spec_faults.py",
    GroupResource("apps", "deployments"): "test_workload.py",
    GroupResource("certificates.k8s.io", "clustertrustbundles"): LATER,
    GroupResource("certificates.k8s.io", "podcertificaterequests"): "../../integration/server/test_pod_certificates.py",
    GroupResource("coordination.k8s.io", "leasecandidates"): "../../integration/server/test_early_versions.py",
    GroupResource("resource.k8s.io", "devicetaintrules"): LATER,
    GroupResource("storagemigration.k8s.io", "storageversionmigrations"): LATER,
}


@pytest.mark.parametrize("resource", MODULES, ids=str)
def test_every_strategy_has_a_case_of_its_own(resource: GroupResource) -> None:
    if resource in ELSEWHERE:
        file = Path(__file__).parent / ELSEWHERE[resource]
        assert re.search(rf'["/]{resource.resource}"', file.read_text())
        return
    named = {case.values[0]["resource"] for case in CASES if case.values[0]["errors"]}
    start = f"{resource.group}/v" if resource.group else "v"
    assert any(name.endswith(f"/{resource.resource}") and name.startswith(start) for name in named)
