"""Objects of an extension API server as owners, as dependents and in quotas, with Kubernetes' sample-apiserver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.clients.command import Kubectl
from tests.clients.conftest import _program
from tests.clients.extension_servers import GROUP, wardle
from tests.until import until

VERSION = f"{GROUP}/v1beta1"


@pytest.fixture(scope="module")
def sample(server: ApiServer, home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    administrator = Kubectl(_program("kubectl"), server.kubeconfig, home, "")
    with wardle(server, administrator, tmp_path_factory.mktemp("wardle")):
        yield
    for version in ("v1alpha1", "v1beta1"):
        administrator("delete", "apiservice", f"{version}.{GROUP}")


def made(kubectl: Kubectl, kind: str, name: str, *owners: dict[str, Any], blocks: bool = False) -> dict[str, Any]:
    """Creates an object with owners: a Flunder on the extension API server, or a ConfigMap on the gateway."""
    version = VERSION if kind == "Flunder" else "v1"
    references = [
        {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "blockOwnerDeletion": blocks}
        | {key: owner["metadata"][key] for key in ("name", "uid")}
        for owner in owners
    ]
    metadata = {"name": name, "ownerReferences": references}
    kubectl("create", "-f", "-", given={"apiVersion": version, "kind": kind, "metadata": metadata})
    return kubectl.get(kind.lower(), name)


@pytest.mark.parametrize(("kind", "other"), [("Flunder", "ConfigMap"), ("ConfigMap", "Flunder"), ("Flunder",) * 2])
@pytest.mark.parametrize("how", ["background", "foreground"])
def test_dependents_go_with_their_owner(sample: None, kubectl: Kubectl, kind: str, other: str, how: str) -> None:
    owner = made(kubectl, kind, "owner")
    made(kubectl, other, "dependent", owner, blocks=True)
    kubectl("delete", kind.lower(), "owner", f"--cascade={how}", "--timeout=120s")
    until(lambda: "NotFound" in kubectl.run("get", other.lower(), "dependent").stderr)
    assert "NotFound" in kubectl.run("get", kind.lower(), "owner").stderr


@pytest.mark.parametrize(("kind", "other"), [("Flunder", "ConfigMap"), ("ConfigMap", "Flunder")])
def test_orphans_stay_and_have_no_owner_any_more(sample: None, kubectl: Kubectl, kind: str, other: str) -> None:
    owner = made(kubectl, kind, "owner")
    made(kubectl, other, "dependent", owner)
    kubectl("delete", kind.lower(), "owner", "--cascade=orphan", "--timeout=120s")
    until(lambda: "NotFound" in kubectl.run("get", kind.lower(), "owner").stderr)
    until(lambda: "ownerReferences" not in kubectl.get(other.lower(), "dependent")["metadata"])


@pytest.mark.parametrize("kind", ["Flunder", "ConfigMap"])
def test_one_that_has_another_owner_stays(sample: None, kubectl: Kubectl, kind: str) -> None:
    owners = [made(kubectl, "Flunder", "a"), made(kubectl, "Flunder", "b"), made(kubectl, "ConfigMap", "c")]
    made(kubectl, kind, "dependent", *owners)
    kubectl("delete", "flunder", "a")
    kubectl("delete", "configmap", "c")
    until(lambda: _owners(kubectl, kind) == ["b"])
    kubectl("delete", "flunder", "b")
    until(lambda: "NotFound" in kubectl.run("get", kind.lower(), "dependent").stderr)


@pytest.mark.parametrize("kind", ["Flunder", "ConfigMap"])
def test_one_whose_owner_never_was_goes(sample: None, kubectl: Kubectl, kind: str) -> None:
    nobody = {"apiVersion": VERSION, "kind": "Flunder", "metadata": {"name": "nobody", "uid": "u-0"}}
    references = [{"apiVersion": VERSION, "kind": "Flunder", **nobody["metadata"]}]  # type: ignore[dict-item]
    version = VERSION if kind == "Flunder" else "v1"
    metadata = {"name": "dependent", "ownerReferences": references}
    kubectl("create", "-f", "-", given={"apiVersion": version, "kind": kind, "metadata": metadata})
    until(lambda: "NotFound" in kubectl.run("get", kind.lower(), "dependent").stderr)


def test_quotas_count_them(sample: None, kubectl: Kubectl) -> None:
    name = f"count/flunders.{GROUP}"
    kubectl("create", "quota", "few", f"--hard={name}=3")

    def used() -> str | None:
        found: str | None = (kubectl.get("quota", "few").get("status") or {}).get("used", {}).get(name)
        return found

    until(lambda: used() == "0")
    made(kubectl, "Flunder", "a")
    made(kubectl, "Flunder", "b")
    until(lambda: used() == "2")
    kubectl("delete", "flunder", "a")
    until(lambda: used() == "1")


def _owners(kubectl: Kubectl, kind: str) -> list[str]:
    return [each["name"] for each in kubectl.get(kind.lower(), "dependent")["metadata"].get("ownerReferences", [])]
