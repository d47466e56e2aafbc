"""One server process: runs the application with uvicorn on a bound socket, until a clean end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import uvloop

from gateway.http import engine
from gateway.http.acceptor import Acceptor
from gateway.http.framing import Framing
from gateway.http.limits import Farewell, Heads, HttpLimits
from gateway.http.protocol import Protocol
from gateway.launch.app import App
from gateway.launch.errors import CannotServe
from gateway.launch.listener import accept
from gateway.launch.pulse import keep_beating
from gateway.launch.service_notification import STOPPING, notify
from gateway.launch.wiring import app_of
from gateway.memory import settle_collector, settle_malloc
from gateway.settings.config import Settings

if TYPE_CHECKING:
    from gateway.launch.stop_guard import StopGuard

__all__ = ["CannotServe", "ServerProcess", "configuration", "milliseconds_since_start", "serve"]

logger = logging.getLogger(__name__)

KEEP_ALIVE = 90  # seconds that an idle connection stays open, as with kube-apiserver
TICK = 0.1  # seconds between uvicorn's ticks, ten of which make a new Date header
LOOK = 0.002  # seconds between two checks whether all requests have ended, when the server stops
GRACE = 10  # seconds for requests under way when the server stops
SWITCH = (
    0.0005  # seconds that another thread may keep the GIL; the event loop needs the GIL some ten times for a request
)
RECURSION = 3000  # enough for values as deep as `gateway.jsontypes.MAX_DEPTH`; a stack of 8 MB allows several times it


class ServerProcess(engine.Server):
    """uvicorn's server with three changes: it accepts connections itself, and already during the start; it reports when
    it is ready; and it ends watches as soon as it gets the signal to stop. To be made on its event loop.
    """

    def __init__(
        self,
        app: App,
        config: engine.Config,
        ready: Callable[[], None],
        guard: StopGuard | None = None,
        beat: Callable[[], None] | None = None,
        others: bool = False,
    ) -> None:
        """With `others` set, other processes answer requests on the same port; this one then accepts connections only
        after its start.
        """
        super().__init__(config)
        self._others = others
        self._app, self._ready, self._guard, self._beat = app, ready, guard, beat
        self._heads, self._framing = Heads(), Framing()
        self._farewell = Farewell(chance=app.settings.goaway_chance)
        self._delay = app.settings.shutdown_delay_duration
        self._loop = asyncio.get_running_loop()
        self._told = asyncio.Event()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        if self._guard is not None:
            self._guard.watch(self._loop)
        await super().serve(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        acceptors = [] if self._others else self._accept(sockets or ())
        telling = self._loop.create_task(self._tell_time(), name="time")
        try:
            await super().startup([])
        except BaseException:
            for acceptor in acceptors:
                acceptor.close()
            raise
        finally:
            telling.cancel()
        self.servers += acceptors or self._accept(sockets or ())  # type: ignore[arg-type]  # they have what is used
        if not self.should_exit:
            settle_collector()
            self._ready()
            self._app.started()

    def _accept(self, sockets: Sequence[socket.socket]) -> list[Acceptor]:
        services, context = self._app.gateway.services, self.config.ssl
        assert context is not None
        return accept(sockets, context, self._protocol, services.settings, services.following)

    async def _tell_time(self) -> None:
        """Keeps the Date header of answers up to date during the start; the main loop does so later."""
        while True:
            await self.on_tick(0)
            await asyncio.sleep(1)

    def _protocol(self, limits: HttpLimits, lost: Callable[[], None]) -> Protocol:
        state = self.server_state, self.lifespan.state
        made = Protocol(
            self.config,
            *state,
            limits=limits,
            lost=lost,
            heads=self._heads,
            framing=self._framing,
            farewell=self._farewell,
        )
        made.app = self._app.answer  # without the lifespan, so that each request saves a check
        return made

    async def main_loop(self) -> None:
        """Like uvicorn's, but a stop wakes it. uvicorn's own checks for a stop every tenth of a second."""
        beating = None
        if self._beat is not None:
            beating = self._loop.create_task(keep_beating(self._beat), name="pulse")
        counter = 0
        while not await self.on_tick(counter):
            counter = (counter + 1) % (10 * 24 * 3600)
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await self._told.wait()
        if beating is not None:
            beating.cancel()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Like uvicorn's, without its pauses."""
        state = self.server_state
        if self._app.settings.shutdown_send_retry_after:
            await self._turn_away()
        for listener in self.servers:
            listener.close()
        for connection in list(state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(GRACE):
                while (state.connections or state.tasks) and not self.force_exit:
                    await asyncio.sleep(LOOK)
                for listener in self.servers:
                    await listener.wait_closed()
        except TimeoutError:
            logger.error("requests did not end in time, cancelled", extra={"requests": len(state.tasks)})
            for task in state.tasks:
                task.cancel("the server stops")
        if not self.force_exit:
            await self.lifespan.shutdown()

    async def _turn_away(self) -> None:
        """Listens until the current requests have ended, for GRACE seconds at most. New requests get 429."""
        self._app.turn_away()
        under_way = set(self.server_state.tasks)
        if under_way:
            await asyncio.wait(under_way, timeout=GRACE)

    def _drain(self, seconds: float) -> None:
        """Answers requests for `seconds` more, so that load balancers notice the stop (--shutdown-delay-duration)."""
        self._farewell.begun = True
        self._app.drain(seconds)
        self._loop.call_later(seconds, self._end)

    def _end(self) -> None:
        self.should_exit = True
        self._app.stop()
        self._told.set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begins the shutdown. A second signal skips the wait of --shutdown-delay-duration.

        Unlike uvicorn's handler, it does not send the signal again after the shutdown, which would end the process.
        """
        if not self.should_exit:
            self._loop.call_soon_threadsafe(_say_told, sig, self._delay)
        delay, self._delay = self._delay, 0.0
        if self.started and delay:
            self._loop.call_soon_threadsafe(self._drain, delay)
            return
        self._loop.call_soon_threadsafe(self._app.stop)
        self._loop.call_soon_threadsafe(self._told.set)
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


def _say_told(sig: int, seconds: float) -> None:
    notify(STOPPING)
    extra: dict[str, object] = {"signal": signal.Signals(sig).name}
    if seconds:
        logger.info("stopping, but answering requests until the delay is over", extra={**extra, "seconds": seconds})
    else:
        logger.info("stopping", extra=extra)


def configuration(app: App, context: ssl.SSLContext) -> engine.Config:
    """uvicorn's settings for this server."""
    security = "; ".join(app.settings.strict_transport_security_directives)
    config = engine.Config(
        app,
        loop="uvloop",
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        headers=[("strict-transport-security", security)] if security else None,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
    )
    config.load()
    config.ssl = context
    return config


def serve(
    settings: Settings,
    context: ssl.SSLContext,
    listener: socket.socket,
    ready: Callable[[], None],
    guard: StopGuard | None = None,
    *,
    beat: Callable[[], None] | None = None,
    others: bool = False,
    siblings: Path | None = None,
    feeder: Path | None = None,
) -> int:
    """Serves until SIGTERM or SIGINT; returns the exit status. Calls `ready` once all requests are answered, and `beat`
    about every second from then on.

    `siblings` and `feeder` are as in `app_of`; `others` says that other workers answer requests already. Raises
    CannotServe if the start fails, or if a background task that requests depend on fails.
    """
    settle_malloc()
    sys.setrecursionlimit(RECURSION)
    sys.setswitchinterval(SWITCH)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        make = partial(app_of, settings, siblings, feeder)
        return runner.run(_serve(context, listener, ready, guard, beat, others, make))


async def _serve(
    context: ssl.SSLContext,
    listener: socket.socket,
    ready: Callable[[], None],
    guard: StopGuard | None,
    beat: Callable[[], None] | None,
    others: bool,
    make: Callable[[], App],
) -> int:
    try:
        app = make()
    except (OSError, ValueError) as error:
        raise CannotServe(str(error), passing=False) from error
    server = ServerProcess(app, configuration(app, context), ready, guard, beat, others)
    with suppress(SystemExit):  # uvicorn's way to say that the application did not start
        await server.serve(sockets=[listener])
    if server.started:
        logger.info("stopped")
    if app.failure is not None:
        raise app.failure
    return 0 if server.started else 1


def milliseconds_since_start() -> int:
    """Milliseconds since this process was started; since the import of this module where /proc does not exist."""
    try:
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return round((time.clock_gettime(time.CLOCK_BOOTTIME) - started) * 1000)
    except (OSError, AttributeError):
        return round((time.monotonic() - _IMPORTED) * 1000)


_IMPORTED = time.monotonic()
