"""Images of a cluster's own components, as a directory for registry.py: those that kubeadm names, DNS and etcd."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.engine import tools
from tests.upstream.node import programs
from tests.upstream.node.control_plane import ETCD_PROGRAM
from tests.upstream.node.images import REGISTRY, Image, write
from tests.upstream.node.programs import BIN, KUBERNETES, PLACE

LAYOUT = PLACE / "component-images"
COREDNS = f"{REGISTRY}/coredns:1"
ETCD = f"{REGISTRY}/etcd:1"


def build() -> None:
    """Writes the directory if it does not exist. Raises Broken and Missing."""
    if not LAYOUT.is_dir():
        tools.etcd()
        print("building images of a cluster's components", flush=True)
        write_layout(LAYOUT, _images())


def missing() -> list[str]:
    """The directory's name if it is not built yet."""
    return [] if LAYOUT.is_dir() else [LAYOUT.name]


def write_layout(place: Path, images: Iterable[Image]) -> None:
    """Writes images into a new directory, which is complete as soon as it exists."""
    unfinished = place.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)

    def add(name: str, data: bytes) -> None:
        (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
        (unfinished / name).write_bytes(data)

    write(images, add)
    unfinished.rename(place)


def _images() -> Iterator[Image]:
    asking = [str(BIN / "kubeadm"), "config", "images", "list", f"--kubernetes-version=v{KUBERNETES}"]
    listed = subprocess.run(asking, capture_output=True, text=True, check=True).stdout.split()

    def named(program: str) -> tuple[str, ...]:
        return tuple(each for each in listed if f"/{program}:" in each)

    yield Image(named("pause"), {"pause": BIN / "pause"}, ("/pause",))
    for program in ("kube-controller-manager", "kube-scheduler"):
        yield Image(named(program), {f"usr/local/bin/{program}": BIN / program})
    yield Image(named("kube-proxy"), {"usr/local/bin/kube-proxy": BIN / "kube-proxy"}, tree=programs.TREE)
    yield Image((COREDNS, *named("coredns")), {"coredns": BIN / "coredns"}, ("/coredns",))
    etcd = {f"usr/local/bin/{each}": ETCD_PROGRAM.parent / each for each in ("etcd", "etcdctl", "etcdutl")}
    yield Image((ETCD,), etcd)
