"""Checks that all endpoints belong to one etcd cluster.

Members that were started without each other form clusters of their own. A client that changes endpoints would then mix
their data. So with several endpoints, the client asks each for its cluster ID before the first use, and again after
each failure. Each answer must have the ID of the cluster that is served.

A restored backup makes a new cluster with the same endpoints. The client accepts it as soon as all endpoints belong to
it, and the feed loads everything anew (storage/lineage.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata

from storage.errors import OtherCluster
from storage.etcd.auth import AuthSession
from storage.etcd.errors import is_token_stale
from storage.etcd.generated import rpc_pb2, stubs

COMPARE = 1.5  # seconds in which a working endpoint tells its cluster ID


class CheckedEndpoint(Protocol):
    """An endpoint that can be asked for its cluster ID."""

    @property
    def address(self) -> str: ...

    @property
    def maintenance(self) -> stubs.MaintenanceStub: ...

    @property
    def auth(self) -> stubs.AuthStub: ...


class Belonging:
    """The cluster that the endpoints of a client belong to. A single endpoint is never checked."""

    def __init__(
        self, endpoints: Sequence[CheckedEndpoint], login: AuthSession, accepted: Callable[[], None] = lambda: None
    ) -> None:
        """`accepted` is called after an endpoint was accepted."""
        self._all, self._login, self._accepted = endpoints, login, accepted
        self.several = len(endpoints) > 1
        self.cluster = 0  # the cluster ID, once an endpoint has told it
        self.refusal = ""  # why endpoints were refused; empty again after an endpoint was accepted
        self._doubted = set(endpoints) if self.several else set()
        self._asking: dict[CheckedEndpoint, asyncio.Task[None]] = {}

    def doubt(self, endpoint: CheckedEndpoint) -> None:
        """Notes that the endpoint failed: its cluster ID has to be checked again."""
        if self.several:
            self._doubted.add(endpoint)

    async def vouch(self, endpoint: CheckedEndpoint, timeout: float) -> None:
        """Returns if the endpoint may be used. Concurrent callers share one request.

        Raises AioRpcError if the endpoint does not answer in time, or belongs to another cluster. errors.translate
        makes OtherCluster of the latter.
        """
        if endpoint not in self._doubted:
            return
        asking = self._asking.get(endpoint)
        if asking is None or asking.done():
            asking = self._asking[endpoint] = asyncio.create_task(self._ask(endpoint, timeout))
        await asyncio.shield(asking)

    def check(self, endpoint: CheckedEndpoint, answer: Any) -> int:
        """The raft term of an answer. Raises AioRpcError, as `vouch`, if the answer comes from another cluster than the
        one that is served.
        """
        header = answer.header
        found = header.cluster_id
        if found != self.cluster and found:
            self._doubted.add(endpoint)
            raise _refused(self._words({endpoint.address: found}))
        return int(header.raft_term)

    async def compare(self) -> None:
        """Asks all endpoints. Raises OtherCluster if two answers name different clusters."""
        if not self.several:
            return
        found = await self._found(COMPARE)
        if len(set(found.values())) > 1:
            raise OtherCluster(self._words(found))

    async def close(self) -> None:
        """Cancels the requests and their callers."""
        asking = [task for task in self._asking.values() if not task.done()]
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    async def _ask(self, endpoint: CheckedEndpoint, timeout: float) -> None:
        found = await self._cluster_of(endpoint, timeout)
        if not self.cluster:
            self.cluster = found
        if found != self.cluster:
            everywhere = await self._found(min(timeout, COMPARE))
            if len(everywhere) < len(self._all) or set(everywhere.values()) != {found}:
                self.refusal = self._words({endpoint.address: found} | everywhere)
                raise _refused(self.refusal)
            self.cluster = found
            self._doubted.update(self._all)
        self.refusal = ""
        self._doubted.discard(endpoint)
        self._accepted()

    async def _found(self, timeout: float) -> dict[str, int]:
        """The cluster IDs of the endpoints that answer in time, by address."""
        found = await asyncio.gather(*(self._cluster_of(each, timeout) for each in self._all), return_exceptions=True)
        return {
            endpoint.address: cluster
            for endpoint, cluster in zip(self._all, found, strict=True)
            if not isinstance(cluster, BaseException)
        }

    async def _cluster_of(self, endpoint: CheckedEndpoint, timeout: float) -> int:
        """The cluster ID that the endpoint reports; logs in if needed. Raises AioRpcError."""
        login, status, question = self._login, endpoint.maintenance.Status, rpc_pb2.StatusRequest()
        metadata = login.metadata
        if metadata is not None:
            try:
                return int((await status(question, timeout=timeout, metadata=metadata)).header.cluster_id)
            except AioRpcError as error:
                if not (login.has_user and is_token_stale(error)):
                    raise
        await login.renew(endpoint.auth, metadata, timeout)
        return int((await status(question, timeout=timeout, metadata=login.metadata)).header.cluster_id)

    def _words(self, found: Mapping[str, int]) -> str:
        told = ", ".join(
            f"{each.address} is of cluster {found[each.address]:x}" for each in self._all if each.address in found
        )
        served = f"; cluster {self.cluster:x} is served" if self.cluster else ""
        return f"{OtherCluster.BEGINNING}: {told}{served}; {OtherCluster.REMEDY}"


def _refused(words: str) -> AioRpcError:
    return AioRpcError(StatusCode.UNAVAILABLE, Metadata(), Metadata(), details=words)
