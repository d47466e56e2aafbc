"""Objects with a fault each: `faults/` has what kube-apiserver 1.36 answers to their creates and updates."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.validation.objects import create_errors, update_errors

CASES = [
    pytest.param(case, id=f"{file.stem}-{number}-{case['resource'].rpartition('/')[2]}")
    for file in sorted(Path(__file__).with_name("faults").glob("*.yaml"))
    for number, case in enumerate(yaml.safe_load(file.read_text()))
]


@pytest.mark.parametrize("case", CASES)
def test_faults_are_named_and_worded_as_by_kube_apiserver(case: dict[str, Any]) -> None:
    if "create" in case:
        errors = create_errors(case["resource"], case["create"])
    else:
        errors = update_errors(case["resource"], case["update"], case.get("before"))
    assert errors == case["errors"]
