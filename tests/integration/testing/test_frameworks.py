"""The fixtures with pytest and pytest-xdist, the test case of unittest, and asyncio."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from apiserver_gateway.testing import Refused, aio, ask
from apiserver_gateway.testing.cases import ApiServerTestCase
from tests import plugins

ROOT = Path(__file__).parents[3]

WORKERS = """
import pathlib, pytest
from apiserver_gateway.testing import ask

@pytest.mark.parametrize("number", range(4))
def test_it(kubernetes_api, kubernetes_namespace, number):
    pathlib.Path(f"{number}.seen").write_text(kubernetes_api.url)
    assert ask(kubernetes_api, "GET", f"/api/v1/namespaces/{kubernetes_namespace}")
"""

RESTORED = """
import pytest
from apiserver_gateway.testing import Refused, ask

MAPS = "/api/v1/namespaces/default/configmaps"

def test_writes(restored_kubernetes_api):
    ask(restored_kubernetes_api, "POST", MAPS, {"metadata": {"name": "a"}})

def test_sees_nothing_of_it(kubernetes_api):
    with pytest.raises(Refused, match="not found"):
        ask(kubernetes_api, "GET", f"{MAPS}/a")
"""

REFUSED = """
def test_it(fresh_kubernetes_api):
    pass
"""


def run_pytest(directory: Path, source: str, *words: str, ini: str = "") -> subprocess.CompletedProcess[str]:
    (directory / "test_it.py").write_text(source)
    (directory / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "apiserver_gateway.testing.plugin", "-p", "no:cacheprovider"]
    command += plugins.OURS
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, *words], capture_output=True, text=True, timeout=200, cwd=directory, env=environment
    )


@pytest.mark.parametrize(("kept", "servers"), [("shared", 1), ("each", 2)])
def test_workers_of_xdist(tmp_path: Path, kept: str, servers: int) -> None:
    """One server for all workers, or one each."""
    outcome = run_pytest(tmp_path, WORKERS, "-n2", ini=f"kubernetes_api_workers = {kept}")
    assert outcome.returncode == 0, outcome.stdout
    assert len({seen.read_text() for seen in tmp_path.glob("*.seen")}) == servers


def test_the_state_is_restored_and_scopes_and_flags_are_chosen(tmp_path: Path) -> None:
    ini = "kubernetes_api_scope = module\nkubernetes_api_flags = --service-cluster-ip-range=10.7.0.0/16"
    outcome = run_pytest(tmp_path, RESTORED, ini=ini)
    assert outcome.returncode == 0 and "2 passed" in outcome.stdout, outcome.stdout


def test_a_server_that_does_not_start_says_why_in_few_lines(tmp_path: Path) -> None:
    outcome = run_pytest(tmp_path, REFUSED, ini="kubernetes_api_flags = --unheard-of=1")
    assert outcome.returncode == 1 and "--unheard-of" in outcome.stdout
    assert "Traceback" not in outcome.stdout and len(outcome.stdout.splitlines()) < 20


@pytest.mark.parametrize("ini", ["kubernetes_api_workers = sharde", "kubernetes_api_scope = modul"])
def test_an_option_that_is_none_of_its_choices_is_refused(tmp_path: Path, ini: str) -> None:
    outcome = run_pytest(tmp_path, REFUSED, ini=ini)
    assert outcome.returncode == 4 and f"{ini}: choose one of " in outcome.stderr and "Traceback" not in outcome.stderr


class TestACase(ApiServerTestCase):
    """pytest runs it as unittest would."""

    flags = ("--service-cluster-ip-range=10.8.0.0/16",)

    def test_a_namespace_is_there(self) -> None:
        assert ask(self.api, "GET", f"/api/v1/namespaces/{self.namespace}")["metadata"]["name"] == self.namespace
        service = ask(self.api, "GET", "/api/v1/namespaces/default/services/kubernetes")
        assert service["spec"]["clusterIP"] == "10.8.0.1"


async def test_with_asyncio() -> None:
    """While it waits the event loop turns."""
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    turning = asyncio.create_task(turn())
    async with aio.api_server() as api, aio.namespace(api) as name:
        path = f"/api/v1/namespaces/{name}/configmaps"
        async with aio.restored(api):
            await aio.ask(api, "POST", path, {"metadata": {"name": "a"}})
            found = await aio.wait_for(api, f"{path}/a", lambda found: "uid" in found["metadata"])
            assert found["metadata"]["name"] == "a"
            async with aio.fault(api, verb="get", resource="configmaps", answer="conflict"):
                with pytest.raises(Refused, match="409"):
                    await aio.ask(api, "GET", f"{path}/a")
        with pytest.raises(Refused, match="404"):
            await aio.ask(api, "GET", f"{path}/a")
    turning.cancel()
    assert turns > 10
