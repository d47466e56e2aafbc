"""A cluster with one node for all tests. They run in order; the last one removes the node."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.upstream.node.cluster import Cluster, cluster
from tests.upstream.node.joining import join

MARK = "APISERVER_GATEWAY_TEST_NODES"  # set if nodes can be run here


@pytest.fixture(scope="session")
def nodes() -> Iterator[Cluster]:
    """The cluster, whose node n1 is ready."""
    if not os.environ.get(MARK):
        pytest.skip("there are no nodes: `python -m tests.upstream node test` runs these tests, as root")
    with cluster() as made:
        join(made, "n1")
        yield made
