"""The image of deploy/Dockerfile with hardened settings: read-only, without capabilities, stopped by SIGTERM."""

from __future__ import annotations

import json
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.engine import images, tools
from tests.engine.containers import HOME, Container, network, run
from tests.limits import within

MEMORY = 384  # the memory limit in MB; use must stay far below


@pytest.fixture(scope="module")
def gateway(_engine: None) -> Iterator[Container]:
    """A gateway beside an etcd, healthy by the image's own check."""
    with ExitStack() as stack:
        own = stack.enter_context(network())
        etcd = ("etcd", "--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://etcd:2379")
        stack.enter_context(run(tools.ETCD_IMAGE, *etcd, options=(f"--network={own}", "--network-alias=etcd")))
        options = (f"--network={own}", "--read-only", "--tmpfs=/tmp", f"--volume={HOME}", "--cap-drop=ALL")
        options += ("--security-opt=no-new-privileges", f"--memory={MEMORY}m", "--publish=127.0.0.1::6443")
        words = ("serve", "--etcd-servers=http://etcd:2379", f"--cert-dir={HOME}/certificates")
        words += (f"--kubeconfig-out={HOME}/kubeconfig", "--secure-port=6443")
        yield stack.enter_context(run(images.GATEWAY, *words, options=options)).healthy()


def test_it_serves_as_nobody_on_a_root_that_it_cannot_write(gateway: Container) -> None:
    process = gateway.inspect()["State"]["Pid"]
    with open(f"/proc/{process}/status") as status:  # noqa: PTH123  # the first process: no shell stands before it
        facts = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    assert set(facts["Uid"].split()) == {"65532"} and int(facts["CapEff"], 16) == 0 and facts["NoNewPrivs"] == "1"
    owned = gateway.exec("stat", "--format=%a %u:%g", HOME, f"{HOME}/kubeconfig", f"{HOME}/certificates/ca.key")
    assert owned.split("\n") == [f"{mode} 65532:65532" for mode in ("700", "600", "600")]
    for place in ("/", "/etc", "/opt/gateway", "/opt/gateway/bin"):
        assert "Read-only file system" in gateway.exec("touch", f"{place}/file", check=False)
    assert gateway.exec("find", "/opt/gateway", "-perm", "/0022", "!", "-type", "l") == ""
    assert gateway.exec("find", "/opt/gateway", HOME, "-perm", "/6000") == ""


def test_neither_pip_nor_sources_come_along(gateway: Container) -> None:
    assert gateway.exec("sh", "-c", "ls -d /src /opt/gateway/bin/pip* 2>/dev/null || true") == ""
    found = gateway.exec("find", "/opt/gateway", "-name", "pip", "-o", "-name", "pip-*", "-o", "-name", "pip3")
    assert found == ""


def test_it_needs_little_memory(gateway: Container) -> None:
    used = gateway.memory()
    assert 0 < used < MEMORY / 2, f"{used} MB"


def test_told_to_end_it_ends_watches_whole(gateway: Container) -> None:
    """SIGTERM reaches the server. The stream of a watch ends regularly, and the server exits with 0 before a
    SIGKILL.
    """
    token = gateway.exec("cat", f"{HOME}/certificates/admin-token")
    (port,) = (each["HostPort"] for each in gateway.inspect()["NetworkSettings"]["Ports"]["6443/tcp"])
    path = f"https://127.0.0.1:{port}/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Ddefault"
    request = urllib.request.Request(path, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60, context=ssl._create_unverified_context()) as watch:
        assert b'"ADDED"' in watch.readline()
        with within(50):
            images.docker("stop", "--time=60", gateway.id)
        assert watch.read() == b"", "the stream ends, and whole"
    assert gateway.inspect()["State"]["ExitCode"] == 0


def test_what_it_says_without_a_command_is_how_it_is_used(_engine: None) -> None:
    assert "--etcd-servers" in images.docker("run", "--rm", "--read-only", images.GATEWAY)


def test_its_labels_name_the_base_that_it_has(_engine: None) -> None:
    (found,) = json.loads(images.docker("image", "inspect", images.GATEWAY))
    labels: dict[str, Any] = found["Config"]["Labels"]
    assert labels["org.opencontainers.image.base.name"] == tools.BASE.image
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_docker_compose_1_says_that_it_is_too_old(_engine: None) -> None:
    """Debian 12 ships it. It can read the file without an engine."""
    words = ["docker", "run", "--rm", "--network=none", f"--volume={tools.ROOT}:/project:ro", tools.PROGRAMS.image]
    words += ["docker-compose", "--file=/project/docker-compose.yml", "config"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode and "docker-compose 1 is too old for this file" in done.stderr, done.stderr
