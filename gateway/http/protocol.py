"""uvicorn's HTTP/1.1 protocol, for clients that cannot be trusted. It adds time limits for heads and bodies and a size
limit for heads, and answers requests whose method the parser does not know. A connection becomes a tunnel only with the
answer to the upgrade. An invalid request is refused after the answers to earlier ones. A client that does not read, or
does not close its connection, does not delay the server's stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any

import httptools

from gateway.http.client_chain import client_chain
from gateway.http.connection_end import FAREWELL, end_soon
from gateway.http.cycle import Cycle
from gateway.http.ends import ends_of
from gateway.http.engine import Config, HttpToolsProtocol, ServerState
from gateway.http.flow import TransportFlow
from gateway.http.framing import Framing
from gateway.http.idle_connections import IdleConnection
from gateway.http.limits import Farewell, Heads, HttpLimits
from gateway.http.messages import UPGRADABLE
from gateway.http.pipelining import end_of_messages
from gateway.http.scope import scope_of
from gateway.http.stage import ParserStage
from gateway.http.upgrade_bytes import Upgrading, without_wish
from gateway.http.wire import expects_continue, refusal_of, size_of_head, words_of
from gateway.http.write_stall import WriteStall

_STAND_IN = b"TRACE"  # a method that the parser knows and no endpoint serves
_LOOKED_AT = frozenset({b"expect", b"host", b"transfer-encoding"})  # the only headers that matter here
_IDLE, _HEAD, _BODY = ParserStage  # each request needs them, and globals are faster than members of an Enum


class _Refused(Exception):
    """Raised in callbacks of the parser, because only an exception stops the parser."""


class Protocol(HttpToolsProtocol):
    """One connection. `lost` is called when the connection has ended."""

    __slots__ = (
        "_answering", "_body", "_chain", "_complete", "_ending", "_ends", "_fed", "_framing", "_heads", "_held",
        "_idling", "_last_words", "_limits", "_lost", "_parting", "_replaying", "_stage", "_stall",
        "_stopping", "_timer", "_unanswered", "_unknown_method", "_upgrading", "_vetted",
    )  # fmt: skip  # slots, since CPython shares no keys between dicts of objects with more than 30 attributes

    cycle: Cycle
    flow: TransportFlow  # type: ignore[assignment]  # this and `pipeline` take a tenth of the memory of uvicorn's
    pipeline: list[tuple[Cycle, Any]]  # type: ignore[assignment]

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        limits: HttpLimits | None = None, lost: Callable[[], None] | None = None, heads: Heads | None = None,
        framing: Framing | None = None, farewell: Farewell | None = None,
    ) -> None:  # fmt: skip
        super().__init__(config, server_state, app_state, _loop)
        self._limits, self._lost, self._heads = limits or HttpLimits(), lost, heads or Heads()
        self._framing, self._ending = framing or Framing(), farewell or Farewell()
        self._upgrading: Upgrading | None = None  # set from a request for an upgrade until its answer
        self._vetted: list[tuple[bytes, bytes]] = []  # the headers that are looked at
        self._held = 0  # bytes of a large head that are counted in `heads`
        self._stall = WriteStall(self.loop, self._limits.stall)
        self._idling = IdleConnection(self.loop, self.timeout_keep_alive)
        self._stage, self._replaying = _IDLE, False  # _replaying: whether the parser gets a head a second time
        self._unknown_method = ""  # the method of the next request, if the parser does not know it
        self._complete = self._unanswered = 0  # requests read completely; requests without a complete answer
        self._fed = self._body = 0  # bytes of the head, or of the body with its framing; bytes of the body alone
        self._timer: asyncio.TimerHandle | None = None
        self._parting = self._stopping = False  # whether no more is read; whether the server stops
        self._last_words: bytes | None = None  # an error that is sent after all pending answers
        self.pipeline = []
        self._answering: Cycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        self.connections.add(self)
        self.transport, self.flow = transport, TransportFlow(transport)
        self._ends, self._chain = ends_of(transport), client_chain(transport.get_extra_info("ssl_object"))
        self._timer = self.loop.call_later(self._limits.head_seconds, self._head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._unset_timer()
        self._release_head()
        if self._upgrading is not None:
            self._upgrading.end()
        self._stall.end()
        self._idling.end()
        self._ending.departures.end(self._answering, partial(super().connection_lost, exc))
        if self._lost is not None:
            self._lost()

    # received data

    def data_received(self, data: bytes) -> None:
        if self._parting:
            return
        if self._upgrading is not None:
            self._upgrading.take(data)
            return
        self._idling.since = None
        if self.parser is None:
            self._use_new_parser()
        stage, complete = self._stage, self._complete
        if stage is _IDLE and data.find(b"  ", 0, data.find(b"\n")) >= 0:  # the parser would accept two spaces
            return self._refuse(HTTPStatus.BAD_REQUEST)
        disguised = False
        rest = data
        while rest and not self._parting:
            try:
                self.parser.feed_data(rest)
                break
            except httptools.HttpParserUpgrade as upgrade:
                rest = self._without_upgrade(rest, upgrade.args[0])
            except httptools.HttpParserInvalidMethodError:
                if disguised or stage is not _IDLE or rest is not data:  # after an upgrade, `data` is read otherwise
                    return self._refuse(HTTPStatus.BAD_REQUEST)
                disguised = True
                rest = self._in_disguise(data, self._complete - complete)
            except httptools.HttpParserError:
                return self._refuse(HTTPStatus.BAD_REQUEST)
        self._await_rest(len(data), stage if self._complete == complete else _IDLE)

    def _await_rest(self, size: int, before: ParserStage) -> None:
        """Checks the size limits and sets the timers for the rest of a request, after `size` bytes were received.

        `before` is the parser's stage in the same request before these bytes; IDLE if the request began with them.
        """
        stage = self._stage
        if stage is _IDLE:
            if self._unanswered:
                if self._timer is not None:
                    self._unset_timer()
            elif self._timer is None:  # for example, only line ends came, which may precede a request
                self._timer = self.loop.call_later(self._limits.head_seconds, self._head_is_late)
            return
        if stage is before:
            self._fed += size
        elif stage is _HEAD:
            self._fed = size
        if stage is _HEAD:
            if self._fed > self._limits.head_bytes:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            elif self._fed > self._heads.small and not self._hold_head():
                self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            elif self._timer is None:
                self._timer = self.loop.call_later(self._limits.head_seconds, self._head_is_late)
        elif self._fed > self._limits.framing + 8 * self._body:
            self._refuse(HTTPStatus.BAD_REQUEST)
        elif before is not _BODY:
            self._expect_body()

    def _hold_head(self) -> bool:
        """Counts a large head; returns False if all large heads together exceed their limit."""
        self._heads.size += self._fed - self._held
        self._held = self._fed
        return self._heads.size <= self._heads.most

    def _release_head(self) -> None:
        if self._held:
            self._heads.size -= self._held
            self._held = 0

    def _without_upgrade(self, data: bytes, offset: int) -> bytes:
        """Reads a request for an upgrade like any other; returns the data that is still to be parsed.

        The parser stops after such a request's head, so a new parser gets a head without the Upgrade header.
        """
        self._use_new_parser()
        self._replaying = True
        try:
            self.parser.feed_data(without_wish(self.headers))
        finally:
            self._replaying = False
        if self._stage is not _IDLE or not any(name == b"upgrade" for name, _ in self.headers):
            return data[offset:]
        self._upgrading = Upgrading(self.transport, self.flow)
        self._upgrading.take(data[offset:])
        self.cycle.switch, self.cycle.scope["extensions"] = self._upgrading.switch, UPGRADABLE  # type: ignore[typeddict-item]
        return b""

    def _in_disguise(self, data: bytes, complete: int) -> bytes:
        """Replaces an unknown method, of the request after `complete` others in `data`; returns the data to parse."""
        if complete:
            data = data[end_of_messages(data, complete) :]
        method, space, rest = data.lstrip(b"\r\n").partition(b" ")
        if not space or not method.isalpha() or len(method) > 64:
            self._refuse(HTTPStatus.BAD_REQUEST)
            return b""
        self._stage = _IDLE
        self._unknown_method = method.decode("ascii")
        self._use_new_parser()
        return _STAND_IN + space + rest

    def _use_new_parser(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)

    # the parser's callbacks

    def on_message_begin(self) -> None:
        if not self._replaying:
            self._stage = _HEAD
            self._vetted, self.url, self.headers, self.expect_100_continue = [], b"", [], False

    def on_url(self, url: bytes) -> None:
        if self._stage is _HEAD:
            self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._stage is _HEAD:  # otherwise it is a trailer
            name = name.lower()
            if name in _LOOKED_AT:
                self._vetted.append((name, value))
                if name == b"expect" and expects_continue(value):
                    self.expect_100_continue = True
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self._replaying:
            return
        if len(self.pipeline) >= self._limits.pipelined:
            self._last_words = b""
            raise _Refused
        if self._fed and size_of_head(self.url, self.headers) > self._limits.head_bytes:
            self._last_words = words_of(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            raise _Refused
        version = self.parser.get_http_version()
        if refused := refusal_of(version, self._vetted):
            self._last_words = refused
            raise _Refused
        self._release_head()
        self._stage, self._fed, self._body = _BODY, 0, 0
        method, self._unknown_method = self._unknown_method or self.parser.get_method().decode("ascii"), ""
        self.scope = scope_of(  # type: ignore[assignment]  # uvicorn's type has more members, which nothing uses
            method, self.url, version, self.headers, ends=self._ends, chain=self._chain
        )
        self._begin_cycle()

    def _begin_cycle(self) -> None:
        idle = not self._unanswered
        self._unanswered += 1
        self.cycle = Cycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            framing=self._framing,
            default_headers=self.server_state.default_headers,
            expect_100_continue=self.expect_100_continue,
            keep_alive=self._may_go_on(),
        )
        if idle:
            self._answer(self.cycle)
        else:
            self.flow.pause_reading()
            self.pipeline.insert(0, (self.cycle, self.app))

    def _answer(self, cycle: Cycle) -> None:
        """Starts the task that answers. The task removes itself from the server's tasks: a callback would be slower."""
        self._answering = cycle
        cycle.on_response, cycle.connection = self.on_response_complete, self
        cycle.tasks, cycle.task = self.tasks, self.loop.create_task(cycle.run_asgi(self.app))
        self.tasks.add(cycle.task)

    def rest(self) -> None:
        """See Connection. The next data gets a new parser."""
        if self._stage is _IDLE:
            self._vetted, self.url, self.headers = [], b"", []
            self.scope = self.parser = None  # type: ignore[assignment]

    def _may_go_on(self) -> bool:
        """Whether the connection stays open after the answer."""
        ending = self._ending
        if (ending.begun or ending.chance) and ending.is_due():
            return False
        return bool(self.scope["http_version"] != "1.0" and self.parser.should_keep_alive())

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        if not self.cycle.response_complete:
            super().on_body(body)
        elif self._body > self._limits.unread_body:
            self._last_words = b""
            raise _Refused

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # its body follows, see _without_upgrade
        self._stage = _IDLE
        self._complete += 1
        super().on_message_complete()

    def _unset_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _head_is_late(self) -> None:
        self._timer = None
        self._refuse(None)

    def _expect_body(self) -> None:
        self._unset_timer()
        self._timer = self.loop.call_later(self._limits.body_window, self._check_rate, self._body)

    def _check_rate(self, before: int) -> None:
        """Refuses a body that is sent too slowly; not if the server itself has paused reading."""
        self._timer = None
        too_slow = self._body - before < self._limits.body_rate * self._limits.body_window
        if too_slow and not self.flow.read_paused and not self.cycle.waiting_for_100_continue:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self._expect_body()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall.begin(self.transport)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stall.end()

    def on_response_complete(self) -> None:
        self._unanswered -= 1
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            tunnel = self._upgrading is not None and self._upgrading.switched
            end_soon(self.loop, self.transport, stopping=self._stopping, tunnel=tunnel)
            return
        if self.pipeline:
            self._answer(self.pipeline.pop()[0])
        else:
            self._idling.begin(self._close)
        if self.flow.read_paused and not self.pipeline:  # earlier, each answer would let more requests in
            self.flow.resume_reading()
        if self._upgrading is not None and not self._unanswered:
            kept, self._upgrading = self._upgrading.kept(), None
            if kept:
                self.data_received(kept)
        if self._last_words is not None and not self._unanswered:
            self._part()

    def _refuse(self, status: HTTPStatus | None) -> None:
        """Closes the connection after the pending answers, with an answer of `status` if one can still be sent."""
        if self._parting:
            return
        self._parting = True
        self._unset_timer()
        if self._last_words is None:
            self._last_words = words_of(status) if status else b""
        if self._stage is _BODY and not self.cycle.response_complete:
            self._drop_unfinished()
        if not self._unanswered:
            self._part()

    def _drop_unfinished(self) -> None:
        """Drops the request whose body will not be read to its end."""
        self._unanswered -= 1
        if self.pipeline and self.pipeline[0][0] is self.cycle:
            self.pipeline.pop(0)
            return
        if self.cycle.response_started:
            self._last_words = b""
        self.cycle.disconnected = True
        self.cycle.message_event.set()

    def _part(self) -> None:
        """Sends the last words, and closes the connection once the client has had time to read them."""
        self._parting = True
        words, self._last_words = self._last_words, None
        self._idling.end()
        if self.transport.is_closing():
            return
        if not words:
            return self._close()
        self.transport.write(words)
        self.flow.resume_reading()  # received data is dropped; closing with unread data would reset the connection
        self._timer = self.loop.call_later(FAREWELL, self._close)

    def _close(self) -> None:
        self.transport.close()
        end_soon(self.loop, self.transport, stopping=self._stopping)

    def shutdown(self) -> None:
        """Closes the connection once it is idle, even if the client does not answer TLS's close_notify."""
        super().shutdown()
        if self._upgrading is not None:
            self._upgrading.end()
        self._stopping = True
        end_soon(self.loop, self.transport, stopping=True)
