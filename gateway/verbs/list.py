"""LIST: a collection, whole or in chunks ("Retrieving large results sets in chunks", "Semantics for get and list").

Which state is served follows the table of resourceVersion, resourceVersionMatch, limit and continue:

    continue                      the token's revision exactly, or the latest (-1)
    Exact, or a version + limit   that version exactly
    version (NotOlderThan)        the cache once it has reached it
    0                             the cache as it is, the limit ignored
    unset                         the cache once it is as new as etcd was when the request arrived
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from gateway.http.exchange import ListBody, Request, Response
from gateway.http.status import bad_request, expired
from gateway.jsontypes import dumps
from gateway.kinds.resource import Resource
from gateway.server import Gateway
from gateway.verbs.list_options import EXACT, NOT_OLDER_THAN, ListOptions, list_options, parse_resource_version
from gateway.verbs.serving import Served
from gateway.verbs.too_large import too_large
from storage import continuation
from storage.entry import Entry
from storage.errors import Compacted, FutureRevision
from storage.reads import Page, Reads, TooLargeRevision

CHUNK = 1 << 20  # bytes of a body joined and sent at once
CONVERTED = 64  # items converted to another version before others get their turn
MEMORABLE = 128  # items from which it pays to keep them joined
MEMOS = 4  # answers kept a resource until its next change

_TOO_OLD = "The resourceVersion for the provided list is too old."
_TOKEN_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter, or use the continue token in this response to retrieve "
    "the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that "
    "were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


async def list_(gateway: Gateway, request: Request, resource: Resource) -> Response:
    """Answers a list of the objects' bytes. Raises StatusError 400, 410, 422 and 504."""
    served = gateway.served[resource.group, resource.version, resource.resource]
    options = list_options(request, served.selectable, watch=False)
    prefix = served.collection(request.info.namespace)
    page = await read_page(gateway.store.reads, served, prefix, options)
    return await answer_page(served, page, prefix, options)


async def answer_page(served: Served, page: Page, prefix: bytes, options: ListOptions) -> Response:
    """The list object for a page that `read_page` gave."""
    head = _head(served, page, prefix, options.match is None)
    groups = await _joined(served, page, (prefix, options.label_selector, options.field_selector, options.limit))
    if len(groups) <= 1:
        return Response(200, b"%b%b]}\n" % (head, groups[0] if groups else b""))
    return Response(200, ListBody([head, *groups, b"]}\n"]))


async def read_page(reads: Reads, served: Served, prefix: bytes, options: ListOptions) -> Page:
    """The part of the collection that the options ask for. Raises StatusError 400, 410 and 504."""
    try:
        if options.continuation:
            return await _continued(reads, served, prefix, options)
        if options.name and (prefix != served.cache.spec.prefix or not served.resource.namespaced):
            return await _one(reads, served, prefix + options.name.encode(), options)
        return await _first(reads, served, prefix, options)
    except TooLargeRevision as error:
        raise too_large(error) from None


async def _first(reads: Reads, served: Served, prefix: bytes, options: ListOptions) -> Page:
    revision = _revision(options.resource_version)
    limit, match = max(options.limit, 0), options.match
    exactly = options.resource_version_match == EXACT or (limit and options.resource_version_match != NOT_OLDER_THAN)
    if revision and exactly:
        try:
            return await reads.page_at(served.cache, prefix, prefix, limit, match, revision)
        except Compacted:
            raise expired(_TOO_OLD) from None
        except FutureRevision:
            raise TooLargeRevision(revision, reads.reached) from None
    if revision:
        cached = await reads.not_older_than(revision)
    elif options.resource_version:
        cached, limit = True, 0
    else:
        cached = await reads.fresh()
    page = reads.page if cached else reads.page_direct
    return await page(served.cache, prefix, prefix, limit, match)


async def _one(reads: Reads, served: Served, key: bytes, options: ListOptions) -> Page:
    """A collection narrowed to one name: a limit means nothing to it, not even that the version is meant exactly."""
    return await _first(reads, served, key, replace(options, limit=0))


async def _continued(reads: Reads, served: Served, prefix: bytes, options: ListOptions) -> Page:
    try:
        start, revision = continuation.decode(options.continuation, prefix)
    except continuation.InvalidToken as error:
        raise bad_request(f"invalid continue token: {error}") from None
    if options.resource_version and options.resource_version != "0":
        _revision(options.resource_version)
        raise bad_request("specifying resource version is not allowed when using continue")
    limit = max(options.limit, 0)
    if revision < 0:
        page = reads.page if await reads.fresh() else reads.page_direct
        return await page(served.cache, prefix, start, limit, options.match)
    try:
        return await reads.page_at(served.cache, prefix, start, limit, options.match, revision)
    except Compacted:
        gone = expired(_TOKEN_TOO_OLD)
        gone.continuation = continuation.encode(start, prefix, continuation.INCONSISTENT)
        raise gone from None
    except FutureRevision:
        raise TooLargeRevision(revision, reads.reached) from None


def _revision(text: str) -> int:
    return parse_resource_version(text, "invalid resource version: ", 400, "BadRequest")


def _head(served: Served, page: Page, prefix: bytes, counted: bool) -> bytes:
    """Everything before the items. remainingItemCount is only told where no selector makes it a guess."""
    more = b""
    if page.next_key is not None:
        token = continuation.encode(page.next_key, prefix, page.revision)
        more = b',"continue":' + dumps(token)
        if counted:
            more += b',"remainingItemCount":%d' % page.remaining
    return b'%s%d"%s},"items":[' % (served.list_head, page.revision, more)


async def _joined(served: Served, page: Page, query: tuple[object, ...]) -> list[bytes]:
    """The items' bytes in pieces of about CHUNK; of many items they are kept for others until the resource changes."""
    entries = page.entries
    if len(entries) < MEMORABLE or not page.present or page.revision < served.cache.changed:
        return await _join(served, entries)
    memo, key = served.cache.memo, (served.head, *query, entries[0].key)
    found = memo.get(key)
    if not isinstance(found, _Remembered) or found.entries != len(entries):
        if len(memo) >= MEMOS:
            memo.clear()
        found = memo[key] = _Remembered(asyncio.ensure_future(_join(served, entries)), len(entries))
    return found.groups.result() if found.groups.done() else await asyncio.shield(found.groups)


class _Remembered:
    __slots__ = ("entries", "groups")

    def __init__(self, groups: asyncio.Future[list[bytes]], entries: int) -> None:
        self.groups, self.entries = groups, entries


async def _join(served: Served, entries: list[Entry]) -> list[bytes]:
    """Others get their turn after each piece."""
    groups: list[bytes] = []
    tails: list[bytes] = []
    size, convert, tail = 0, served.convert is not None, served.tail
    for entry in entries:
        item = tail(entry) if convert else entry.tail
        tails.append(item)
        size += len(item)
        if size >= CHUNK or (convert and not len(tails) % CONVERTED):
            groups.append(_items(tails, first=not groups))
            tails, size = [], 0
            await asyncio.sleep(0)
    if tails:
        groups.append(_items(tails, first=not groups))
    return groups


def _items(tails: list[bytes], first: bool) -> bytes:
    tails[0] = (b"{" if first else b",{") + tails[0]
    return b",{".join(tails)
