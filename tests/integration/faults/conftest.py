"""Two servers on an etcd that the tests of this folder kill."""

from __future__ import annotations

from tests.integration.reads.conftest import one, other, replicas

__all__ = ["one", "other", "replicas"]
