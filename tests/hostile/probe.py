"""Measures how a request affects others: by a GET every 20 ms from another process, and by the server's memory.

A wait counts as far as the process that computed most used CPU time in it: other load on the machine makes the wait
longer, but not that. Only the time for which the probe itself waited for a core is taken off. The waits of the server's
threads are not: a thread that waits for the GIL asks for it every 5 ms, and needs a core to ask. Such a wait overlaps
with the work of the thread that holds the GIL, and seconds of work would count as nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import http.client
import json
import os
import select
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from apiserver_gateway.testing import ApiServer
from tests.limits import at_most_cpu, note

INTERVAL = 0.02  # seconds between two GETs
PATH = "/api/v1/namespaces/default?resourceVersion=0"
PATIENCE = 60.0  # seconds that one GET may take before the probe gives up
MEGABYTE = 1 << 20
_UNRELATED = 8 * MEGABYTE  # that a server's memory may vary by without large bodies


@dataclass(slots=True)
class Report:
    """The result: `worst` is the longest delay of a GET in seconds; `wall` includes the time that other load took."""

    count: int = 0
    worst: float = 0.0
    wall: float = 0.0
    failures: int = 0  # answers other than 200, and broken connections


class _Prober:
    """A process that sends GETs to one server after another: a start costs more than most blocks do.

    It ends with this process. A line names a server, and the next line tells that it is enough. Each has an answer.
    """

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.hostile.probe"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def told(self, line: str) -> str:
        """The answer to a line; "" if the process has ended."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        return self._process.stdout.readline()

    def end(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()


_idle: list[_Prober] = []


@atexit.register
def _end_idle() -> None:
    for each in _idle:
        each.end()


@contextlib.contextmanager
def probing(server: ApiServer) -> Iterator[Report]:
    """Sends GETs while the block runs. The report is complete when the block is left."""
    report, prober = Report(), _idle.pop() if _idle else _Prober()
    asked = json.dumps([server.url, str(server.ca_file), server.pid, server.token])
    assert prober.told(asked) == "asking\n"
    try:
        yield report
    finally:
        said = prober.told("enough")
        for name, value in json.loads(said or '{"failures": 1}').items():
            setattr(report, name, value)
        if said:
            _idle.append(prober)
        else:
            prober.end()


@contextlib.contextmanager
def held_at_most(server: ApiServer, seconds: float) -> Iterator[Report]:
    """Asserts that no other request waits longer than the limit, or gets no answer, while the block runs."""
    with probing(server) as report:
        yield report
    assert report.failures == 0, f"{report.failures} of {report.count} GETs failed"
    at_most_cpu(report.worst, seconds, "a GET was held for {found:.3f} s, {limit:.3f} s are allowed")


def memory(pid: int) -> int:
    """The private memory of a server's processes in bytes, including swapped pages."""
    total = 0
    for each in processes(pid):
        with contextlib.suppress(OSError):
            rollup = Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii").splitlines()
            fields = {line.split(":")[0]: line.split()[1] for line in rollup[1:]}
            total += sum(int(fields[name]) for name in ("Private_Clean", "Private_Dirty", "Swap")) * 1024
    return total


def processes(pid: int) -> list[int]:
    """The server's process and, with --workers, its worker processes; not the process of its etcd."""
    command = _command(pid)
    if b"--workers=" not in command:
        return [pid]
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [pid, *(child for child in map(int, children) if _command(child) == command)]


def _command(pid: int) -> bytes:
    """The command line of a process; b"" if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@contextlib.contextmanager
def memory_returns(server: ApiServer, *, share: float = 0.2, patience: float = 60.0) -> Iterator[None]:
    """Asserts that the server's memory returns to within `share` of its size before, in at most `patience` seconds."""
    before = memory(server.pid)
    yield
    deadline, now = time.monotonic() + patience, memory(server.pid)
    while now > before * (1 + share) and time.monotonic() < deadline:
        select.select([], [], [], 0.1)
        now = memory(server.pid)
    _judge_memory(now, before * (1 + share), patience, patience - (deadline - time.monotonic()))


@contextlib.contextmanager
def kept_at_most(server: ApiServer, sent: int, *, times: int = 10, patience: float = 60.0) -> Iterator[None]:
    """Asserts that the server soon keeps at most `times` the bytes that are sent in the block, and a little more.

    A little: what the allocator and the first use of a feature keep, whatever is sent.
    """
    before = memory(server.pid)
    yield
    limit = before + times * sent + _UNRELATED
    deadline, now = time.monotonic() + patience, memory(server.pid)
    while now > limit and time.monotonic() < deadline:
        select.select([], [], [], 0.1)
        now = memory(server.pid)
    _judge_memory(now, limit, patience, patience - (deadline - time.monotonic()))


def _judge_memory(now: float, limit: float, patience: float, waited: float) -> None:
    """Asserts that so much was allowed. What comes near to a limit here is the wait: it ends just below `limit`."""
    assert now <= limit, f"{now / MEGABYTE:.0f} MB are in use, {limit / MEGABYTE:.0f} are allowed"
    note(waited, patience, "memory was back after {found:.1f} s, {limit:.0f} s are allowed")


def is_alive(server: ApiServer) -> bool:
    """Whether the server's process runs."""
    try:
        return Path(f"/proc/{server.pid}/stat").read_text(encoding="ascii").rpartition(") ")[2][0] != "Z"
    except (OSError, AssertionError):  # the server was not started, or its process has ended
        return False


def cpu_seconds(pid: int) -> float:
    """The CPU time in seconds that a server's processes have used until now."""
    return sum(_cpu_of_each(pid).values())


def _cpu_of_each(pid: int) -> dict[int, float]:
    found: dict[int, float] = {}
    for each in processes(pid):
        with contextlib.suppress(OSError):
            for task in os.scandir(f"/proc/{each}/task"):
                with contextlib.suppress(OSError):  # the thread has just ended; the others still count
                    found[each] = found.get(each, 0.0) + _schedstat(task.path)[0]
    return found


def held_for(wall: float, withheld: float, before: Mapping[int, float], until: Mapping[int, float]) -> float:
    """How long a server held a request that took `wall` seconds.

    `withheld` is how long the client waited for a core; `before` and `until` are the CPU seconds of each process.
    """
    computed = max((until[pid] - before.get(pid, 0.0) for pid in until), default=0.0)
    return max(min(wall - withheld, computed), 0.0)


def _schedstat(process: str) -> tuple[float, float]:
    """The seconds that a process or thread has computed, and has waited for a core."""
    computed, waited = Path(process, "schedstat").read_text(encoding="ascii").split()[:2]
    return int(computed) / 1e9, int(waited) / 1e9


def _ask_until_told(url: str, ca_file: str, pid: int, token: str) -> Report:
    report = Report()
    context = ssl.create_default_context(cafile=ca_file)
    host = url.removeprefix("https://")
    connection = http.client.HTTPSConnection(host, timeout=PATIENCE, context=context)
    connection.connect()
    while True:
        used, waited, began = _cpu_of_each(pid), _schedstat("/proc/self")[1], time.monotonic()
        try:
            connection.request("GET", PATH, headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            answer.read()
            report.failures += answer.status != 200
        except (OSError, http.client.HTTPException):
            report.failures += 1
            connection.close()
            if not Path(f"/proc/{pid}").exists():
                if not report.count:
                    print("asking", flush=True)  # the test waits for it
                sys.stdin.readline()
                return report
        wall = time.monotonic() - began
        with contextlib.suppress(OSError):
            withheld = _schedstat("/proc/self")[1] - waited
            report.worst = max(report.worst, held_for(wall, withheld, used, _cpu_of_each(pid)))
        report.wall = max(report.wall, wall)
        report.count += 1
        if report.count == 1:
            print("asking", flush=True)
        if select.select([sys.stdin], [], [], max(INTERVAL - wall, 0))[0]:
            connection.close()
            sys.stdin.readline()
            return report


if __name__ == "__main__":
    while asked := sys.stdin.readline():
        found = _ask_until_told(*json.loads(asked))
        print(json.dumps({name: getattr(found, name) for name in Report.__slots__}), flush=True)
