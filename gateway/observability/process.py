"""Metrics of the process and the interpreter, under the names of Prometheus' client libraries, and of the build."""

from __future__ import annotations

import gc
import os
import platform
import resource
import time
from pathlib import Path

from gateway.release.release import Release
from storage.instruments import BETA, counter, gauge

CPU = counter("process_cpu_seconds_total", "CPU time of the process.", level="")
RESIDENT = gauge("process_resident_memory_bytes", "Resident memory of the process.", level="")
VIRTUAL = gauge("process_virtual_memory_bytes", "Virtual memory of the process.", level="")
STARTED = gauge("process_start_time_seconds", "When the process started, since the epoch.", level="", across="max")
OPEN = gauge("process_open_fds", "Open file descriptors.", level="")
MOST_OPEN = gauge("process_max_fds", "File descriptors that may be open.", level="", across="max")
MOST_VIRTUAL = gauge(
    "process_virtual_memory_max_bytes", "Virtual memory that the process may have.", level="", across="max"
)
RECEIVED = counter("process_network_receive_bytes_total", "Bytes received by the network.", level="")
SENT = counter("process_network_transmit_bytes_total", "Bytes sent by the network.", level="")
CLOCK = gauge("process_time_seconds", "The process' clock.", level="", across="max")
COLLECTIONS = counter("python_gc_collections_total", "Garbage collections.", "generation", level="")
COLLECTED = counter(
    "python_gc_objects_collected_total", "Objects that garbage collections freed.", "generation", level=""
)
PYTHON = gauge("python_info", "The interpreter.", "implementation", "version", level="", across="max")
BUILD = gauge(
    "kubernetes_build_info",
    "Version and build of the server.",
    "major",
    "minor",
    "git_version",
    "git_commit",
    "git_tree_state",
    "build_date",
    "go_version",
    "compiler",
    "platform",
    level=BETA,
    across="max",
)

_BUILD = ("major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform")


def follow(release: Release) -> None:
    """Makes the families report on this process."""
    CPU.reads(lambda: {(): time.process_time()})
    RESIDENT.reads(lambda: {(): _statm(1)})
    VIRTUAL.reads(lambda: {(): _statm(0)})
    STARTED.reads(lambda: {(): began()})
    OPEN.reads(lambda: {(): _descriptors()})
    MOST_OPEN.reads(lambda: {(): resource.getrlimit(resource.RLIMIT_NOFILE)[0]})
    MOST_VIRTUAL.reads(lambda: {(): max(resource.getrlimit(resource.RLIMIT_AS)[0], -1)})
    RECEIVED.reads(lambda: {(): _octets("InOctets")})
    SENT.reads(lambda: {(): _octets("OutOctets")})
    CLOCK.reads(lambda: {(): time.time()})
    COLLECTIONS.reads(lambda: {(str(index),): each["collections"] for index, each in enumerate(gc.get_stats())})
    COLLECTED.reads(lambda: {(str(index),): each["collected"] for index, each in enumerate(gc.get_stats())})
    PYTHON.labels(platform.python_implementation(), platform.python_version()).set(1)
    info = release.version_info()
    BUILD.labels(*(str(info.get(name, "")) for name in _BUILD)).set(1)


def _statm(field: int) -> int:
    """A field of /proc/self/statm in bytes; 0 where the system has no such file."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[field])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _octets(field: str) -> int:
    """A counter of the process's network namespace, by its name in /proc/self/net/netstat; 0 where there is none."""
    try:
        names, values = (
            line.split()
            for line in Path("/proc/self/net/netstat").read_text(encoding="ascii").splitlines()
            if line.startswith("IpExt:")
        )
        return int(values[names.index(field)])
    except (OSError, ValueError):
        return 0


def _descriptors() -> int:
    try:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:
        return 0


def began() -> float:
    """When this process started, in seconds since the epoch.

    It is read from the kernel. The time of the import may be earlier, as the process may be forked from a template.
    """
    try:
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        boot = next(line for line in Path("/proc/stat").read_text(encoding="ascii").splitlines() if "btime" in line)
        return int(boot.split()[1]) + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return time.time()
