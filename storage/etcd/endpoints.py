"""Calls over several endpoints. Each has a channel; one endpoint is in use, and when it fails the next one is used."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import grpc
from grpc import ChannelConnectivity
from grpc.aio import AioRpcError, Metadata, UnaryUnaryMultiCallable

from storage.errors import OtherCluster, StorageError, Unanswered, Unavailable
from storage.etcd.auth import AuthSession
from storage.etcd.cluster_check import Belonging
from storage.etcd.connections import Connections, is_connected
from storage.etcd.errors import is_certainly_not_executed, is_token_stale, is_transient, may_be_executed, translate
from storage.etcd.generated import rpc_pb2, stubs
from storage.etcd.http2.line import Line, over_line
from storage.etcd.settings import EtcdSettings
from storage.etcd.swap_request import transactions
from storage.etcd.unary import UnaryCalls, unary
from storage.instruments.trace import trace_headers

if TYPE_CHECKING:
    from storage.etcd.overdue import Overdue

Request = TypeVar("Request")
Response = TypeVar("Response")

_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 250),
    ("grpc.min_reconnect_backoff_ms", 5_000),
    # A member that is a pod has another address after each restart. By default gRPC asks for it every 30 s.
    ("grpc.dns_min_time_between_resolutions_ms", 500),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.service_config_disable_resolution", 1),
]

# Milliseconds between two pings on a connection, and for the answer to one. Without an answer gRPC closes the
# connection, and the calls on it fail. The times are kube-apiserver's; the answer's is shorter if there are several
# members. It also applies to the pings by which gRPC measures a connection under load.
_ALONE, _AMONG_OTHERS = (10_000, 30_000), (10_000, 5_000)

_PAUSE, _RENEWALS = 0.1, 2
_UNKNOWN = "etcd has not answered a write, and it can't be told whether it was made"


class EtcdEndpoint:
    """One etcd member's address, its channel and the gRPC methods on it, which are made once."""

    __slots__ = ("_lent", "_line", "address", "auth", "channel", "kv", "lease", "maintenance", "watch")

    def __init__(self, address: str, channel: grpc.aio.Channel, line: Line | None = None) -> None:
        """With a `line`, the calls that requests wait for are made over it."""
        self.address, self.channel = address, channel
        self.kv = stubs.KVStub(channel)
        # The calls that requests wait for. Only writes are gathered: reads are mostly shared probes and go out at once.
        self.kv.Range, self.kv.Txn = unary(self.kv.Range), unary(transactions(channel), gather=True)
        self._lent, self._line = (self.kv.Range, self.kv.Txn), line
        if line is not None:
            self.kv.Range, self.kv.Txn = over_line(line, self.kv)
        self.watch = stubs.WatchStub(channel)
        self.lease = stubs.LeaseStub(channel)
        self.maintenance = stubs.MaintenanceStub(channel)
        self.auth = stubs.AuthStub(channel)

    async def close(self) -> None:
        """Cancels all calls and their callers, and disconnects."""
        if self._line is not None:
            self._line.close()
        for each in self._lent:
            if isinstance(each, UnaryCalls):
                each.cancel()
        await self.channel.close(None)


Method = Callable[[EtcdEndpoint], UnaryUnaryMultiCallable[Request, Response]]

_RANGE: Method[rpc_pb2.RangeRequest, rpc_pb2.RangeResponse] = attrgetter("kv.Range")


class Endpoints:
    """The endpoints of one cluster. Make and use it on one event loop."""

    def __init__(self, settings: EtcdSettings) -> None:
        self.timeout = settings.timeout
        self.login = AuthSession(settings.username, settings.password)
        pings = _AMONG_OTHERS if len(settings.endpoints) > 1 else _ALONE
        self._all = [
            EtcdEndpoint(
                address,
                open_channel(address, settings, pings),
                None if is_secure(address, settings) else Line(address, pings),
            )
            for address in settings.endpoints
        ]
        if not self._all:
            raise ValueError("no etcd endpoint given")
        self.current = self._all[0]
        self._connections = Connections(self._all, self._leave_lost)
        self._belonging = Belonging(self._all, self.login, self._connections.keep)
        self._overdue: Overdue[EtcdEndpoint] | None = None
        if len(self._all) > 1:
            from storage.etcd.overdue import Overdue  # here: a single member is the usual case

            self._overdue = Overdue(self._all, self._term_at, self.leave)
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
        swaps: bytes = b"",
        once: bool = False,
    ) -> Response:
        """Makes a call and returns etcd's answer, within `timeout` seconds.

        A failed call is tried again, on the next endpoint if there is one. A `repeatable` call (a read) is tried again
        after each transient error, until the deadline. Another call is tried again only if it was certainly not
        executed, or was not sent because its endpoint could not be used; and only within the timeout of the settings.

        `swaps` is the key that a transaction compares first: the wait for its answer ends early when none will come
        (overdue.py). `once`: the comparison holds at most once, so that it is safe to send the transaction again after
        any transient error. If it fails then, etcd's history tells whether an earlier one was executed (doubtful.py).

        Raises Unanswered for a call that is not repeatable and may have been executed, else the StorageError of
        errors.translate. `revision` is the requested revision, for Compacted.
        """
        seconds = self.timeout if timeout is None else timeout
        begun = asyncio.get_running_loop().time()
        endpoint, metadata, belonging = self.current, self.login.metadata, self._belonging
        end, written = begun + seconds, False  # `written`: whether etcd may have got the request as a write
        if belonging.several:
            seconds /= 2  # the other half is for another member
        try:
            if belonging.several:
                await belonging.vouch(endpoint, seconds)
            if metadata is None:
                metadata = await self.logged_in(endpoint, min(seconds, self.timeout))
            written = not repeatable
            if traced := trace_headers():
                sent = method(endpoint)(request, timeout=seconds, metadata=Metadata(*metadata, *traced))
            else:
                sent = method(endpoint)(request, timeout=seconds, metadata=metadata)
            return await (self._answered(sent, endpoint, swaps, once) if belonging.several else sent)
        except AioRpcError as error:
            again = asyncio.get_running_loop().time() if once else begun
            last = end if repeatable else min(end, again + self.timeout)
            call = _Call(method, request, last, end, repeatable, revision, swaps, once)
            return await self._recover(call, endpoint, metadata, error, written)
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
        """Makes a call to one endpoint, without retries. Raises StorageError."""
        try:
            metadata = self.login.metadata or await self.logged_in(endpoint, timeout)
            return await method(endpoint)(request, timeout=timeout, metadata=metadata)
        except AioRpcError as error:
            raise translate(error) from error
        except asyncio.CancelledError:
            self._raise_if_closed()
            raise

    async def connected(self, timeout: float) -> EtcdEndpoint:
        """The endpoint in use; if it is not connected, the first that connects. Raises StorageError."""
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
        """Returns if the endpoint belongs to the cluster that is served. Raises AioRpcError."""
        try:
            await self._belonging.vouch(endpoint, timeout)
        except asyncio.CancelledError:
            self._raise_if_closed()
            raise

    async def compare(self) -> None:
        """Asks all endpoints for their cluster ID. Raises OtherCluster if two answers differ."""
        await self._belonging.compare()

    async def logged_in(self, endpoint: EtcdEndpoint, timeout: float, stale: Metadata | None = None) -> Metadata:
        """The metadata for a call, after a login if there is none yet or it is `stale`. Raises AioRpcError."""
        await self.login.renew(endpoint.auth, stale, timeout)
        assert self.login.metadata is not None
        return self.login.metadata

    def leave(self, endpoint: EtcdEndpoint) -> None:
        """Switches to the next endpoint that is connected, if `endpoint` is the one in use."""
        self._belonging.doubt(endpoint)
        if self.current is endpoint:
            self.current = self._connections.next(endpoint)

    def _leave_lost(self) -> None:
        """Leaves the endpoint in use, if it is not connected and another one is."""
        if not is_connected(self.current) and is_connected(self._connections.next(self.current)):
            self.leave(self.current)

    async def close(self) -> None:
        """Ends all calls, which raise Unavailable, and closes the connections."""
        self._closed = True
        if self._ready is not None:
            self._ready.cancel()
        await self.login.close()
        if self._overdue is not None:
            await self._overdue.close()
        await self._belonging.close()
        await self._connections.close()
        await asyncio.gather(*(endpoint.close() for endpoint in self._all))

    async def _recover(
        self,
        call: _Call[Request, Response],
        endpoint: EtcdEndpoint,
        metadata: Metadata | None,
        error: AioRpcError,
        written: bool,
    ) -> Response:
        """Tries a failed call again. `written`: whether etcd may have got its request as a write."""
        attempts, renewals, doubtful = 1, 0, False
        while True:
            stale = is_token_stale(error) and self.login.has_user and renewals < _RENEWALS
            unsure = written and may_be_executed(error)
            if not stale:
                doubtful = doubtful or unsure
                if is_transient(error):
                    self.leave(endpoint)
                if not call.may_repeat_after(error, unsure) or not await self._next_chance(call.deadline, attempts):
                    raise self._failure(call, error, doubtful) from error
            endpoint = self.current
            remaining = call.end - asyncio.get_running_loop().time()
            if (call.repeatable or call.once) and attempts < len(self._all) - 1:
                remaining /= 2
            attempts, written = attempts + 1, False
            try:
                if stale or self.login.metadata is None:
                    renewals += 1
                    metadata = await self.logged_in(endpoint, min(remaining, self.timeout), metadata)
                else:
                    metadata = self.login.metadata
                await self._belonging.vouch(endpoint, remaining)
                written = not call.repeatable
                sent = call.method(endpoint)(call.request, timeout=remaining, metadata=metadata)
                answer = await self._answered(sent, endpoint, call.swaps, call.once)
            except AioRpcError as again:
                error = again
                continue
            except asyncio.CancelledError:
                self._raise_if_closed()
                raise
            if doubtful and not cast(Any, answer).succeeded:
                from storage.etcd.doubtful import was_never_made  # here: only after an outage

                if not await was_never_made(cast(Any, call.request), cast(Any, answer), self.range):
                    raise Unanswered(_UNKNOWN)
            return answer

    def range(self, request: rpc_pb2.RangeRequest) -> Awaitable[rpc_pb2.RangeResponse]:
        """Makes a Range call. Raises StorageError."""
        return self.call(_RANGE, request, repeatable=True, revision=request.revision)

    async def _answered(self, sent: Awaitable[Response], endpoint: EtcdEndpoint, swaps: bytes, once: bool) -> Response:
        """The answer of a call. Raises AioRpcError, also if it comes from another cluster."""
        if self._overdue is None:
            return await sent
        answer = await (self._overdue.answered(sent, endpoint, swaps, once) if swaps else sent)
        self._overdue.tell(self._belonging.check(endpoint, answer))
        return answer

    async def _term_at(self, endpoint: EtcdEndpoint, key: bytes, timeout: float) -> int:
        """The raft term that an endpoint knows, by a linearizable read. Raises StorageError."""
        asked = self.call_at(endpoint, _RANGE, rpc_pb2.RangeRequest(key=key, count_only=True), timeout)
        return int((await asked).header.raft_term)

    def _failure(self, call: _Call[Request, Response], error: AioRpcError, doubtful: bool) -> StorageError:
        """The error to raise for a failed call: OtherCluster if endpoints of another cluster were refused."""
        failed = translate(error, call.revision)
        if doubtful:
            return Unanswered(_UNKNOWN if call.once else str(failed))
        refusal = self._belonging.refusal
        return OtherCluster(refusal) if refusal and isinstance(failed, Unavailable) else failed

    async def _next_chance(self, deadline: float, attempts: int) -> bool:
        """Waits until another attempt makes sense; False if the deadline comes first."""
        remaining = deadline - asyncio.get_running_loop().time()
        if remaining <= 0:
            return False
        if self.current.channel.get_state(try_to_connect=True) is not ChannelConnectivity.TRANSIENT_FAILURE:
            if attempts >= len(self._all):
                await asyncio.sleep(min(_PAUSE, remaining / 2))
            return True
        return await self._reconnected(remaining)

    async def _reconnected(self, timeout: float) -> bool:
        """Waits until an endpoint is connected, which is then the one in use; False after `timeout` seconds."""
        self._raise_if_closed()
        if self._ready is None or self._ready.done():
            self._ready = asyncio.create_task(self._wait_for_connection())
        done, _ = await asyncio.wait((self._ready,), timeout=timeout)
        self._raise_if_closed()
        return bool(done)

    async def _wait_for_connection(self) -> None:
        """Waits until an endpoint is connected, and uses it. All waiting calls share this task."""
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
    deadline: float  # by the loop's clock; later the call is not tried again
    end: float  # by the loop's clock; the answer has to come before
    repeatable: bool
    revision: int
    swaps: bytes
    once: bool

    def may_repeat_after(self, error: AioRpcError, unsure: bool) -> bool:
        return is_certainly_not_executed(error) or (is_transient(error) and (self.once or not unsure))


def is_secure(address: str, settings: EtcdSettings) -> bool:
    """Whether an endpoint is reached by TLS."""
    scheme, separator, _ = address.rpartition("://")
    if scheme == "unix" or address.startswith("unix:"):
        return False
    files = settings.ca_file, settings.cert_file, settings.key_file
    return scheme == "https" if separator else any(files)


def open_channel(address: str, settings: EtcdSettings, pings: tuple[int, int] = _AMONG_OTHERS) -> grpc.aio.Channel:
    """A channel to HOST:PORT, http://HOST:PORT, https://HOST:PORT or unix:///PATH. Connects when first used.

    `pings`: milliseconds between two pings, and for the answer to one.
    """
    every, answered = pings
    options = [
        *_OPTIONS,
        ("grpc.keepalive_time_ms", every),
        ("grpc.keepalive_timeout_ms", answered),
        ("grpc.http2.ping_timeout_ms", answered),  # for gRPC's other pings, whose default is one minute
    ]
    scheme, _, target = address.rpartition("://")
    if scheme == "unix" or address.startswith("unix:"):
        return grpc.aio.insecure_channel(f"unix:{address.removeprefix('unix:').removeprefix('//')}", options=options)
    target = target.rstrip("/")
    if not is_secure(address, settings):
        return grpc.aio.insecure_channel(target, options=options)
    files = settings.ca_file, settings.cert_file, settings.key_file
    ca, cert, key = (file.read_bytes() if file else None for file in files)
    credentials = grpc.ssl_channel_credentials(root_certificates=ca, private_key=key, certificate_chain=cert)
    return grpc.aio.secure_channel(target, credentials, options=options)
