"""Answers a page of a collection as a list object. The items are encoded in time slices; the result is cached if others
may ask for it.

A page that is too large for the cache is encoded while it is sent, as fast as the client reads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence

from gateway.encodings.encoder import Encoder, Lasting
from gateway.encodings.list_meta import ListMeta
from gateway.encodings.rendering_budget import JoinedItems, Permit, Renderings
from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.http.time_slices import next_turn
from gateway.reading.list_options import ListOptions
from storage import continuation
from storage.entry import Entry
from storage.reads import Page

MEMORABLE = 128  # items; pages with fewer are not cached
MANY = 1000  # items; before a loop over more, the request waits for its turn
MEMOS = 4  # cached answers for each resource, until its next change
SMALL = 64 * 1024  # bytes; up to this size an answer is one bytes object
MEDIUM = 1 << 20  # bytes; up to this size an answer is never streamed
PIECE = 64 * 1024  # bytes of a streamed answer that are sent at once
APART = 16 * 1024  # bytes of JSON; larger parts are converted to YAML in another process
_APART_STEP = 64 * 1024
LARGE = 256 * 1024  # bytes of a piece that is not cached; most are smaller, and reuse memory that was just freed


async def answer_page(
    endpoint: Endpoint, request: Request, page: Page, prefix: bytes, options: ListOptions
) -> Response:
    """The list object of a page, which `read_page` has returned. Raises StatusError 429."""
    encoder, renderings = endpoint.encoder(request.representation), endpoint.services.renderings
    meta, entries = _meta(page, prefix, options), page.entries
    if endpoint.versions.converts:
        entries = list(await endpoint.versions.all(entries))
    query: tuple[object, ...] | None = None
    if _is_memorable(endpoint, encoder, page):
        query = (encoder, prefix, *options.selectors, options.limit, entries[0].key)
        found = endpoint.cache.memo.get(query)
        if isinstance(found, JoinedItems) and found.entries == len(entries):
            renderings.use(found)
            return _whole(encoder, meta, await _present_groups(found, encoder, entries), found)
    if len(entries) > MANY:
        await next_turn()
    size = sum([len(entry.piece) for entry in entries])
    if size > MEDIUM and encoder.streamable and (query is None or not renderings.fits(size)):
        body = _streamed(renderings.place(), renderings, encoder, meta, entries)
        return Response(200, body, encoder.content_type, encoded=True, finite=True)
    if query is None and size <= MEDIUM:
        return _whole(encoder, meta, await _join(renderings, encoder, entries), None, len(entries))
    joined = renderings.join(size, len(entries))
    joined.groups = asyncio.ensure_future(_join(renderings, encoder, entries, joined))
    if query is not None:
        memo = endpoint.cache.memo
        if len(memo) >= MEMOS:
            memo.clear()
        renderings.keep(joined, memo, query)
    return _whole(encoder, meta, await _groups_of(joined), joined)


def _meta(page: Page, prefix: bytes, options: ListOptions) -> ListMeta:
    """The list's metadata. remainingItemCount is left out with a selector, since it would only be a guess."""
    if page.next_key is None:
        return ListMeta(page.revision, shard=options.shard_selector)
    token = continuation.encode(page.next_key, prefix, page.revision)
    remaining = page.remaining if options.match is None else None
    return ListMeta(page.revision, token, remaining, options.shard_selector)


def _is_memorable(endpoint: Endpoint, encoder: Encoder, page: Page) -> bool:
    """Whether the encoded items may be cached: they are many, and of the present state of the resource."""
    many = encoder.memorable and len(page.entries) >= MEMORABLE
    return many and page.present and page.revision >= endpoint.cache.changed


class _Body(list[bytes]):
    """The pieces of an answer. `joined` keeps their memory counted until they are sent."""

    __slots__ = ("joined",)
    joined: JoinedItems | None


def _whole(
    encoder: Encoder, meta: ListMeta, groups: Sequence[bytes], joined: JoinedItems | None, count: int = 0
) -> Response:
    """The answer of all groups of items; `count` is their number if there is no `joined`."""
    body = _Body(encoder.list(meta, groups, joined.entries if joined else count))
    body.joined = joined
    if sum(map(len, body)) <= SMALL:
        return Response(200, b"".join(body), encoder.content_type, encoded=True)
    return Response(200, body, encoder.content_type, encoded=True)


async def _groups_of(joined: JoinedItems) -> list[bytes]:
    groups = joined.groups
    return groups.result() if groups.done() else await asyncio.shield(groups)


async def _streamed(
    place: Permit, renderings: Renderings, encoder: Encoder, meta: ListMeta, entries: Sequence[Entry]
) -> AsyncIterator[bytes]:
    """A list's body, encoded while it is sent. It holds `place` until it ends or is closed."""
    before, after = encoder.list(meta, (), len(entries))
    pending, size = [before], len(before)
    async for group in _groups(renderings, encoder, entries, LARGE):
        pending.append(group)
        size += len(group)
        if size >= PIECE:
            yield b"".join(pending)
            pending, size = [], 0
    yield b"".join([*pending, after])
    del place


async def _present_groups(joined: JoinedItems, encoder: Encoder, entries: Sequence[Entry]) -> list[bytes]:
    """The groups for now: those that depend on the time, such as ages in a Table, are renewed when they expire.
    Concurrent callers share one renewal.
    """
    groups = await _groups_of(joined)
    lasting = encoder.lasting
    if lasting is None or not (stale := _stale(joined)):
        return groups
    if joined.groups.done():
        joined.groups = asyncio.ensure_future(_renewed(joined, lasting, entries, groups, stale))
    return await _groups_of(joined)


def _stale(joined: JoinedItems) -> list[int]:
    now = time.time()
    return [index for index, (_, _, until) in enumerate(joined.parts) if until <= now]


async def _renewed(
    joined: JoinedItems, lasting: Lasting, entries: Sequence[Entry], groups: Sequence[bytes], stale: Sequence[int]
) -> list[bytes]:
    present = list(groups)
    for index in stale:
        start, end, _ = joined.parts[index]
        await next_turn()
        present[index], until = lasting(entries[start:end], not start)
        joined.parts[index] = start, end, until
    return present


async def _join(
    renderings: Renderings, encoder: Encoder, entries: Sequence[Entry], joined: JoinedItems | None = None
) -> list[bytes]:
    lasting = encoder.lasting
    if joined is None or lasting is None:
        step = LARGE if joined is None else encoder.step
        return [group async for group in _groups(renderings, encoder, entries, step)]
    groups = []
    for start, end in _steps(entries, encoder.step):
        await next_turn()
        group, until = lasting(entries[start:end], not start)
        groups.append(group)
        joined.parts.append((start, end, until))
    return groups


async def _groups(
    renderings: Renderings, encoder: Encoder, entries: Sequence[Entry], most: int
) -> AsyncIterator[bytes]:
    """Encodes the items in steps of about `most` bytes at most; waits for its turn before each step."""
    as_json = encoder.apart
    for start, end in _steps(entries, min(most, encoder.step) if as_json is None else _APART_STEP):
        part = entries[start:end] if start or end < len(entries) else entries
        if as_json is not None and sum([entry.size for entry in part]) > APART:
            yield await renderings.apart.yaml(as_json.json_items(part))
        else:
            await next_turn()
            yield encoder.items(part, first=not start)


def _steps(entries: Sequence[Entry], step: int) -> Iterator[tuple[int, int]]:
    """Yields (start, end) of pieces of the entries, of about `step` bytes at most.

    Large pieces mostly end at keys with certain hashes. So the pieces behind a changed one stay the same, and so does
    the cache of their compressed form (gateway/http/packed_pieces.py).
    """
    start = size = 0
    enough, chance = (step // 2, step // 4) if step >= LARGE else (step, 1)
    for index, entry in enumerate(entries, 1):
        size += entry.size
        if (size >= enough and (size >= step or hash(entry.key) % chance < entry.size)) or index == len(entries):
            yield start, index
            start, size = index, 0
