"""The programs and the file tree of real nodes, built once from Go modules and Debian packages.

All is kept in a cache directory for the Kubernetes version, and is not built again. Building needs Go, gcc, root and
mmdebstrap; it takes about half an hour on two cores.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from tests.engine.tools import CACHE, SUITE, run

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
KUBERNETES = os.environ.get("KUBERNETES", "1.37.2")
PLACE = CACHE / f"nodes-{KUBERNETES}"
BIN = PLACE / "bin"
_FLAGS = "-s -w"

# Programs of Kubernetes' own module, and of others; each with the package that it is built of.
_KUBERNETES = {
    "kubelet": "k8s.io/kubernetes/cmd/kubelet",
    "kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kubeadm": "k8s.io/kubernetes/cmd/kubeadm",
    "agnhost": "k8s.io/kubernetes/test/images/agnhost",
}
# What is built for Kubernetes' e2e.test, too; each with its package.
SUITE_PROGRAMS = {
    "e2e.test": "k8s.io/kubernetes/test/e2e",
    "ginkgo": "github.com/onsi/ginkgo/v2/ginkgo",
    "nonewprivs": "k8s.io/kubernetes/test/images/nonewprivs",
    "regression-issue-74839": "k8s.io/kubernetes/test/images/regression-issue-74839",
    "sample-apiserver": "k8s.io/sample-apiserver",
}
COREDNS = "v1.15.0"
_OTHERS = {
    "containerd": ("github.com/containerd/containerd/v2/cmd/containerd", "v2.4.2"),
    "containerd-shim-runc-v2": ("github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", "v2.4.2"),
    "ctr": ("github.com/containerd/containerd/v2/cmd/ctr", "v2.4.2"),
}
_PACKAGES = (  # Debian packages of a node
    "ca-certificates,iproute2,iptables,ipset,conntrack,socat,ethtool,runc,containernetworking-plugins,procps,mount,"
    "util-linux,kmod,e2fsprogs"
)


TREE = PLACE / "node.tar"  # the file tree of a node


def build() -> None:
    """Builds what is missing. Raises Broken with the output of the failed command."""
    BIN.mkdir(parents=True, exist_ok=True)
    for file in (*(BIN / name for name in (*_OTHERS, "coredns", "pause", "busybox")), TREE):
        take_of_another_version(file)
    _build_tree()
    for name, package in _KUBERNETES.items():
        _take(name)
        _build(name, ["go", "build", "-mod=mod", "-ldflags", _stamp()], package, _kubernetes_module)
    tags = "no_btrfs,no_zfs,no_devmapper"
    for name, (package, version) in _OTHERS.items():
        _build(
            name,
            ["go", "build", "-mod=mod", "-tags", tags, "-ldflags", _FLAGS],
            package,
            lambda p=package, v=version: _module(p, v),
        )
    _build("coredns", ["go", "build", "-mod=mod", "-ldflags", _FLAGS], ".", _dns_module)
    if not (BIN / "pause").is_file():
        run(["gcc", "-Os", "-static", "-s", "-o", str(BIN / "pause"), str(HERE / "pause.c")], PLACE)
    if not (BIN / "busybox").is_file():
        _build_busybox()


def _dns_module() -> Path:
    """A module of dns.go."""
    place = _module("github.com/coredns/coredns", COREDNS)
    shutil.copy(HERE / "dns.go", place / "main.go")
    run(["go", "mod", "tidy"], place)
    return place


def build_suite() -> None:
    """Builds what is missing for e2e.test. Raises Broken."""
    for name, package in SUITE_PROGRAMS.items():
        words = [
            "go",
            *(["test", "-c", "-vet=off"] if name == "e2e.test" else ["build"]),
            "-mod=mod",
            "-ldflags",
            _stamp(),
        ]
        _build(name, words, package, _kubernetes_module)


def kubernetes_sources() -> Path:
    """Where Go keeps the module k8s.io/kubernetes."""
    place = _kubernetes_module()
    return Path(run(["go", "env", "GOMODCACHE"], place).strip()) / f"k8s.io/kubernetes@v{KUBERNETES}"


def missing() -> list[str]:
    """The parts of nodes that are not built yet."""
    files = [*(BIN / name for name in (*_KUBERNETES, *_OTHERS, "coredns", "pause", "busybox")), TREE]
    return [file.name for file in files if not file.is_file()]


def _stamp() -> str:
    version, minor = "k8s.io/component-base/version", KUBERNETES.split(".")[1]
    given = {"gitVersion": f"v{KUBERNETES}", "gitMajor": "1", "gitMinor": minor}
    return " ".join([_FLAGS, *(f"-X {version}.{name}={value}" for name, value in given.items())])


def _take(name: str) -> None:
    """Takes a program that .ci/tools has built of the same version."""
    _link(CACHE / f"kubernetes-{KUBERNETES}" / name, BIN / name)


def take_of_another_version(file: Path) -> None:
    """Takes a file that does not depend on Kubernetes' version from where nodes of another version have it."""
    for other in CACHE.glob("nodes-*"):
        _link(other / file.relative_to(PLACE), file)


def _link(built: Path, wanted: Path) -> None:
    if built.is_file() and not wanted.is_file():
        wanted.hardlink_to(built)


def _build(name: str, words: list[str], package: str, module: object) -> None:
    target = BIN / name
    if target.is_file():
        return
    print(f"building {name}", flush=True)
    assert callable(module)
    run(["nice", *words, "-o", f"{target}.new", package], module(), {"CGO_ENABLED": "0"})
    Path(f"{target}.new").replace(target)


def _kubernetes_module() -> Path:
    """A go.mod with the requirements of k8s.io/kubernetes, and the published staging modules of its version."""
    place = PLACE / "go" / "kubernetes"
    if (place / "complete").is_file():
        return place
    place.mkdir(parents=True, exist_ok=True)
    (place / "go.mod").write_text("module nodes\n\ngo 1.26.0\n")
    run(["go", "mod", "download", f"k8s.io/kubernetes@v{KUBERNETES}"], place)
    cache = Path(run(["go", "env", "GOMODCACHE"], place).strip()) / f"k8s.io/kubernetes@v{KUBERNETES}"
    staging = f"v0{KUBERNETES.removeprefix('1')}"
    text = (cache / "go.mod").read_text()
    needed = "\n\n".join(re.findall(r"^require \(.*?^\)", text, re.DOTALL | re.MULTILINE))
    needed = re.sub(r"(k8s\.io/(?!kube-openapi)[a-z-]+) v0\.0\.0(?!-)", rf"\1 {staging}", needed)
    staged = sorted(set(re.findall(rf"(k8s\.io/[a-z-]+) {re.escape(staging)}", needed)))
    replaced = "".join(f"\t{module} => {module} {staging}\n" for module in staged)
    (place / "go.mod").write_text(
        f"module nodes\n\ngo 1.26.0\n\n{needed}\n\nrequire k8s.io/kubernetes v{KUBERNETES}\n\nreplace (\n{replaced})\n"
    )
    (place / "go.sum").write_bytes((cache / "go.sum").read_bytes())
    (place / "complete").touch()
    return place


def _module(package: str, version: str) -> Path:
    place = PLACE / "go" / package.rpartition("/")[2]
    place.mkdir(parents=True, exist_ok=True)
    if not (place / "go.mod").is_file():
        run(["go", "mod", "init", "nodes"], place)
    run(["go", "get", f"{package}@{version}"], place)
    return place


def _build_tree() -> None:
    if TREE.is_file():
        return
    print("building the tree of a node", flush=True)
    unfinished = TREE.with_suffix(".new")
    words = ["mmdebstrap", "--quiet", "--variant=minbase", "--format=tar", f"--include={_PACKAGES}"]
    run(["nice", *words, SUITE, str(unfinished)], PLACE)
    unfinished.replace(TREE)


def _build_busybox() -> None:
    """Builds busybox from its sources: Debian's sh drops variables such as data-1 from the environment."""
    print("building busybox", flush=True)
    place = PLACE / "busybox"
    shutil.rmtree(place, ignore_errors=True)
    for each in ("lists", "apt", "debian"):
        (place / each).mkdir(parents=True)
    listed = Path("/etc/apt/sources.list.d/debian.sources").read_text()
    (place / "source.sources").write_text(listed.replace("Types: deb\n", "Types: deb-src\n"))
    options = {"Dir::Etc::sourcelist": "source.sources", "Dir::State::lists": "lists", "Dir::Cache": "apt"}
    apt = ["apt-get", "-qq", "-o", "Dir::Etc::sourceparts=-"]
    for name, value in options.items():
        apt += ["-o", f"{name}={place / value}"]
    run([*apt, "update"], place)
    run([*apt, "source", "--download-only", "busybox"], place)
    (debian,), (original,) = place.glob("busybox_*.debian.tar.xz"), place.glob("busybox_*.orig.tar.bz2")
    run(["tar", "-xf", str(debian), "-C", "debian"], place)
    run(["tar", "-xf", str(original)], place)
    (inside,) = place.glob("busybox-*/")
    shutil.copy(place / "debian/debian/config/pkg/static", inside / ".config")
    run(["sh", "-c", "yes '' | make oldconfig && nice make -j2"], inside)
    shutil.copy(inside / "busybox", BIN / "busybox")
