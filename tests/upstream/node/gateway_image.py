"""The gateway's image, of the working tree: what deploy/Dockerfile makes, without a Docker engine.

Its Python is Debian's, and what the server needs is taken from the environment that runs the tests: the minor versions
of both have to be the same.
"""

from __future__ import annotations

import io
import re
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from tests.engine import tools
from tests.upstream.node import programs
from tests.upstream.node.images import REGISTRY, Image

NAME = f"{REGISTRY}/apiserver-gateway"
_PACKAGES = ("apiserver_gateway", "gateway", "storage")
_VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"
CAN_BE_MADE = _VERSION == "python3.11"  # Debian's
_SITE = Path("opt/gateway/lib") / _VERSION / "site-packages"
_SCRIPT = """#!/opt/gateway/bin/python
import sys
from apiserver_gateway.__main__ import main
sys.exit(main())
"""


def gateway(*tags: str) -> Image:
    """The image, with these tags."""
    return Image(
        tuple(f"{NAME}:{tag}" for tag in tags),
        entrypoint=("/opt/gateway/bin/apiserver-gateway",),
        command=("serve", "--help"),
        user="65532:65532",
        tree=tools.BASE.archive,
        layer=_layer(),
        variables={"PYTHONDONTWRITEBYTECODE": "1"},
        directory="/var/lib/apiserver-gateway",
    )


def _layer() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as layer:
        for path, text, mode in (
            ("opt/gateway/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n", 0o644),
            ("opt/gateway/bin/apiserver-gateway", _SCRIPT, 0o755),
        ):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(text), mode
            layer.addfile(entry, io.BytesIO(text.encode()))
        link = tarfile.TarInfo("opt/gateway/bin/python")
        link.type, link.linkname = tarfile.SYMTYPE, f"/usr/bin/{_VERSION}"
        layer.addfile(link)
        own = tarfile.TarInfo("var/lib/apiserver-gateway")
        own.type, own.mode, own.uid, own.gid = tarfile.DIRTYPE, 0o700, 65532, 65532
        layer.addfile(own)
        for source, place in _files():
            layer.add(source, str(_SITE / place), recursive=False)
    return out.getvalue()


def _files() -> Iterator[tuple[Path, Path]]:
    """The files of the server and of what it needs, with their paths below site-packages."""
    for package in _PACKAGES:
        for source in sorted((programs.ROOT / package).rglob("*")):
            if source.is_file():
                yield source, source.relative_to(programs.ROOT)
    place = Path(sysconfig.get_path("purelib"))
    for name in sorted(_needed("apiserver-gateway")):
        for file in metadata.distribution(name).files or ():
            source = Path(str(file.locate())).resolve()
            if source.is_file() and place.resolve() in source.parents:
                yield source, source.relative_to(place.resolve())


def _needed(name: str) -> set[str]:
    """The distributions that one requires without extras of its own, of all of them, and itself."""
    found, left = set[str](), [name]
    while left:
        if (each := re.sub(r"[-_.]+", "-", left.pop()).lower()) in found or not _is_installed(each):
            continue
        found.add(each)
        for required in metadata.distribution(each).requires or ():
            bare = re.match(r"[\w.-]+", required)
            if bare and "extra ==" not in required:
                left.append(bare[0])
    return found


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True
