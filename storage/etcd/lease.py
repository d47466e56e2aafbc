"""etcd's Lease service: etcd deletes the keys of a lease that is no longer renewed."""

from __future__ import annotations

import asyncio
from operator import attrgetter

from grpc.aio import AioRpcError

from storage.errors import DeadlineExceeded, LeaseNotFound
from storage.etcd.endpoints import Endpoints, Method
from storage.etcd.errors import translate
from storage.etcd.generated import rpc_pb2
from storage.etcd.results import LeaseGrant

_GRANT: Method[rpc_pb2.LeaseGrantRequest, rpc_pb2.LeaseGrantResponse] = attrgetter("lease.LeaseGrant")
_REVOKE: Method[rpc_pb2.LeaseRevokeRequest, rpc_pb2.LeaseRevokeResponse] = attrgetter("lease.LeaseRevoke")
_TIME_TO_LIVE: Method[rpc_pb2.LeaseTimeToLiveRequest, rpc_pb2.LeaseTimeToLiveResponse] = attrgetter(
    "lease.LeaseTimeToLive"
)


class Leases:
    """The Lease service. Each method may raise what Endpoints.call raises."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints

    async def grant(self, ttl: int, *, id: int = 0, timeout: float | None = None) -> LeaseGrant:
        """Grants a lease of `ttl` seconds; etcd may choose a longer time. For `id` 0, etcd chooses the ID."""
        answer = await self._endpoints.call(_GRANT, rpc_pb2.LeaseGrantRequest(TTL=ttl, ID=id), timeout=timeout)
        return LeaseGrant(answer.ID, answer.TTL)

    async def keep_alive(self, id: int, *, timeout: float | None = None) -> int:
        """Renews the lease once. Returns its new time to live in seconds. Raises LeaseNotFound."""
        endpoints = self._endpoints
        seconds = endpoints.timeout if timeout is None else timeout
        endpoint = endpoints.current
        try:
            async with asyncio.timeout(seconds):
                await endpoints.vouch(endpoint, seconds)
                metadata = endpoints.login.metadata or await endpoints.logged_in(endpoint, seconds)
                call = endpoint.lease.LeaseKeepAlive(None, timeout=seconds, metadata=metadata)
                await call.write(rpc_pb2.LeaseKeepAliveRequest(ID=id))
                answer = await call.read()
                call.cancel()
        except AioRpcError as error:
            endpoints.leave(endpoint)
            raise translate(error) from error
        except TimeoutError:
            endpoints.leave(endpoint)
            raise DeadlineExceeded("etcd did not renew the lease in time") from None
        if not isinstance(answer, rpc_pb2.LeaseKeepAliveResponse) or answer.TTL <= 0:
            raise LeaseNotFound(f"lease {id:x}")
        return answer.TTL

    async def time_to_live(self, id: int, *, timeout: float | None = None) -> int:
        """The remaining seconds of the lease. Raises LeaseNotFound."""
        request = rpc_pb2.LeaseTimeToLiveRequest(ID=id)
        answer = await self._endpoints.call(_TIME_TO_LIVE, request, timeout=timeout, repeatable=True)
        if answer.TTL < 0:
            raise LeaseNotFound(f"lease {id:x}")
        return answer.TTL

    async def revoke(self, id: int, *, timeout: float | None = None) -> None:
        """Ends the lease, which removes its keys. Raises LeaseNotFound."""
        await self._endpoints.call(_REVOKE, rpc_pb2.LeaseRevokeRequest(ID=id), timeout=timeout)
