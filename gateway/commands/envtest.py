"""Makes a directory for KUBEBUILDER_ASSETS, from which Go's envtest and similar tools start etcd and kube-apiserver."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from pathlib import Path

from apiserver_gateway.program import command


def assets(directory: Path, minor: str = "") -> Path:
    """Makes a directory with `etcd`, `kube-apiserver` and, if there is one on PATH, `kubectl`. Returns the directory.

    Its kube-apiserver serves `minor`. If that is "", it serves the minor of ENVTEST_K8S_VERSION, or else the default.
    Raises storage.embedded.EmbeddedEtcdError if no etcd is found, and OSError.
    """
    from storage.embedded import find_binary

    directory.mkdir(parents=True, exist_ok=True)
    script = directory / "kube-apiserver"
    unfinished = directory / f"kube-apiserver.{os.getpid()}"
    words = [*command("kube-apiserver"), *([f"--kubernetes-version={minor}"] if minor else [])]
    unfinished.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    unfinished.chmod(unfinished.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    unfinished.replace(script)
    for name, found in (("etcd", str(find_binary())), ("kubectl", shutil.which("kubectl") or "")):
        link = directory / f"{name}.{os.getpid()}"
        if found and not (directory / name).exists():
            link.symlink_to(found)
            link.replace(directory / name)
    return directory
