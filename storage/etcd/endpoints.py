"""Calls over several endpoints: one channel each, one of them in use, the next one taken when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import grpc
from grpc import ChannelConnectivity
from grpc.aio import AioRpcError, Metadata, UnaryUnaryMultiCallable

from storage.errors import OtherCluster, StorageError, Unanswered, Unavailable
from storage.etcd.auth import Login
from storage.etcd.belonging import Belonging
from storage.etcd.errors import is_certainly_not_executed, is_token_stale, is_transient, translate
from storage.etcd.generated import stubs
from storage.etcd.settings import EtcdSettings
from storage.etcd.unary import UnaryCalls, unary
from storage.instruments.timing import trace_headers

Request = TypeVar("Request")
Response = TypeVar("Response")

_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 250),
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.service_config_disable_resolution", 1),
]

# Until a connection is given up whose other end says nothing (milliseconds between pings, for the answer to one): what
# is under way on it is lost then. As long as kube-apiserver's, or shorter where another member may be well.
# The answer to a ping is waited for that long even under load, when gRPC pings to measure the connection.
_ALONE, _AMONG_OTHERS = (10_000, 30_000), (10_000, 5_000)

_PAUSE = 0.1
_RENEWALS = 2


class EtcdEndpoint:
    """One etcd member's address, its channel and the methods on it, made once."""

    __slots__ = ("address", "auth", "channel", "kv", "lease", "maintenance", "watch")

    def __init__(self, address: str, channel: grpc.aio.Channel) -> None:
        self.address, self.channel = address, channel
        self.kv = stubs.KVStub(channel)
        # What requests wait for. Writes come many at a time; reads of versions, which are shared, are not to wait.
        self.kv.Range, self.kv.Txn = unary(self.kv.Range), unary(self.kv.Txn, gather=True)
        self.watch = stubs.WatchStub(channel)
        self.lease = stubs.LeaseStub(channel)
        self.maintenance = stubs.MaintenanceStub(channel)
        self.auth = stubs.AuthStub(channel)

    async def close(self) -> None:
        """Breaks off all calls, whose waiters are cancelled, and disconnects."""
        for each in (self.kv.Range, self.kv.Txn):
            if isinstance(each, UnaryCalls):
                each.cancel()
        await self.channel.close(None)


Method = Callable[[EtcdEndpoint], UnaryUnaryMultiCallable[Request, Response]]


class Endpoints:
    """The endpoints of one cluster. To be made and used on one event loop."""

    def __init__(self, settings: EtcdSettings) -> None:
        self.timeout = settings.timeout
        self.login = Login(settings.username, settings.password)
        pings = _AMONG_OTHERS if len(settings.endpoints) > 1 else _ALONE
        self._all = [EtcdEndpoint(address, open_channel(address, settings, pings)) for address in settings.endpoints]
        if not self._all:
            raise ValueError("no etcd endpoint given")
        self.current = self._all[0]
        self._belonging = Belonging(self._all, self.login)
        self._ready: asyncio.Task[None] | None = None
        self._closed = False

    async def call(
        self,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout: float | None = None,
        repeatable: bool = False,
        revision: int = 0,
    ) -> Response:
        """etcd's answer within `timeout` seconds.

        A call that failed is tried again, on the next endpoint where there is one, until the deadline: if it is
        `repeatable` (a read) after any transient error, otherwise only when it was certainly not executed, and no
        longer than the timeout of the settings.

        Raises Unanswered for what is not repeatable and may have been executed, else StorageError as errors.translate
        has it; `revision` is what Compacted names as the one asked for.
        """
        seconds = self.timeout if timeout is None else timeout
        begun = asyncio.get_running_loop().time()
        endpoint, metadata = self.current, self.login.metadata
        end = begun + seconds
        belonging = self._belonging
        if belonging.several:
            seconds /= 2  # the rest is for another member, or for the answer that this one does not give
        try:
            if belonging.several:
                await belonging.vouch(endpoint, seconds)
            if metadata is None:
                metadata = await self.logged_in(endpoint, min(seconds, self.timeout))
            if traced := trace_headers():
                answer = await method(endpoint)(request, timeout=seconds, metadata=Metadata(*metadata, *traced))
            else:
                answer = await method(endpoint)(request, timeout=seconds, metadata=metadata)
            if belonging.several:
                belonging.check(endpoint, answer)
            return answer
        except AioRpcError as error:
            again = end if repeatable else min(end, begun + self.timeout)
            call = _Call(method, request, again, end, repeatable, revision)
            return await self._recover(call, endpoint, metadata, error)
        except asyncio.CancelledError:
            self._raise_if_closed()
            raise

    @property
    def count(self) -> int:
        """The number of endpoints."""
        return len(self._all)

    async def call_at(
        self, endpoint: EtcdEndpoint, method: Method[Request, Response], request: Request, timeout: float
    ) -> Response:
        """The answer of one endpoint, asked once. Raises StorageError."""
        try:
            metadata = self.login.metadata or await self.logged_in(endpoint, timeout)
            return await method(endpoint)(request, timeout=timeout, metadata=metadata)
        except AioRpcError as error:
            raise translate(error) from error
        except asyncio.CancelledError:
            self._raise_if_closed()
            raise

    async def connected(self, timeout: float) -> EtcdEndpoint:
        """The endpoint in use, or the first that connects when that one is not connected. Raises Unavailable."""
        if self.current.channel.get_state() is not ChannelConnectivity.READY and not await self._reconnected(timeout):
            raise Unavailable("no etcd endpoint could be reached in time")
        endpoint = self.current
        try:
            await self.vouch(endpoint, timeout)
        except AioRpcError as error:
            self.leave(endpoint)
            raise translate(error) from error
        return endpoint

    async def vouch(self, endpoint: EtcdEndpoint, timeout: float) -> None:
        """Comes back when the endpoint is known to be of the cluster that is served. Raises AioRpcError."""
        try:
            await self._belonging.vouch(endpoint, timeout)
        except asyncio.CancelledError:
            self._raise_if_closed()
            raise

    async def compare(self) -> None:
        """Asks all endpoints what their cluster is. Raises OtherCluster when two that answer are of different ones."""
        await self._belonging.compare()

    async def logged_in(self, endpoint: EtcdEndpoint, timeout: float, stale: Metadata | None = None) -> Metadata:
        """The metadata for a call, after a login if there is none yet or it is `stale`. Raises AioRpcError."""
        await self.login.renew(endpoint.auth, stale, timeout)
        assert self.login.metadata is not None
        return self.login.metadata

    def leave(self, endpoint: EtcdEndpoint) -> None:
        """Use the next endpoint from now on, if `endpoint` is the one in use."""
        self._belonging.doubt(endpoint)
        if self.current is endpoint:
            self.current = self._all[(self._all.index(endpoint) + 1) % len(self._all)]

    async def close(self) -> None:
        """Break off all calls and close the connections. Calls under way raise Unavailable."""
        self._closed = True
        if self._ready is not None:
            self._ready.cancel()
        await self.login.close()
        await self._belonging.close()
        await asyncio.gather(*(endpoint.close() for endpoint in self._all))

    async def _recover(
        self,
        call: _Call[Request, Response],
        endpoint: EtcdEndpoint,
        metadata: Metadata | None,
        error: AioRpcError,
    ) -> Response:
        attempts, renewals = 1, 0
        while True:
            stale = is_token_stale(error) and self.login.has_user and renewals < _RENEWALS
            if not stale:
                if is_transient(error):
                    self.leave(endpoint)
                if not call.may_repeat_after(error) or not await self._next_chance(call.deadline, attempts):
                    raise self._failure(call, error) from error
            endpoint = self.current
            remaining = call.end - asyncio.get_running_loop().time()
            if call.repeatable and attempts < len(self._all) - 1:
                remaining /= 2
            attempts += 1
            try:
                if stale or self.login.metadata is None:
                    renewals += 1
                    metadata = await self.logged_in(endpoint, min(remaining, self.timeout), metadata)
                else:
                    metadata = self.login.metadata
                await self._belonging.vouch(endpoint, remaining)
                answer = await call.method(endpoint)(call.request, timeout=remaining, metadata=metadata)
                if self._belonging.several:
                    self._belonging.check(endpoint, answer)
                return answer
            except AioRpcError as again:
                error = again
            except asyncio.CancelledError:
                self._raise_if_closed()
                raise

    def _failure(self, call: _Call[Request, Response], error: AioRpcError) -> StorageError:
        """What a call failed with at last; where endpoints of another cluster were left out, that is the reason."""
        failed = call.failure(error)
        if self._belonging.refusal and isinstance(failed, Unavailable) and not isinstance(failed, Unanswered):
            return OtherCluster(self._belonging.refusal)
        return failed

    async def _next_chance(self, deadline: float, attempts: int) -> bool:
        """Wait until another attempt makes sense; False if there is none before the deadline."""
        remaining = deadline - asyncio.get_running_loop().time()
        if remaining <= 0:
            return False
        if self.current.channel.get_state(try_to_connect=True) is not ChannelConnectivity.TRANSIENT_FAILURE:
            if attempts >= len(self._all):
                await asyncio.sleep(min(_PAUSE, remaining / 2))
            return True
        return await self._reconnected(remaining)

    async def _reconnected(self, timeout: float) -> bool:
        """Whether within that time any endpoint gets connected; it is then the one in use."""
        self._raise_if_closed()
        if self._ready is None or self._ready.done():
            self._ready = asyncio.create_task(self._wait_for_connection())
        done, _ = await asyncio.wait((self._ready,), timeout=timeout)
        self._raise_if_closed()
        return bool(done)

    async def _wait_for_connection(self) -> None:
        """Wait until any endpoint is connected, and use that one. Shared by all calls that wait for it."""
        waits = {asyncio.create_task(endpoint.channel.channel_ready()): endpoint for endpoint in self._all}
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            self.current = waits[done.pop()]
        finally:
            for wait in waits:
                wait.cancel()

    def _raise_if_closed(self) -> None:
        task = asyncio.current_task()
        if self._closed and not (task and task.cancelling()):
            raise Unavailable("the etcd client is closed") from None


@dataclass(frozen=True, slots=True)
class _Call(Generic[Request, Response]):
    method: Method[Request, Response]
    request: Request
    deadline: float  # of the loop's clock: later it is not tried again
    end: float  # by which it has to be answered
    repeatable: bool
    revision: int

    def may_repeat_after(self, error: AioRpcError) -> bool:
        return is_certainly_not_executed(error) or (self.repeatable and is_transient(error))

    def failure(self, error: AioRpcError) -> StorageError:
        """What is raised when it is not tried again."""
        failed = translate(error, self.revision)
        if self.repeatable or not isinstance(failed, Unavailable) or is_certainly_not_executed(error):
            return failed
        return Unanswered(str(failed))


def open_channel(address: str, settings: EtcdSettings, pings: tuple[int, int] = _AMONG_OTHERS) -> grpc.aio.Channel:
    """A channel to HOST:PORT, http://HOST:PORT, https://HOST:PORT or unix:///PATH. Connects when first used.

    `pings`: milliseconds between two of them, and for the answer to one.
    """
    every, answered = pings
    options = [
        *_OPTIONS,
        ("grpc.keepalive_time_ms", every),
        ("grpc.keepalive_timeout_ms", answered),
        ("grpc.http2.ping_timeout_ms", answered),  # the same; without it a minute is waited for the answer to a ping
    ]
    scheme, separator, target = address.rpartition("://")
    if scheme == "unix" or address.startswith("unix:"):
        return grpc.aio.insecure_channel(f"unix:{address.removeprefix('unix:').removeprefix('//')}", options=options)
    files = settings.ca_file, settings.cert_file, settings.key_file
    secure = scheme == "https" if separator else any(files)
    target = target.rstrip("/")
    if not secure:
        return grpc.aio.insecure_channel(target, options=options)
    ca, cert, key = (file.read_bytes() if file else None for file in files)
    credentials = grpc.ssl_channel_credentials(root_certificates=ca, private_key=key, certificate_chain=cert)
    return grpc.aio.secure_channel(target, credentials, options=options)
