"""Images for pods, in the OCI image layout: an archive for containerd, or a directory for registry.py."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.upstream.node.programs import BIN, PLACE
from tests.upstream.node.registry import NAME

ARCHIVE = PLACE / "test-images.tar"
REGISTRY = "nodes.test"  # does not exist
PAUSE, BUSYBOX, AGNHOST = (f"{REGISTRY}/{name}:1" for name in ("pause", "busybox", "agnhost"))
_ACCOUNTS = {
    "etc/passwd": (
        "root:x:0:0:root:/root:/bin/sh\nbin:x:2:2:bin:/bin:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n"
    ),
    "etc/group": "root:x:0:\nbin:x:2:\nnobody:x:65534:\n",
}
Add = Callable[[str, bytes], None]  # adds a file to the layout


@dataclass(frozen=True)
class Image:
    """An image: its names, its programs by path, what is below them, and how it is run."""

    names: tuple[str, ...]
    programs: Mapping[str, Path] = field(default_factory=dict)
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str = ""
    has_shell: bool = False  # busybox, with links for what it can
    tree: Path | None = None  # the archive of a file system, as the first layer
    texts: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    mode: int = 0o755  # of the programs
    layer: bytes = b""  # instead of the programs, a layer that is made elsewhere
    variables: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""


IMAGES = (
    Image((PAUSE,), {"pause": BIN / "pause"}, ("/pause",)),
    Image((BUSYBOX,), command=("sh",), has_shell=True),
    Image((AGNHOST,), {"agnhost": BIN / "agnhost"}, ("/agnhost",), ("pause",), has_shell=True),
)


def build() -> None:
    """Writes the archive if it does not exist."""
    if ARCHIVE.is_file():
        return
    unfinished = ARCHIVE.with_suffix(".new")
    with tarfile.open(unfinished, "w") as archive:
        write(IMAGES, lambda name, data: _add(archive, name, data))
    unfinished.replace(ARCHIVE)


def missing() -> list[str]:
    """The archive's name if it is not built yet."""
    return [] if ARCHIVE.is_file() else [ARCHIVE.name]


def write(images: Iterable[Image], add: Add) -> None:
    """Adds the files of a layout that has the images."""
    add("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
    manifests = [
        {**told, "annotations": {NAME: name}}
        for image in images
        for told in [_manifest(add, image)]
        for name in image.names
    ]
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
    add("index.json", json.dumps(index).encode())


def _manifest(add: Add, image: Image) -> dict[str, object]:
    """Adds the blobs of an image. Returns the description of its manifest."""
    layers = [*([image.tree.read_bytes()] if image.tree else []), image.layer or _layer(image)]
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    variables = [f"{name}={value}" for name, value in {"PATH": path, **image.variables}.items()]
    run = {"Entrypoint": image.entrypoint, "Cmd": image.command, "User": image.user, "Env": variables}
    run["WorkingDir"] = image.directory
    rootfs = {"type": "layers", "diff_ids": [_digest(layer) for layer in layers]}
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": run, "rootfs": rootfs}).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": _blob(add, config, "application/vnd.oci.image.config.v1+json"),
        "layers": [_blob(add, layer, "application/vnd.oci.image.layer.v1.tar") for layer in layers],
    }
    return _blob(add, json.dumps(manifest).encode(), str(manifest["mediaType"]))


def _layer(image: Image) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as layer:
        if not image.tree:
            for name in ("bin", "etc", "home", "root", "tmp", "usr", "usr/bin", "var", "var/www"):
                entry = tarfile.TarInfo(name)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
                layer.addfile(entry)
        for name, text in {**({} if image.tree else _ACCOUNTS), **image.texts}.items():
            _add(layer, name, text.encode())
        for path, program in image.programs.items():
            _add(layer, path, program.read_bytes(), image.mode)
        links = dict(image.links)
        if image.has_shell:
            _add(layer, "bin/busybox", (BIN / "busybox").read_bytes(), 0o755)
            listed = subprocess.run([BIN / "busybox", "--list"], capture_output=True, text=True, check=True).stdout
            links |= {f"bin/{applet}": "busybox" for applet in listed.split() if applet != "busybox"}
            links |= {"usr/bin/env": "../../bin/env"}
        for path, target in links.items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            layer.addfile(entry)
    return out.getvalue()


def _blob(add: Add, data: bytes, media_type: str) -> dict[str, object]:
    digest = _digest(data)
    add(f"blobs/sha256/{Path(digest.partition(':')[2]).name}", data)
    return {"mediaType": media_type, "digest": digest, "size": len(data)}


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))
