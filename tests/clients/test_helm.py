"""helm installs, upgrades, rolls back and uninstalls a chart."""

from __future__ import annotations

import json
from pathlib import Path

from tests.clients.command import Helm, Kubectl

CHART = str(Path(__file__).parent / "chart")


def test_the_life_of_a_release(kubectl: Kubectl, helm: Helm) -> None:
    helm("install", "shop", CHART)
    assert kubectl.get("configmap", "shop")["data"] == {"revision": "1"}
    helm("upgrade", "shop", CHART, "--set", "replicas=3")
    assert kubectl.get("deployment", "shop")["spec"]["replicas"] == 3
    helm("rollback", "shop", "1")
    assert kubectl.get("deployment", "shop")["spec"]["replicas"] == 1
    (release,) = json.loads(helm("list", "-o", "json"))
    assert (release["revision"], release["status"]) == ("3", "deployed")
    helm("uninstall", "shop")
    assert kubectl.names("deployments,secrets") == []
