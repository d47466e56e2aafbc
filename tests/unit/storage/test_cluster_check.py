"""Endpoints of a client have to belong to one cluster; a start asks all of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from storage.errors import OtherCluster
from storage.etcd.auth import AuthSession
from storage.etcd.cluster_check import Belonging


class Endpoint:
    """Says that it is of a cluster; of 0 it does not answer."""

    auth: Any = None

    def __init__(self, address: str, cluster: int) -> None:
        self.address, self._cluster = address, cluster
        self.maintenance: Any = SimpleNamespace(Status=self._status)

    async def _status(self, question: object, **_: object) -> Any:
        if not self._cluster:
            raise ConnectionError
        return SimpleNamespace(header=SimpleNamespace(cluster_id=self._cluster))


def belonging(*clusters: int) -> Belonging:
    endpoints = [Endpoint(f"etcd-{number}", cluster) for number, cluster in enumerate(clusters)]
    return Belonging(endpoints, cast(AuthSession, SimpleNamespace(metadata=(), has_user=False)))


@pytest.mark.parametrize("clusters", [(7,), (7, 7, 7), (7, 0, 7), (0, 0)])
async def test_endpoints_that_do_not_disagree_are_taken(clusters: tuple[int, ...]) -> None:
    await belonging(*clusters).compare()


@pytest.mark.parametrize("clusters", [(7, 8), (7, 0, 8)])
async def test_endpoints_of_two_clusters_are_refused(clusters: tuple[int, ...]) -> None:
    with pytest.raises(OtherCluster, match="etcd-0 is of cluster 7"):
        await belonging(*clusters).compare()
