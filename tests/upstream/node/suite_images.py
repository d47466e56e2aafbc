"""Stand-ins for the images that Kubernetes' e2e.test names, as a directory for registry.py.

No registry of images can be reached where the tests run, so these are made of the same programs, built from their Go
modules, on Debian's packages. A run with them is proof, and no certification.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
from collections.abc import Iterator

from tests.engine.tools import SUITE, run
from tests.upstream.node import programs
from tests.upstream.node.component_images import write_layout
from tests.upstream.node.control_plane import ETCD_PROGRAM
from tests.upstream.node.images import Image
from tests.upstream.node.programs import BIN, PLACE

LAYOUT = PLACE / "suite-images"
_TREE = PLACE / "image.tar"
_PACKAGES = (
    "bash,ca-certificates,curl,bind9-dnsutils,netcat-openbsd,iproute2,iputils-ping,iperf,util-linux,util-linux-extra,"
    "procps,nginx-light,hostname"
)
_AGNHOST_ACCOUNTS = {
    "etc/passwd": "user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n",
    "etc/group": "user-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n",
}
_NGINX_LINKS = {
    "var/log/nginx/access.log": "/dev/stdout",
    "var/log/nginx/error.log": "/dev/stderr",
    "usr/share/nginx/html/index.html": "/var/www/html/index.nginx-debian.html",
}
_NONE: dict[str, str] = {}
_ALPINE = {"etc/os-release": 'NAME="in the place of Alpine Linux"\n'}


def build() -> None:
    """Writes the directory if it does not exist. Raises Broken."""
    if LAYOUT.is_dir():
        return
    print("building stand-ins for the images of e2e.test", flush=True)
    programs.take_of_another_version(_TREE)
    if not _TREE.is_file():
        unfinished = _TREE.with_suffix(".new")
        words = ["mmdebstrap", "--quiet", "--variant=minbase", "--format=tar", f"--include={_PACKAGES}"]
        words.append('--customize-hook=rm -rf "$1/usr/share/doc" "$1/usr/share/man" && mkdir "$1/uploads"')
        run(["nice", *words, SUITE, str(unfinished)], PLACE)
        unfinished.replace(_TREE)
    write_layout(LAYOUT, _images())


def _images() -> Iterator[Image]:
    listed = subprocess.run([BIN / "e2e.test", "--list-images"], capture_output=True, text=True, check=True).stdout
    names = listed.split()

    def named(*patterns: str) -> tuple[str, ...]:
        return tuple(each for each in names if re.search("|".join(patterns), each))

    agnhost = {"agnhost": BIN / "agnhost", "coredns": BIN / "coredns"}
    sources = programs.kubernetes_sources() / "test" / "images"
    certificates = {each.name: each for each in (sources / "agnhost" / "porter").glob("localhost.*")}
    links = {"agnhost-2": "agnhost"}
    yield Image(named("/pause:"), {"pause": BIN / "pause"}, ("/pause",), user="65535:65535")
    yield Image(named("/busybox:"), command=("sh",), has_shell=True)
    yield Image(named("/nonroot:"), command=("sh",), has_shell=True, user="1234")
    yield Image(
        named(r"k8s\.io.*/agnhost:"),
        {**agnhost, **certificates},
        ("/agnhost",),
        ("pause",),
        tree=_TREE,
        texts={file: _in_tree(file) + lines for file, lines in _AGNHOST_ACCOUNTS.items()},
        links=links,
    )
    for name, texts in (("nautilus", _NONE), ("kitten", _ALPINE)):
        pages = {page.name: page for page in (sources / name / "html").iterdir()}
        programs_of = {**agnhost, **pages}
        words = ("/agnhost",), ("test-webserver",)
        yield Image(named(f"/{name}:"), programs_of, *words, tree=_TREE, links=links, texts=texts)
    nginx = ("nginx", "-g", "daemon off;")
    yield Image(named("/nginx:"), command=nginx, tree=_TREE, links=_NGINX_LINKS)
    tools = named("/glibc-dns-testing:", "/ipc-utils:", "/perl:")
    yield Image(tools, {"coredns": BIN / "coredns"}, command=("bash",), tree=_TREE)
    setuid = {"usr/local/bin/nnp": BIN / "nonewprivs"}
    yield Image(named("/nonewprivs:"), setuid, command=("nnp",), tree=_TREE, mode=0o4755)
    for name in ("regression-issue-74839", "sample-apiserver"):
        yield Image(named(f"/{name}:"), {name: BIN / name}, (f"/{name}",), tree=_TREE)
    etcd = {f"usr/local/bin/{each}": ETCD_PROGRAM.parent / each for each in ("etcd", "etcdctl", "etcdutl")}
    yield Image(named("/etcd:"), etcd, command=("etcd",), tree=_TREE)


def _in_tree(file: str) -> str:
    """The text of a file in the Debian tree."""
    with tarfile.open(_TREE) as archive:
        found = archive.extractfile(f"./{file}")
        assert found is not None
        return found.read().decode()


def missing() -> list[str]:
    """The parts that are not built yet."""
    return [file.name for file in (*(BIN / name for name in programs.SUITE_PROGRAMS), LAYOUT) if not file.exists()]
