"""The steps of deploy/Dockerfile, carried out as they stand there, and what they make: run as an image is run."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from storage.embedded import find_binary
from tests.dockerfile import ROOT, Stage, given, stages
from tests.integration.deploy.containers import running, wait_until
from tests.integration.deploy.image import Root, can_be_made
from tests.ports import free_ports

HOME = "/var/lib/apiserver-gateway"


@dataclass
class Image:
    """What building leaves: a root, and how it is run."""

    root: Root
    directory: str = "/"
    user: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)  # of the build

    def build(self, stage: Stage, earlier: Image | None, scratch: Path) -> None:
        """Carries out the instructions of a stage."""
        for name, text in stage:
            match name:
                case "RUN":
                    known = self.environment | self.arguments
                    self.root.run(["/bin/sh", "-c", text], known, self.directory, self.user)
                case "ARG":
                    self.arguments |= dict([text.split("=", 1)])
                case "COPY":
                    self._copy(text, earlier, scratch)
                case "WORKDIR":
                    self.root.on_it("mkdir", "-p", self.root.place(text))
                    self.directory = text
                case "ENV":
                    self.environment |= dict(word.split("=", 1) for word in shlex.split(text))
                case "USER":
                    self.user = text
                case "FROM" | "LABEL" | "EXPOSE" | "HEALTHCHECK" | "ENTRYPOINT" | "CMD":
                    pass
                case _:
                    raise AssertionError(f"{name} is not carried out here")

    def _copy(self, text: str, earlier: Image | None, scratch: Path) -> None:
        *sources, target = [word for word in text.split() if not word.startswith("--from=")]
        if "--from=" in text:  # what goes from one root to another goes through the machine's
            assert earlier is not None
            (source,) = sources
            self.root.on_it("mkdir", "-p", self.root.place(target))
            packed = subprocess.run(
                earlier.root.command(["tar", "-c", "."], {}, source), capture_output=True, check=True
            ).stdout
            subprocess.run(self.root.command(["tar", "-x"], {}, target), input=packed, check=True)
            return
        for source in sources:
            place, inside = scratch / source, ""
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
                inside = "/."
            else:
                shutil.copy(ROOT / source, place)
            to = Path(self.directory, target)
            self.root.on_it("mkdir", "-p", self.root.place(str(to)))
            self.root.on_it("cp", "-r", f"{place}{inside}", self.root.place(str(to)))


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """The image: its root is read-only but for the user's own directory."""
    if not can_be_made():
        pytest.skip("this wants root, and leave to mount")
    with ExitStack() as stack:
        earlier: Image | None = None
        for stage in stages():
            scratch = tmp_path_factory.mktemp("stage")
            made = Image(Root(scratch, stack))
            made.build(stage, earlier, scratch)
            earlier = made
        assert earlier is not None
        earlier.root.is_read_only_but_for(HOME)
        yield earlier


def outcome(image: Image, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in the image, as its user."""
    command = image.root.command(words, image.environment, image.directory, image.user)
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[str]:
    """The URL of an etcd that one with no rights on this machine can reach; gateways wait until it is ready."""
    client, peer = (f"http://127.0.0.1:{port}" for port in free_ports(2))
    words = [str(find_binary()), f"--data-dir={tmp_path / 'etcd'}", f"--listen-peer-urls={peer}"]
    urls = [f"--{kind}-client-urls={client}" for kind in ("listen", "advertise")]
    with running([*words, *urls], {}, tmp_path / "etcd.log"):
        yield client


def test_it_serves_as_nobody_on_a_root_that_it_cannot_write(image: Image, etcd: str, tmp_path: Path) -> None:
    final = stages()[-1]
    (port,) = free_ports(1)
    entry = json.loads(given(final, "ENTRYPOINT")[0])
    flags = [f"--etcd-servers={etcd}", f"--secure-port={port}", "--etcd-prefix=/image"]
    own = [f"--cert-dir={HOME}/certificates", f"--kubeconfig-out={HOME}/kubeconfig"]
    health = json.loads(given(final, "HEALTHCHECK")[0].partition("CMD ")[2].replace("6443", str(port)))
    assert outcome(image, *health).returncode, "nothing answers yet"
    words = image.root.command([*entry, "serve", *flags, *own], image.environment, image.directory, image.user)
    with running(words, {}, log := tmp_path / "log") as process:
        wait_until(lambda: outcome(image, *health).returncode == 0, process, log)
        (status,) = [line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if "Uid" in line]
        assert set(status.split()[1:]) == {image.user.split(":")[0]}, "no shell or other program stands before it"
    owned = outcome(image, "stat", "--format=%a %u:%g", HOME, f"{HOME}/kubeconfig", f"{HOME}/certificates/ca.key")
    assert owned.stdout.split("\n")[:-1] == [f"{mode} {image.user}" for mode in ("700", "600", "600")]


def test_what_it_says_without_a_command_is_how_it_is_used(image: Image) -> None:
    final = stages()[-1]
    said = outcome(image, *(word for name in ("ENTRYPOINT", "CMD") for word in json.loads(given(final, name)[0])))
    assert said.returncode == 0 and "--etcd-servers" in said.stdout


def test_its_user_can_write_nothing_of_it(image: Image) -> None:
    for place in ("/", "/etc", "/opt/gateway", "/opt/gateway/bin"):
        assert "Read-only file system" in outcome(image, "touch", f"{place}/file").stderr
    writable = image.root.run(["find", "/opt/gateway", "-perm", "/0022", "!", "-type", "l"], {})
    special = image.root.run(["find", "/opt/gateway", HOME, "-perm", "/6000"], {})
    assert writable == special == ""


def test_neither_pip_nor_sources_come_along(image: Image) -> None:
    assert outcome(image, "test", "-e", "/src").returncode == 1
    assert (
        image.root.run(["find", "/opt/gateway", "-name", "pip", "-o", "-name", "pip-*", "-o", "-name", "pip3"], {})
        == ""
    )
