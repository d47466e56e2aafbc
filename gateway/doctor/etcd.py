"""Checks etcd: its members, their versions, latencies, and database sizes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from gateway.doctor.finding import Finding, fail, graded, ok, warn
from storage.backups.marker import RestoreUnfinished, check_restored
from storage.errors import NoSpace, StorageError
from storage.etcd import ClusterState, EtcdClient, EtcdSettings, MemberStatus
from storage.etcd.operations import mod_revision_is, put
from storage.etcd.permanent_errors import ONCE, hopeless, tls_trouble
from storage.versions import OLDEST, parse_version, progress_notifications_correct, survives_kill

TIMEOUT = 3.0
PROBES = 5
SLOW_READ, HOPELESS_READ = 0.05, 1.0  # seconds
SLOW_WRITE, HOPELESS_WRITE = 0.1, 2.0
FULL, OVERFULL = 0.8, 0.95  # shares of the quota
LOOSE, WORTH_IT = 0.5, 100 << 20  # the share of the database in use, and the size in bytes, that suggest to defragment
NEVER = (1 << 63) - 1  # a revision that no key has
LAG = 1000  # the normal difference between the revisions of members, at most


@dataclass(frozen=True, slots=True)
class EndpointAnswers:
    """The answers of one endpoint."""

    endpoint: str
    status: MemberStatus
    head: ClusterState


async def examine(etcd: EtcdSettings, prefix: str) -> list[Finding]:
    """The findings about an etcd."""
    answers = await asyncio.gather(*(_ask(etcd, endpoint, prefix) for endpoint in etcd.endpoints))
    members = [answer for answer in answers if isinstance(answer, EndpointAnswers)]
    away = [answer for answer in answers if isinstance(answer, Finding)]
    if not members:
        return away
    quorum = len(etcd.endpoints) // 2 + 1
    if len(members) >= quorum:
        away = [warn(each.check, each.said, each.remedy) for each in away]
    found = [*away, *(finding for member in members for finding in _of_member(member)), *_together(members)]
    async with EtcdClient(replace(etcd, endpoints=tuple(member.endpoint for member in members))) as client:
        return [*found, *await _latencies(client, prefix), await _state(client, prefix)]


async def _ask(etcd: EtcdSettings, endpoint: str, prefix: str) -> EndpointAnswers | Finding:
    alone = replace(etcd, endpoints=(endpoint,))
    try:
        async with EtcdClient(alone) as client:
            status = await client.status(timeout=TIMEOUT)
            return EndpointAnswers(endpoint, status, await client.head(f"{prefix}/".encode(), timeout=TIMEOUT))
    except StorageError as error:
        said = hopeless(error) or await tls_trouble(alone, ONCE) or str(error)
        return fail(
            f"etcd {endpoint}", said, "check that etcd runs, that the URL is right, and that no firewall blocks it"
        )


def _of_member(member: EndpointAnswers) -> list[Finding]:
    check, status = f"etcd {member.endpoint}", member.status
    found = [_version(check, status.version)]
    if not status.leader:
        found.append(fail(check, "it has no leader", "check that a majority of the members run and reach each other"))
    if status.is_learner:
        found.append(warn(check, "it is a learner", "give only voting members as endpoints, or promote this one"))
    for error in status.errors:
        if "NOSPACE" in error:
            found.append(fail(check, "its database is full: etcd accepts only deletions", NoSpace.REMEDY))
        elif "CORRUPT" in error:
            found.append(fail(check, "it has the alarm CORRUPT", "replace the member whose data differs"))
    size, used, quota = status.db_size, status.db_size_in_use, status.db_quota
    said = f"database {_mib(size)}, {_mib(used)} in use" + (f", of {_mib(quota)}" if quota else "")
    share = size / quota if quota else 0.0
    remedy = "compact and defragment it, or raise --quota-backend-bytes"
    room = graded(check, said, share, FULL, OVERFULL, remedy)
    if size > WORTH_IT and used < LOOSE * size and share < FULL:
        room = warn(check, said, f"`etcdctl --endpoints={member.endpoint} defrag` returns the free space to the disk")
    return [*found, room]


def _version(check: str, version: str) -> Finding:
    newer = "use 3.5.13 or later; `apiserver-gateway etcd install` gets one"
    if parse_version(version) < OLDEST:
        return fail(check, f"version {version} is not supported", newer)
    if not survives_kill(version):
        return warn(check, f"version {version} may lose acknowledged writes when it is killed", newer)
    if not progress_notifications_correct(version):
        said = f"version {version} may report progress before it sends all events: some reads are slower for it"
        return warn(check, said, newer)
    return ok(check, f"version {version}")


def _together(members: Sequence[EndpointAnswers]) -> list[Finding]:
    if len({member.head.cluster for member in members}) > 1:
        return [fail("etcd cluster", "the endpoints are of different clusters", "give the members of one cluster")]
    found = []
    versions = {member.status.version for member in members}
    if len(versions) > 1:
        said = f"members have different versions: {', '.join(sorted(versions))}"
        found.append(warn("etcd cluster", said, "finish the upgrade"))
    leaders = {member.status.leader for member in members}
    if len(leaders) > 1:
        found.append(
            warn("etcd cluster", "members name different leaders", "run doctor again: an election may be under way")
        )
    revisions = [member.status.revision for member in members]
    if max(revisions) - min(revisions) > LAG:
        said = f"members' revisions differ by {max(revisions) - min(revisions)}"
        found.append(warn("etcd cluster", said, "check what slows the last member: disk, network or CPU"))
    count = len({member.status.member_id for member in members})
    return found or [ok("etcd cluster", f"{count} member{'s' * (count > 1)}, at revision {max(revisions)}")]


async def _latencies(client: EtcdClient, prefix: str) -> list[Finding]:
    key = f"{prefix}/apiserver-gateway/doctor".encode()
    never = [mod_revision_is(key, NEVER)], [put(key, b"")]  # goes through Raft like a write; writes nothing
    try:
        read = await _median(lambda: client.revision(key, timeout=TIMEOUT))
        found = graded(
            "etcd read",
            f"{read * 1000:.1f} ms",
            read,
            SLOW_READ,
            HOPELESS_READ,
            "check the network to etcd, and the load of its members",
        )
        write = await _median(lambda: client.txn(*never, timeout=TIMEOUT))
    except StorageError as error:
        return [fail("etcd latency", str(error), "read the log of etcd")]
    remedy = "give etcd its own disk with fast fsync (SSD)"
    return [found, graded("etcd write", f"{write * 1000:.1f} ms", write, SLOW_WRITE, HOPELESS_WRITE, remedy)]


async def _median(call: Callable[[], Awaitable[object]]) -> float:
    await call()  # connects
    taken = []
    for _ in range(PROBES):
        began = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - began)
    return median(taken)


async def _state(client: EtcdClient, prefix: str) -> Finding:
    try:
        await check_restored(client, prefix)
        count = (await client.prefix(f"{prefix}/".encode(), count_only=True)).count
    except RestoreUnfinished as error:
        return fail("etcd content", str(error), "run `apiserver-gateway restore` again")
    except StorageError as error:
        return fail("etcd content", str(error), "read the log of etcd")
    return ok("etcd content", f"{count} keys under {prefix}")


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"
