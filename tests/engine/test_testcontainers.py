"""ApiServerContainer with a real engine: from this machine, and from a container on the same engine."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine import images, tools
from tests.engine.containers import network

TESTS = """
from apiserver_gateway.testing import Refused, ask, webhook
from apiserver_gateway.testing.containers import ApiServerContainer

MAPS = "/api/v1/namespaces/default/configmaps"
FLAGS = ["--service-cluster-ip-range=10.6.0.0/16"]

with ApiServerContainer({image!r}, {etcd!r}, FLAGS) as api:
    service = ask(api, "GET", "/api/v1/namespaces/default/services/kubernetes")
    assert service["spec"]["clusterIP"] == "10.6.0.1"
    with webhook(api, lambda request: "no more of these", "configmaps") as hook:
        try:
            ask(api, "POST", MAPS, {{"metadata": {{"name": "a"}}}})
        except Refused as refused:
            assert "no more of these" in str(refused), refused
        else:
            raise AssertionError("the webhook was not asked")
    assert "a" in [each["name"] for each in hook.requests]
    ask(api, "POST", MAPS, {{"metadata": {{"name": "a"}}}})
print("all of it")
"""
SOCKET = "/var/run/docker.sock"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that does what a user's test does."""
    (path := tmp_path / "program.py").write_text(TESTS.format(image=images.GATEWAY, etcd=tools.ETCD_IMAGE))
    return path


@pytest.fixture(params=["default", "own"])
def beside(request: pytest.FixtureRequest) -> Iterator[str]:
    """The network of a container: Docker's default, which has no DNS names, or another one."""
    if request.param == "default":
        yield "bridge"
    else:
        with network() as name:
            yield name


def test_it_is_a_server_with_webhooks_of_this_machine(_engine: None, program: Path) -> None:
    environment = {**os.environ, "TESTCONTAINERS_RYUK_DISABLED": "true", "PYTHONPATH": str(tools.ROOT)}
    command = [sys.executable, str(program)]
    assert "all of it" in run_program(command, environment)
    assert "org.testcontainers" not in images.docker("ps", "--all", "--format={{.Labels}}"), "nothing is left"


def test_it_is_one_beside_the_container_that_the_tests_run_in(_engine: None, program: Path, beside: str) -> None:
    """The tests run in a container with this Python and its packages and the engine's socket."""
    host = os.environ["DOCKER_HOST"].removeprefix("unix://")
    places = {sys.base_prefix, sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), str(tools.ROOT)}
    mounts = [f"--volume={place}:{place}:ro" for place in sorted(places) if not place.startswith("/usr/")]
    packages = os.pathsep.join((str(tools.ROOT), sysconfig.get_path("purelib")))
    words = [
        "run",
        "--rm",
        f"--network={beside}",
        *mounts,
        f"--volume={host}:{SOCKET}",
        f"--volume={program}:/it.py:ro",
    ]
    words += [f"--env=PYTHONPATH={packages}", "--env=TESTCONTAINERS_RYUK_DISABLED=true", tools.BASE.image]
    python = "python3" if sys.base_prefix == "/usr" else str(Path(sys.executable).resolve())
    assert "all of it" in images.docker(*words, python, "/it.py")


def run_program(command: list[str], environment: dict[str, str]) -> str:
    """Runs a program, which must exit with 0. Returns its output."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
