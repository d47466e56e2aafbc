"""Clusters of one's own. What is told here is told of a current etcd."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.embedded import EmbeddedEtcdError, binary_version, find_binary
from tests.robustness.members import Member, cluster, etcdutl

CURRENT = (3, 6, 0)


def _is_current() -> bool:
    try:
        return binary_version(find_binary()) >= CURRENT
    except EmbeddedEtcdError:
        return False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    if here and not _is_current():
        for item in here:
            item.add_marker(pytest.mark.skip(reason="needs etcd 3.6: name one with APISERVER_GATEWAY_ETCD"))


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Member]:
    """A cluster of one that can be restored."""
    if etcdutl() is None:
        pytest.skip("needs etcdutl: name one with APISERVER_GATEWAY_ETCDUTL")
    with cluster(tmp_path, 1) as (one,):
        yield one


@pytest.fixture
def members(tmp_path: Path) -> Iterator[list[Member]]:
    """A cluster of three."""
    with cluster(tmp_path, 3) as three:
        yield three
