"""Why an address or a port could not be allocated."""

from __future__ import annotations


class AllocationError(Exception):
    """The wanted address or port cannot be had; the message is what kube-apiserver says."""


class RangeFull(AllocationError):
    """There is nothing left."""

    def __init__(self) -> None:
        super().__init__("range is full")
