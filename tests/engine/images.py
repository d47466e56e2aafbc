"""The images for tests on an engine: of Debian's packages, of etcd, and the project's own, which are built on these."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.engine import tools

GATEWAY = "apiserver-gateway-tests/gateway:1"
SNAPSHOTS = "apiserver-gateway-tests/snapshots:1"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
BUILD_SECONDS = 600

# The variables of docker-compose.yml that name images, and what their builds are given.
VARIABLES = {
    "ETCD_IMAGE": tools.ETCD_IMAGE,
    "GATEWAY_IMAGE": GATEWAY,
    "SNAPSHOTS_IMAGE": SNAPSHOTS,
    "HAPROXY_IMAGE": tools.PROGRAMS.image,
    "BASE": tools.BASE.image,
    "PIP_CERT": CERTIFICATES,
}


def docker(*words: str, check: bool = True, seconds: float = 300) -> str:
    """Runs `docker`. Returns its output and errors. Raises AssertionError with them if it fails."""
    done = subprocess.run(
        ["docker", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds
    )
    assert not check or done.returncode == 0, f"docker {' '.join(words)} ended with {done.returncode}: {done.stdout}"
    return done.stdout.strip()


def has(image: str) -> bool:
    """Whether the engine has an image."""
    return subprocess.run(["docker", "image", "inspect", image], capture_output=True).returncode == 0


def load() -> None:
    """Loads all images into the engine. The project's images are built from the present working tree."""
    for tree in (tools.BASE, tools.PROGRAMS):
        if not has(tree.image):
            docker("import", str(tree.archive), tree.image)
    if not has(tools.ETCD_IMAGE):
        _build_etcd()
    build("deploy/Dockerfile", GATEWAY, tools.ROOT)
    build("deploy/snapshots/Dockerfile", SNAPSHOTS, tools.ROOT / "deploy" / "snapshots")


def build(file: str, image: str, context: Path, arguments: Sequence[str] = ()) -> None:
    """Builds an image of the project. Keeps its first stage too, so that downloads are not repeated."""
    given = {"BASE": tools.BASE.image, "ETCD": tools.ETCD_IMAGE, "PIP_CERT": CERTIFICATES}
    given |= {name: os.environ[name] for name in ("PIP_INDEX_URL",) if name in os.environ}
    text = (tools.ROOT / file).read_text()
    words = ["build", "--quiet", "--network=host", f"--file={tools.ROOT / file}", *arguments]
    words += [f"--build-arg={name}={value}" for name, value in given.items() if f"ARG {name}" in text]
    if " AS build\n" in text:
        docker(*words, "--target=build", f"--tag={image}-build", str(context), seconds=BUILD_SECONDS)
    docker(*words, f"--tag={image}", str(context), seconds=BUILD_SECONDS)


def _build_etcd() -> None:
    """Builds an image like etcd's own: the programs, and no shell."""
    with tempfile.TemporaryDirectory() as scratch:
        context = Path(scratch)
        for name in ("etcd", "etcdctl", "etcdutl"):
            (context / name).write_bytes((tools.etcd() / name).read_bytes())
            (context / name).chmod(0o755)
        (context / "Dockerfile").write_text(
            "FROM scratch\nCOPY etcd etcdctl etcdutl /usr/local/bin/\n"
            'WORKDIR /var/etcd\nEXPOSE 2379 2380\nENV PATH=/usr/local/bin\nCMD ["/usr/local/bin/etcd"]\n'
        )
        docker("build", "--quiet", f"--tag={tools.ETCD_IMAGE}", str(context))
