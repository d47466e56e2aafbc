"""`export` and `import` work by the kubeconfig of a control plane, and see this control plane alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from apiserver_gateway.testing import ApiServer, Cluster, ask, install
from gateway.jsontypes import JsonObject
from tests.integration.clusters.test_life import MAPS
from tests.integration.clusters.test_serving import WIDGETS, definition, widget
from tests.integration.server.client import ask as raw


def run(cluster: Cluster, *words: str) -> str:
    command = [sys.executable, "-m", "gateway", *words, f"--kubeconfig={cluster.kubeconfig}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def made_in(cluster: Cluster, path: str) -> dict[str, JsonObject]:
    """The objects that a user has made, by name."""
    found = ask(cluster, "GET", path)["items"]
    return {each["metadata"]["name"]: each for each in found if each["metadata"]["name"] != "kube-root-ca.crt"}


def test_objects_go_from_one_control_plane_to_another(server: ApiServer, tmp_path: Path) -> None:
    ask(server, "POST", MAPS, {"metadata": {"name": "of-the-root"}})
    try:
        with server.cluster() as source, server.cluster() as target, server.cluster() as beside:
            install(source, definition("integer"))
            ask(source, "POST", WIDGETS, widget(1))
            ask(source, "POST", MAPS, {"metadata": {"name": "carried"}, "data": {"a": "b"}})
            ask(beside, "POST", MAPS, {"metadata": {"name": "of-another"}})
            run(source, "export", "-o", str(tmp_path / "objects"))
            run(target, "import", str(tmp_path / "objects"))
            before, after = made_in(source, MAPS), made_in(target, MAPS)
            assert before.keys() == after.keys() == {"carried"}
            assert after["carried"]["data"] == {"a": "b"}
            assert after["carried"]["metadata"]["uid"] != before["carried"]["metadata"]["uid"]
            assert {name: each["spec"] for name, each in made_in(target, WIDGETS).items()} == {"w": {"size": 1}}
            assert made_in(beside, MAPS).keys() == {"of-another"}
            for below in ("", f"/clusters/{beside.name}"):
                token = beside.token if below else server.token
                assert raw(server, "GET", f"{below}{WIDGETS}", token=token).status == 404
    finally:
        ask(server, "DELETE", f"{MAPS}/of-the-root")
