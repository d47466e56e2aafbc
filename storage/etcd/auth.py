"""The metadata of each call to etcd: the demand for a leader, and the token of the user, if one is configured."""

from __future__ import annotations

import asyncio
import contextlib

import grpc
from grpc.aio import AioRpcError, Metadata

from storage.etcd.generated import rpc_pb2
from storage.etcd.generated.stubs import AuthStub

_REQUIRE_LEADER = ("hasleader", "true")
_AUTH_DISABLED = "etcdserver: authentication is not enabled"


class AuthSession:
    """One user's session. Without a user name it never sends a request.

    `metadata` goes with each call; it is None until the user has logged in. It makes a member that has lost its leader
    refuse the call instead of waiting, so that another endpoint is tried.
    """

    def __init__(self, username: str, password: str) -> None:
        self.metadata: Metadata | None = None if username else Metadata(_REQUIRE_LEADER)
        self.has_user = bool(username)
        self._request = rpc_pb2.AuthenticateRequest(name=username, password=password)
        self._renewal: asyncio.Task[None] | None = None

    async def renew(self, stub: AuthStub, stale: Metadata | None, timeout: float) -> None:
        """Logs in and replaces the metadata, if that is still the `stale` one. Concurrent callers share one request.

        Raises AioRpcError if etcd does not answer or refuses the password.
        """
        if self.metadata is not stale:
            return
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._authenticate(stub, timeout))
        await asyncio.shield(self._renewal)

    async def _authenticate(self, stub: AuthStub, timeout: float) -> None:
        try:
            answer = await stub.Authenticate(self._request, timeout=timeout, metadata=Metadata(_REQUIRE_LEADER))
        except AioRpcError as error:
            if error.code() is not grpc.StatusCode.FAILED_PRECONDITION or error.details() != _AUTH_DISABLED:
                raise
            self.metadata = Metadata(_REQUIRE_LEADER)
        else:
            self.metadata = Metadata(_REQUIRE_LEADER, ("token", answer.token))

    async def close(self) -> None:
        if self._renewal is not None and not self._renewal.done():
            self._renewal.cancel()
            with contextlib.suppress(asyncio.CancelledError, AioRpcError):
                await self._renewal
