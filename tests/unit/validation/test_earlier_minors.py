"""What an update or create is refused for in a minor and in the one after it, as kube-apiservers of both say it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.unit.validation.replaying import told

META = {"name": "a", "resourceVersion": "1", "uid": "u"}
BEFORE, AFTER = "1.35", "1.36"

Paths = list[tuple[str, str]]


def refused(written: str, sent: Any, old: Any, minor: str, subresource: str = "") -> Paths:
    """The field and message of each cause for which a minor refuses an object."""
    causes = told(written, subresource, deepcopy(sent), deepcopy(old), minor)
    assert isinstance(causes, list), causes
    return [(cause["field"], cause["message"].partition(":")[0]) for cause in causes]


@pytest.mark.parametrize(("minor", "times"), [(BEFORE, 2), (AFTER, 1)])
def test_an_update_of_a_policy_or_csi_node_tells_each_error_as_often_as_the_minor(minor: str, times: int) -> None:
    meta = {**META, "namespace": "default"}
    policy = {"metadata": meta, "spec": {"podSelector": {}, "egress": [{"to": [{}]}], "policyTypes": ["Egress"]}}
    node = {"metadata": META, "spec": {"drivers": [{"name": "a.b", "nodeID": ""}]}}
    asked = [("networking.k8s.io/v1/networkpolicies", policy), ("storage.k8s.io/v1/csinodes", node)]
    assert [len(refused(written, wrong, wrong, minor)) for written, wrong in asked] == [times, times]
    assert [len(refused(written, wrong, None, minor)) for written, wrong in asked] == [1, 1]


@pytest.mark.parametrize(
    ("minor", "handler", "kind"),
    [(BEFORE, "Invalid value", "Unsupported value"), (AFTER, "Required value", "Required value")],
)
def test_a_missing_handler_or_type_is_a_wrong_value_before_1_36(minor: str, handler: str, kind: str) -> None:
    level = {"metadata": META, "spec": {"type": "Limited", "limited": {"limitResponse": {}}}}
    written = "flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
    assert refused("node.k8s.io/v1/runtimeclasses", {"metadata": META}, None, minor) == [("handler", handler)]
    assert refused(written, level, None, minor) == [("spec.limited.limitResponse.type", kind)]
    assert refused(written, {"metadata": META, "spec": {}}, None, minor)[0] == ("spec.type", kind)


def attachment(attacher: str, volume: str) -> Any:
    return {
        "metadata": META,
        "spec": {"attacher": attacher, "source": {"persistentVolumeName": volume}, "nodeName": "n"},
    }


def test_an_update_of_an_attachment_does_not_judge_its_names_before_1_36() -> None:
    written = "storage.k8s.io/v1/volumeattachments"
    attacher, volume = "spec.attacher", "spec.source.persistentVolumeName"
    wrong, nameless = attachment("a_b", "B_"), attachment("", "b")
    for old, before in ((None, [(attacher, "Invalid value"), (volume, "Invalid value")]), (wrong, [])):
        assert refused(written, wrong, old, BEFORE) == before
        assert refused(written, wrong, old, AFTER) == [(attacher, "Invalid value"), (volume, "Invalid value")]
    for old, times in ((None, 2), (nameless, 1)):
        assert refused(written, nameless, old, BEFORE) == [(attacher, "Required value")] * times
        assert refused(written, nameless, old, AFTER) == [(attacher, "Required value")]
