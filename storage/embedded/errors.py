"""The errors of an embedded etcd."""

from __future__ import annotations


class EmbeddedEtcdError(Exception):
    """No etcd binary was found, or it did not start. The message says what to do, or what etcd said; it is one line."""


class PortTaken(EmbeddedEtcdError):
    """Another process took the port after it was chosen."""
