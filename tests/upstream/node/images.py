"""Images for the pods of the tests, as an archive for containerd in the OCI image layout."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from tests.upstream.node.programs import BIN, PLACE

ARCHIVE = PLACE / "test-images.tar"
REGISTRY = "nodes.test"  # does not exist: no image is pulled
PAUSE, BUSYBOX, AGNHOST = (f"{REGISTRY}/{name}:1" for name in ("pause", "busybox", "agnhost"))
_ACCOUNTS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\nnobody:x:65534:\n",
}


@dataclass(frozen=True)
class Image:
    """An image: its programs by path, whether it has busybox as a shell, and its command."""

    name: str
    programs: dict[str, str]
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    has_shell: bool = False


IMAGES = (
    Image(PAUSE, {"pause": "pause"}, ["/pause"]),
    Image(BUSYBOX, {}, command=["sh"], has_shell=True),
    Image(AGNHOST, {"agnhost": "agnhost"}, ["/agnhost"], ["pause"], has_shell=True),
)


def build() -> None:
    """Writes the archive if it does not exist."""
    if ARCHIVE.is_file():
        return
    unfinished = ARCHIVE.with_suffix(".new")
    with tarfile.open(unfinished, "w") as archive:
        _add(archive, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        manifests = [_manifest(archive, image) for image in IMAGES]
        index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
        _add(archive, "index.json", json.dumps(index).encode())
    unfinished.replace(ARCHIVE)


def _manifest(archive: tarfile.TarFile, image: Image) -> dict[str, object]:
    """Adds the blobs of an image. Returns its entry for the index."""
    layer = _layer(image)
    run = {"Entrypoint": image.entrypoint, "Cmd": image.command, "Env": ["PATH=/bin:/usr/bin"]}
    rootfs = {"type": "layers", "diff_ids": [_digest(layer)]}
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": run, "rootfs": rootfs}).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": _blob(archive, config, "application/vnd.oci.image.config.v1+json"),
        "layers": [_blob(archive, layer, "application/vnd.oci.image.layer.v1.tar")],
    }
    told = _blob(archive, json.dumps(manifest).encode(), str(manifest["mediaType"]))
    return {**told, "annotations": {"io.containerd.image.name": image.name}}


def _layer(image: Image) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as layer:
        for name in ("bin", "etc", "tmp"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            layer.addfile(entry)
        for name, text in _ACCOUNTS.items():
            _add(layer, name, text.encode())
        for path, program in image.programs.items():
            _add(layer, path, (BIN / program).read_bytes(), 0o755)
        if image.has_shell:
            _add(layer, "bin/busybox", (BIN / "busybox").read_bytes(), 0o755)
            listed = subprocess.run([BIN / "busybox", "--list"], capture_output=True, text=True, check=True).stdout
            for applet in listed.split():
                entry = tarfile.TarInfo(f"bin/{applet}")
                entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
                if applet != "busybox":
                    layer.addfile(entry)
    return out.getvalue()


def _blob(archive: tarfile.TarFile, data: bytes, media_type: str) -> dict[str, object]:
    digest = _digest(data)
    _add(archive, f"blobs/sha256/{Path(digest.partition(':')[2]).name}", data)
    return {"mediaType": media_type, "digest": digest, "size": len(data)}


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))
