"""A cluster of real nodes on the server: kubelet, containerd, runc, kube-proxy, in namespaces."""

from __future__ import annotations


def main(words: list[str]) -> int:
    """What `python -m tests.upstream node` does; the exit status."""
    from tests.upstream.node.__main__ import main as run

    return run(words)
