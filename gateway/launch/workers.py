"""--workers N: N server processes on one port, supervised by their parent.

Each worker binds the port itself (SO_REUSEPORT, so that the kernel spreads connections evenly). The parent holds the
address without listening. It replaces a worker that has ended, and kills and replaces one that hangs (pulse.py).
Workers end when their parent has ended, even if it was killed. With --shared-cache the parent supervises one more
process, the feeder, in the same way.
"""

from __future__ import annotations

import gc
import logging
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.launch import pulse as pulse_module
from gateway.launch.patient import LOG_INTERVAL, still_waiting

logger = logging.getLogger(__name__)

RESTART_PAUSE = 1.0  # seconds; a worker that lived for less is replaced after this pause
HOPELESS = 78  # exit status of a worker (EX_CONFIG of sysexits.h) if a new one would fail for the same reason
END_WAIT = 20.0  # seconds that workers get to end by themselves
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)


@dataclass(frozen=True, slots=True)
class ParentProcess:
    """The functions by which a child informs its parent: `ready` once, and `beat` while its event loop runs.

    `others` says that other workers were ready before this one was started. They take the connections until this worker
    is ready too.
    """

    ready: Callable[[], None]
    beat: Callable[[], None]
    others: bool


Work = Callable[[ParentProcess], int]
"""The work of a child process; returns the exit status."""


@dataclass(frozen=True, slots=True)
class _Process:
    """A started child process: its work, and the time of its start by the monotonic clock."""

    work: Work
    began: float = field(default_factory=time.monotonic)
    pulse: pulse_module.Pulse = field(default_factory=pulse_module.Pulse)


class Supervisor:
    """Starts workers, and replaces those that end. To be used before the process has threads or an event loop."""

    def __init__(
        self,
        workers: int,
        work: Work,
        delay: float = 0.0,
        beside: Work | None = None,
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        """`delay` is how many seconds workers still serve after the signal to stop (--shutdown-delay-duration);
        `beside` is the work of one more process, the feeder; `leave` closes in each process what only the parent holds.
        """
        self._leave = leave
        self._workers, self._work, self._patience = workers, work, END_WAIT + delay
        self._beside = beside
        self._started: dict[int, _Process] = {}  # by process id
        self._looked = 0.0  # when it last checked whether a process hangs
        self._announced = False  # whether any worker has been ready
        self._parent_alive, self._held_by_parent = os.pipe()  # reads end of file once the parent has ended
        self._ready, self._tell_ready = os.pipe()
        self._woken, self._wake = os.pipe()  # the numbers of signals that have arrived

    def run(self, ready: Callable[[], None]) -> int:
        """Supervises until SIGTERM or SIGINT. Calls `ready` when all workers are ready. Returns the exit status: 1 if a
        worker failed for a reason that would also make a new one fail.
        """
        gc.freeze()  # keeps memory shared with the workers: a collection writes to each object that is not frozen
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake)
        for sig in _SIGNALS:
            signal.signal(sig, lambda *_: None)
        if self._beside is not None:
            self._start(self._beside)
        for _ in range(self._workers):
            self._start(self._work)
        waiting, began = self._workers, time.monotonic()
        while True:
            patience = min(LOG_INTERVAL, pulse_module.LOOK) if waiting else pulse_module.LOOK
            readable, _, _ = select.select([self._ready, self._woken], [], [], patience)
            self._kill_hanging()
            if not readable and waiting:
                still_waiting(f"{waiting} of {self._workers} workers", time.monotonic() - began)
            if self._ready in readable:
                told, self._announced = len(os.read(self._ready, 256)), True
                if waiting and waiting - told <= 0:
                    ready()
                waiting = max(waiting - told, 0)
            if self._woken in readable:
                signals = os.read(self._woken, 256)
                if signal.SIGTERM in signals or signal.SIGINT in signals:
                    logger.info("stopping the workers", extra={"workers": len(self._started)})
                    status = self._end()
                    logger.info("all workers have stopped")
                    return status
                if not self._replace_dead():
                    self._end()
                    return 1

    def _replace_dead(self) -> bool:
        """Replaces workers that have ended. False if one ended with HOPELESS: a new one would fail too."""
        ended = [(pid, status, self._started.pop(pid)) for pid, status in self._reap()]
        if any(status == HOPELESS for _, status, _ in ended):
            return False
        for pid, status, process in ended:
            logger.error("worker ended, starting another", extra={"pid": pid, "status": status})
            process.pulse.close()
            if time.monotonic() - process.began < RESTART_PAUSE:
                select.select([], [], [], RESTART_PAUSE)
            self._start(process.work)
        return True

    def _kill_hanging(self) -> None:
        """Every LOOK seconds: kills processes that hang. They are replaced like any that ends."""
        now = time.monotonic()
        if now - self._looked < pulse_module.LOOK:
            return
        self._looked = now
        for pid, process in self._started.items():
            if process.pulse.hangs(pid):
                logger.error("worker hangs, killing it", extra={"pid": pid})
                os.kill(pid, signal.SIGKILL)

    def _reap(self) -> list[tuple[int, int]]:
        """The workers that have ended, with their exit status."""
        ended = []
        for pid in list(self._started):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                ended.append((pid, os.waitstatus_to_exitcode(status)))
        return ended

    def _end(self) -> int:
        """Stops the workers, and kills those that do not end in time."""
        for pid in self._started:
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + self._patience
        while self._started and time.monotonic() < deadline:
            for pid, _ in self._reap():
                del self._started[pid]
            if self._started and select.select([self._woken], [], [], 0.5)[0]:
                os.read(self._woken, 256)
        for pid in self._started:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        return 0

    def _start(self, work: Work) -> None:
        process = _Process(work)
        pid = os.fork()
        if pid:
            self._started[pid] = process
            return
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for sig in _SIGNALS:
                signal.signal(sig, signal.SIG_DFL)
            os.close(self._held_by_parent)
            self._leave()
            threading.Thread(target=self._end_with_parent, name="parent-watch", daemon=True).start()
            status = work(ParentProcess(self._say_ready, process.pulse.beat, self._announced))
        except KeyboardInterrupt:
            status = 0
        except BaseException:
            logger.exception("worker failed")
        finally:
            logging.shutdown()
            os._exit(status)

    def _say_ready(self) -> None:
        os.write(self._tell_ready, b".")

    def _end_with_parent(self) -> None:
        os.read(self._parent_alive, 1)
        os.kill(os.getpid(), signal.SIGTERM)
