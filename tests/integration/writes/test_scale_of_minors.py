"""The metadata of a Scale that is written: 1.36 validates all of it, and 1.37 its managedFields alone."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from apiserver_gateway.testing.requests import Refused, ask

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SCALE = f"{DEPLOYMENTS}/web/scale"
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
}


def refused(api: ApiServer, scale: dict[str, Any]) -> str:
    """The message that refuses a Scale."""
    with pytest.raises(Refused) as found:
        ask(api, "PUT", SCALE, scale)
    assert found.value.status == 422
    return str(found.value)


@pytest.mark.parametrize("minor", ["1.36", "1.37"])
def test_only_1_37_takes_a_scale_whose_labels_are_wrong(minor: str) -> None:
    with api_server("--controllers=-*", version=minor) as api:
        ask(api, "POST", DEPLOYMENTS, DEPLOYMENT)
        scale = ask(api, "GET", SCALE)
        scale["metadata"]["labels"] = {"a/b/c": "d"}
        scale["spec"]["replicas"] = 3
        if minor == "1.37":
            shown = ask(api, "PUT", SCALE, scale)
            assert shown["spec"] == {"replicas": 3} and "labels" not in shown["metadata"]
        else:
            assert 'Scale.autoscaling "web" is invalid: metadata.labels: Invalid value: ' in refused(api, scale)
        scale = ask(api, "GET", SCALE)
        scale["spec"]["replicas"] = -1
        assert "spec.replicas: Invalid value: -1: must be greater than or equal to 0" in refused(api, scale)
