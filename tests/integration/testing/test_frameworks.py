"""The fixtures with pytest and pytest-xdist, the TestCase for unittest, and asyncio."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Refused, aio, ask
from apiserver_gateway.testing.cases import ApiServerTestCase
from apiserver_gateway.testing.connections import Connections, SentRequest, Server
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

MARKED = """
import pytest
from apiserver_gateway.testing import ask
from gateway.release.minors import DEFAULT

@pytest.mark.kubernetes("1.34", "1.35")
def test_shared(kubernetes_api, kubernetes_minor):
    assert ask(kubernetes_api, "GET", "/version")["minor"] == kubernetes_minor[2:]

@pytest.mark.kubernetes("1.35")
class TestFresh:
    def test_fresh(self, fresh_kubernetes_api):
        assert ask(fresh_kubernetes_api, "GET", "/version")["minor"] == "35"

def test_usual(kubernetes_api, fresh_kubernetes_api):
    for api in (kubernetes_api, fresh_kubernetes_api):
        assert ask(api, "GET", "/version")["minor"] == DEFAULT.removeprefix("1.")
"""


PLANES = """
import pathlib, pytest
from apiserver_gateway.testing import ask

@pytest.mark.kubernetes("1.34", "1.36")
def test_minors(fresh_kubernetes_api, kubernetes_minor):
    assert "/clusters/" in fresh_kubernetes_api.url
    assert ask(fresh_kubernetes_api, "GET", "/version")["minor"] == kubernetes_minor[2:]

@pytest.mark.parametrize("number", range(2))
def test_servers(kubernetes_cluster, number):
    pathlib.Path(f"{number}.seen").write_text(kubernetes_cluster.server.url)
    ask(kubernetes_cluster, "POST", "/api/v1/namespaces", {"metadata": {"name": "of-one"}})
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
    """One server for all workers, or one for each."""
    outcome = run_pytest(tmp_path, WORKERS, "-n2", ini=f"kubernetes_api_workers = {kept}")
    assert outcome.returncode == 0, outcome.stdout
    assert len({seen.read_text() for seen in tmp_path.glob("*.seen")}) == servers


def test_control_planes_of_all_workers_and_minors_are_on_one_server(tmp_path: Path) -> None:
    ini = (
        "kubernetes_api_workers = shared\nkubernetes_api_flags = --control-planes\nkubernetes_api_fresh = control-plane"
    )
    outcome = run_pytest(tmp_path, PLANES, "-n2", ini=ini)
    assert outcome.returncode == 0 and "4 passed" in outcome.stdout, outcome.stdout
    assert len({seen.read_text() for seen in tmp_path.glob("*.seen")}) == 1


def test_the_state_is_restored_and_scopes_and_flags_are_chosen(tmp_path: Path) -> None:
    ini = "kubernetes_api_scope = module\nkubernetes_api_flags = --service-cluster-ip-range=10.7.0.0/16"
    outcome = run_pytest(tmp_path, RESTORED, ini=ini)
    assert outcome.returncode == 0 and "2 passed" in outcome.stdout, outcome.stdout


def test_a_server_that_does_not_start_says_why_in_few_lines(tmp_path: Path) -> None:
    outcome = run_pytest(tmp_path, REFUSED, ini="kubernetes_api_flags = --unheard-of=1")
    assert outcome.returncode == 1 and "--unheard-of" in outcome.stdout
    assert "Traceback" not in outcome.stdout and len(outcome.stdout.splitlines()) < 20


def test_a_mark_has_a_test_run_on_each_minor(tmp_path: Path) -> None:
    outcome = run_pytest(tmp_path, MARKED, "--strict-markers")
    assert outcome.returncode == 0 and "4 passed" in outcome.stdout, outcome.stdout
    outcome = run_pytest(tmp_path, MARKED, "-n2", ini="kubernetes_api_workers = shared")
    assert outcome.returncode == 0 and "4 passed" in outcome.stdout, outcome.stdout


@pytest.mark.parametrize(("minors", "fixture"), [("", "kubernetes_api"), ('"1.35"', "tmp_path")])
def test_a_mark_that_has_no_effect_is_refused(tmp_path: Path, minors: str, fixture: str) -> None:
    source = f"import pytest\n\n@pytest.mark.kubernetes({minors})\ndef test_it({fixture}):\n    pass\n"
    outcome = run_pytest(tmp_path, source)
    assert outcome.returncode == 2 and "test_it.py::test_it: name minors" in outcome.stdout, outcome.stdout
    assert "Traceback" not in outcome.stdout


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


async def test_with_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop runs during waits: they happen in threads."""
    talking, answer, start = set[threading.Thread](), Connections.answer, ApiServer.start

    def started(server: ApiServer) -> None:
        talking.add(threading.current_thread())
        start(server)

    def noted(
        connections: Connections, server: Server, asked: SentRequest, timeout: float
    ) -> AbstractContextManager[Any]:
        talking.add(threading.current_thread())
        return answer(connections, server, asked, timeout)

    monkeypatch.setattr(ApiServer, "start", started)
    monkeypatch.setattr(Connections, "answer", noted)
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
    assert talking and threading.current_thread() not in talking
