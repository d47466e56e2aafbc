"""File descriptors: every connection takes one."""

from __future__ import annotations

import resource


def raise_descriptor_limit() -> None:
    """As many descriptors as the system allows; 1024, which many shells set, is few for a server."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
