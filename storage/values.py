"""The forms of a value of etcd after it was read: its kind is the type of its bytes."""

from __future__ import annotations


class StaleValue(bytes):
    """A value whose stored form is outdated, such as under an old key: the next write stores it even if it is equal."""


class UnreadableValue(bytes):
    """The stored bytes of a value that can't be read; `reason` says why."""

    reason: str = ""


class AwaitedValue(UnreadableValue):
    """The stored bytes of a value that can't be read at present: a service that it needs, such as a KMS, is down."""
