"""Crashes of etcd."""

from __future__ import annotations

from storage.embedded import EmbeddedEtcd, binary_version
from storage.versions import survives_kill


def crash(etcd: EmbeddedEtcd) -> None:
    """Ends etcd as hard as it can be without losing what it has acknowledged: those that would are only stopped."""
    if survives_kill(".".join(map(str, binary_version(etcd.binary)))):
        etcd.kill()
    else:
        etcd.stop()
