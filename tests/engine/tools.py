"""Tools for tests on an engine without a registry: Compose, built from its Go module, and images of Debian's packages.

All of them are kept in a cache directory. Each is made once, and again after a change of the way in which it is made.
Needs root, Go, Debian's packages and Go modules, and no Python package.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "apiserver-gateway"
PLACE = CACHE / "engine"
COMPOSE = "v2.40.3"
ETCD = "3.7.3"
SUITE = "bookworm"
_SECONDS = 3000  # for one command: on a busy machine the largest programs of Kubernetes take half of that
_STATIC = {"CGO_ENABLED": "0"}
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# programs, and Debian's packages that have them
PACKAGES = {"dockerd": "docker.io", "docker": "docker.io", "mmdebstrap": "mmdebstrap"}
PACKAGES |= {"iptables": "iptables", "ip": "iproute2"}


class Missing(Exception):
    """No engine can run on this machine: a prerequisite is missing. The message says which, and why."""


class Broken(Exception):
    """A tool could not be made; the message says which, and why."""


@dataclass(frozen=True)
class Tree:
    """An image made of Debian's packages."""

    name: str
    packages: tuple[str, ...]

    @property
    def archive(self) -> Path:
        """The archive of its file system. Its name depends on its contents."""
        recipe = json.dumps([SUITE, self.packages, CERTIFICATES.is_file()])
        return PLACE / f"{self.name}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}.tar"

    @property
    def image(self) -> str:
        """The name of the image."""
        return f"apiserver-gateway-tests/{self.archive.stem}"


# contents of the gateway's image, instead of Docker's python image
BASE = Tree("base", ("python3", "python3-venv", "python-is-python3", "ca-certificates"))
# the load balancer with the program of its health check, and a Compose version that is too old
PROGRAMS = Tree("programs", ("haproxy", "wget", "docker-compose"))
ETCD_IMAGE = f"apiserver-gateway-tests/etcd:{ETCD}"


def compose() -> Path:
    """The directory for DOCKER_CONFIG, in which docker finds its plug-ins, with Compose."""
    return PLACE / f"compose-{COMPOSE}"


def install() -> None:
    """Installs an engine. Raises Missing."""
    PLACE.mkdir(parents=True, exist_ok=True)
    try:
        _install()
    except Broken as error:
        raise Missing(str(error)) from None


def make() -> None:
    """Makes the missing tools; an engine must run. Raises Missing and Broken."""
    PLACE.mkdir(parents=True, exist_ok=True)
    _build_compose()
    for tree in (BASE, PROGRAMS):
        build_tree(tree)
    etcd()


def etcd() -> Path:
    """The directory with etcd, etcdctl and etcdutl, which .ci/run uses as well. Raises Missing and Broken."""
    place = CACHE / f"etcd-{ETCD}"
    place.mkdir(parents=True, exist_ok=True)
    modules = {"etcd": "server", "etcdctl": "etcdctl", "etcdutl": "etcdutl"}
    if all((place / name).is_file() for name in modules):
        return place
    _want_go()
    if not (place / "go.mod").is_file():
        run(["go", "mod", "init", "etcd"], place)
    run(["go", "get", *(f"go.etcd.io/etcd/{each}/v3@v{ETCD}" for each in modules.values())], place)
    for name, module in modules.items():
        run(["go", "build", "-mod=mod", "-o", f"{name}.new", f"go.etcd.io/etcd/{module}/v3"], place, _STATIC)
        (place / f"{name}.new").replace(place / name)
    return place


def _install() -> None:
    missing = {package for program, package in PACKAGES.items() if not shutil.which(program, path=_path())}
    if not missing:
        return
    if os.geteuid():
        raise Missing(f"this needs {', '.join(sorted(missing))}, which root alone can install")
    lock = "-oDPkg::Lock::Timeout=120"  # another apt-get may be running
    run(["apt-get", lock, "update", "-qq"], PLACE)
    run(["apt-get", lock, "install", "-y", "-qq", "--no-install-recommends", *sorted(missing)], PLACE)


def _path() -> str:
    return os.environ["PATH"] + os.pathsep + "/usr/sbin:/sbin"


def _want_go() -> None:
    if not shutil.which("go"):
        raise Missing("there is no Go here: install it, so that etcd and Compose are built")


def _build_compose() -> None:
    program = compose() / "cli-plugins" / "docker-compose"
    if program.is_file():
        return
    _want_go()
    program.parent.mkdir(parents=True, exist_ok=True)
    module = f"github.com/docker/compose/v2@{COMPOSE}"
    source = json.loads(run(["go", "mod", "download", "-json", module], PLACE))["Dir"]
    flags = [
        "-mod=readonly",
        "-trimpath",
        "-ldflags",
        f"-s -w -X github.com/docker/compose/v2/internal.Version={COMPOSE}",
    ]
    run(["go", "build", *flags, "-o", f"{program}.new", "./cmd"], Path(source), _STATIC)
    Path(f"{program}.new").replace(program)


def build_tree(tree: Tree) -> None:
    """Makes the archive of a tree if it does not exist. Raises Broken."""
    PLACE.mkdir(parents=True, exist_ok=True)
    if tree.archive.is_file():
        return
    words = ["mmdebstrap", "--quiet", "--variant=minbase", "--format=tar", f"--include={','.join(tree.packages)}"]
    if "ca-certificates" in tree.packages and CERTIFICATES.is_file():
        words.append(f"--customize-hook=copy-in {CERTIFICATES} {CERTIFICATES.parent}")
    unfinished = tree.archive.with_suffix(".new")
    run([*words, SUITE, str(unfinished)], PLACE)
    unfinished.replace(tree.archive)


def run(words: list[str], directory: Path, more: Mapping[str, str] | None = None) -> str:
    """Runs a command with `more` in its environment. Returns its output. Raises Broken with its errors if it fails."""
    environment = {**os.environ, "PATH": _path(), "DEBIAN_FRONTEND": "noninteractive", **(more or {})}
    try:
        done = subprocess.run(
            words,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Broken(f"{' '.join(words)}: {error}") from None
    if done.returncode:
        raise Broken(f"{' '.join(words)} ended with {done.returncode}: {(done.stderr or done.stdout)[-800:]}")
    return done.stdout
