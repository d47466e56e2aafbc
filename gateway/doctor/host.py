"""Checks this machine: the port, file descriptors, disk space, the clock."""

from __future__ import annotations

import os
import resource
import shutil
import ssl
import time
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

from gateway.doctor.finding import Finding, fail, graded, ok, warn
from gateway.launch.ports import listen, loopback
from gateway.outbound.client import Client, Reply
from gateway.outbound.errors import CallError
from gateway.outbound.request import OutboundRequest
from gateway.outbound.target import Target
from gateway.outbound.trust import TlsContext, trusting
from gateway.schema.outside import read_object
from gateway.settings.config import Settings

FEW, TOO_FEW = 8192, 1024  # file descriptors: WARN and FAIL
LITTLE, TOO_LITTLE = 1 << 30, 100 << 20  # bytes of free disk space: WARN and FAIL
SKEW, WILD = 2.0, 60.0  # seconds between clocks: WARN and FAIL; a Date header has whole seconds only
TIMEOUT = 3.0


async def examine(settings: Settings) -> list[Finding]:
    """The findings about this machine."""
    return [*await _port(settings), descriptors(), *disks(settings), *await _clocks(settings)]


async def _port(settings: Settings) -> list[Finding]:
    address, port = settings.bind_address, settings.secure_port
    check = f"port {port}"
    try:
        with listen(address, port, shared=False, permitted=settings.permit_port_sharing):
            return [ok(check, "the port is free")]
    except OSError as error:
        reason = error.strerror or str(error)
    answer = await _answer(loopback(address), port, trusting("", insecure=True), "/version")  # nothing secret is sent
    if answer is not None and answer.status in (200, 401, 403):
        version = (read_object(answer.body) or {}).get("gitVersion", "")
        said = f"a Kubernetes API server uses it{f' ({version})' if version else ''}"
        return [warn(check, said, "this is fine if you check that server; otherwise choose another --secure-port")]
    return [fail(check, f"{address}:{port}: {reason}", "choose another --bind-address or --secure-port")]


def descriptors() -> Finding:
    """Checks the hard limit of file descriptors, to which a server raises its soft limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    said = f"{hard} at most" if hard != resource.RLIM_INFINITY else "any number"
    remedy = "raise the hard limit: `ulimit -Hn`, LimitNOFILE of systemd, --ulimit of docker"
    count = hard if hard != resource.RLIM_INFINITY else FEW + 1
    return graded("file descriptors", said, -count, -FEW, -TOO_FEW, remedy)


def disks(settings: Settings) -> list[Finding]:
    """Checks the free space of the directories to which a server writes."""
    log = settings.audit_log_path
    places = {
        "--data-dir": settings.data_dir,
        "--audit-log-path": Path(log).parent if settings.audit_policy_file and log not in ("", "-") else None,
        "--cert-dir": None if settings.tls_cert_file else settings.cert_dir,
    }
    return [_disk(flag, path) for flag, path in places.items() if path is not None]


def _disk(flag: str, path: Path) -> Finding:
    check = f"{flag} {path}"
    there = path.absolute()
    while not there.exists():
        there = there.parent
    if not os.access(there, os.W_OK):
        return fail(check, f"no permission to write to {there}", "give another directory, or change its owner")
    free = shutil.disk_usage(there).free
    remedy = "free some space, or choose another place"
    return graded(check, f"{free / (1 << 30):.1f} GiB free", -free, -LITTLE, -TOO_LITTLE, remedy)


async def _clocks(settings: Settings) -> list[Finding]:
    """Compares this machine's clock with those of etcd's members, by the Date header of their HTTP answers."""
    skews = [(endpoint, await _skew(endpoint, settings)) for endpoint in settings.etcd_servers]
    found = [
        graded(
            f"clock of {endpoint}",
            f"differs by {skew:.0f} s" if skew >= SKEW else "same as here",
            skew,
            SKEW,
            WILD,
            "set both clocks by NTP: the validity of tokens and certificates depends on them",
        )
        for endpoint, skew in skews
        if skew is not None
    ]
    return found or [ok("clock", "no other clock to compare with")]


async def _skew(endpoint: str, settings: Settings) -> float | None:
    scheme, separator, _ = endpoint.partition("://")
    if scheme == "unix" or endpoint.startswith("unix:"):
        return None
    parts = urlsplit(endpoint if separator else f"//{endpoint}")
    secure = scheme == "https" if separator else bool(settings.etcd_cafile or settings.etcd_certfile)
    try:
        context = _client_context(settings) if secure else None
    except (OSError, ssl.SSLError):
        return None
    began = time.time()
    answer = await _answer(parts.hostname or "", parts.port or 2379, context, "/version")
    date = answer.header("date") if answer is not None else ""
    if not date:
        return None
    try:
        told = parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None
    ended = time.time()
    return max(0.0, began - (told + 1), told - ended)  # `told` is cut to whole seconds


async def _answer(host: str, port: int, context: TlsContext | None, path: str) -> Reply | None:
    client = Client()
    try:
        return await client.call(
            Target(host, port, context), OutboundRequest("GET", path, ((b"accept", b"*/*"),)), TIMEOUT, 1 << 20
        )
    except CallError:
        return None
    finally:
        client.close()


def _client_context(settings: Settings) -> TlsContext:
    context = trusting(Path(settings.etcd_cafile).read_text() if settings.etcd_cafile else "")
    if settings.etcd_certfile and settings.etcd_keyfile:
        context.load_cert_chain(settings.etcd_certfile, settings.etcd_keyfile)
    return context
