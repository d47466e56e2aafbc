"""Why an address or a port could not be allocated."""

from __future__ import annotations


class AllocationError(Exception):
    """The address or port cannot be allocated; the message is kube-apiserver's."""


class RangeFull(AllocationError):
    """The range has no free address or port."""

    def __init__(self) -> None:
        super().__init__("range is full")
