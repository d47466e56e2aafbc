"""Passes each request to the control plane that its path or host names, and all other requests to the root."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from gateway.clusters.awake import Answering, Awake
from gateway.clusters.definition import GROUP, PLURAL, READY
from gateway.clusters.operations import HEALTH
from gateway.clusters.paths import PREFIX, below_issuer, named, names_of, within
from gateway.clusters.recording import recorded
from gateway.clusters.row import ClusterRow
from gateway.clusters.table import Table
from gateway.flowcontrol.level import Refused
from gateway.flowcontrol.limiter import too_many
from gateway.http.exchange import JSON_TYPE, TEXT_TYPE, Header, audit_id
from gateway.http.failures import as_status
from gateway.http.send import NO_CACHE, Send
from gateway.http.status import StatusError, not_found
from gateway.requests.context import Receive, Scope
from gateway.requests.plain_answers import NO_SNIFF
from storage.errors import StorageError

_WAKING_TIMEOUT = 60.0  # seconds


def with_clusters(root: Answering, table: Table, domain: str = "") -> Answering:
    """The ASGI application of a process with control planes; `root` answers all paths that are not below /clusters.

    With a `domain`, a host NAME.DOMAIN is a control plane whatever the path is.
    """

    def answer(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["raw_path"].startswith(PREFIX):
            return _below(table, named(scope["raw_path"]), scope, receive, send)
        return root(scope, receive, send)

    if not domain:
        return answer
    name_of = names_of(domain)

    def answer_by_host(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        name = name_of(scope["headers"])
        if name is None:
            return answer(scope, receive, send)
        return _below(table, (name, scope["raw_path"]), scope, receive, send)

    return answer_by_host


async def _below(table: Table, found: tuple[str, bytes] | None, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers a request for a control plane and a path within it."""
    try:
        if found is None:
            raise StatusError(404, "NotFound", "this path names no control plane")
        row = await _row(table, found[0])
        row.requests += 1
        awake = row.awake or await _woken(table, row, scope, found[1])
    except (StatusError, StorageError) as error:
        told = as_status(error)
        about = scope if found is None else within(scope, found[1], found[0])
        send = await recorded(table.audit, about, receive, send, told)
        await _say(told.code, told.body(), [(b"content-type", JSON_TYPE), *told.headers], scope, send)
        return
    if awake is None:
        await _say(200, b"ok", [(b"content-type", TEXT_TYPE)], scope, send)
    else:
        below = within(scope, below_issuer(found[1], row.described.uid), found[0])
        try:
            await awake.answer(below, receive, send)
        except Refused as refused:
            answer = too_many(refused)
            assert isinstance(answer.body, bytes)
            send = await recorded(table.audit, below, receive, send, None)
            await _say(answer.status, answer.body, [(b"content-type", TEXT_TYPE), *answer.headers], scope, send)


async def _row(table: Table, name: str) -> ClusterRow:
    """The row of a control plane that is made. Raises StatusError 404 and 503."""
    row = table.row(name) or await _known(table, name)
    if row is None:
        raise not_found(GROUP, PLURAL, name)
    if row.described.phase != READY:
        retry = [(b"retry-after", b"1")]
        raise StatusError(503, "ServiceUnavailable", "the control plane is being made", headers=retry)
    return row


async def _woken(table: Table, row: ClusterRow, scope: Scope, below: bytes) -> Awake | None:
    """The control plane of a row, loaded for a request of the path `below`. None for a health check, which does not
    load the control plane. Raises StatusError 401, 403, 404, 503 and 504, StorageError.
    """
    if below in HEALTH:
        return None
    await table.admit(row, scope)
    try:
        awake = await asyncio.wait_for(table.awake(row), _WAKING_TIMEOUT)
    except TimeoutError:
        raise StatusError(504, "Timeout", "the control plane could not be loaded in time") from None
    if awake.ended:  # it was deleted while it was loaded
        raise not_found(GROUP, PLURAL, row.described.name)
    return awake


async def _known(table: Table, name: str) -> ClusterRow | None:
    """The row of a name once the server knows which control planes exist. Raises StatusError 503."""
    try:
        await asyncio.wait_for(table.ready.wait(), _WAKING_TIMEOUT)
    except TimeoutError:
        raise StatusError(503, "ServiceUnavailable", "the control planes are not loaded yet") from None
    return table.row(name)


async def _say(status: int, body: bytes, headers: list[Header], scope: Scope, send: Send) -> None:
    """Sends an answer without a control plane."""
    headers = [
        *(each for each in headers if each != NO_SNIFF),
        *(NO_SNIFF, (b"cache-control", NO_CACHE), (b"audit-id", audit_id(dict(scope["headers"])))),
        (b"content-length", b"%d" % len(body)),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
