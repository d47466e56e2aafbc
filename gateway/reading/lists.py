"""A page of a collection as a list object: its items are encoded in time slices, and kept if that is worth it.

A page that is too large to be kept is encoded while it is sent, as fast as the client reads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence

from gateway.encodings.encoder import Ageing, Encoder
from gateway.encodings.list_meta import ListMeta
from gateway.encodings.rendering_budget import Joined, Place, Renderings
from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.http.time_slices import next_turn
from gateway.reading.list_options import ListOptions
from storage import continuation
from storage.entry import Entry
from storage.reads import Page

MEMORABLE = 128  # items from which it pays to keep them joined
MANY = 1000  # items; going through more takes noticeably long
MEMOS = 4  # answers kept a resource until its next change
SMALL = 64 * 1024  # bytes up to which an answer is one piece
MEDIUM = 1 << 20  # bytes up to which an answer is made as a whole in any case
PIECE = 64 * 1024  # bytes that are sent at once of what is made while it is sent
APART = 16 * 1024  # bytes of JSON from which another process is worth its while
_APART_STEP = 64 * 1024
LARGE = 256 * 1024  # bytes of a piece that is not kept: most are smaller, and come from memory that was just in use


async def answer_page(
    endpoint: Endpoint, request: Request, page: Page, prefix: bytes, options: ListOptions
) -> Response:
    """The list object for a page that `read_page` gave. Raises StatusError 429."""
    encoder, renderings = endpoint.encoder(request.representation), endpoint.services.renderings
    meta, entries = _meta(page, prefix, options), page.entries
    if endpoint.versions.converts:
        entries = list(await endpoint.versions.all(entries))
    query: tuple[object, ...] | None = None
    if _is_memorable(endpoint, encoder, page):
        query = (encoder, prefix, options.label_selector, options.field_selector, options.limit, entries[0].key)
        found = endpoint.cache.memo.get(query)
        if isinstance(found, Joined) and found.entries == len(entries):
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
    """remainingItemCount is only told where no selector makes it a guess."""
    if page.next_key is None:
        return ListMeta(page.revision)
    token = continuation.encode(page.next_key, prefix, page.revision)
    return ListMeta(page.revision, token, page.remaining if options.match is None else None)


def _is_memorable(endpoint: Endpoint, encoder: Encoder, page: Page) -> bool:
    """Whether the items, joined, are right for others who ask until the resource changes."""
    many = encoder.memorable and len(page.entries) >= MEMORABLE
    return many and page.present and page.revision >= endpoint.cache.changed


class _Body(list[bytes]):
    """An answer's pieces, with what they are counted by."""

    __slots__ = ("joined",)
    joined: Joined | None


def _whole(
    encoder: Encoder, meta: ListMeta, groups: Sequence[bytes], joined: Joined | None, count: int = 0
) -> Response:
    """The answer of all groups; `joined` stays counted until it is sent."""
    body = _Body(encoder.list(meta, groups, joined.entries if joined else count))
    body.joined = joined
    if sum(map(len, body)) <= SMALL:
        return Response(200, b"".join(body), encoder.content_type, encoded=True)
    return Response(200, body, encoder.content_type, encoded=True)


async def _groups_of(joined: Joined) -> list[bytes]:
    groups = joined.groups
    return groups.result() if groups.done() else await asyncio.shield(groups)


async def _streamed(
    place: Place, renderings: Renderings, encoder: Encoder, meta: ListMeta, entries: Sequence[Entry]
) -> AsyncIterator[bytes]:
    """A list's body, made as it is asked for; it has its place until it ends or is given up."""
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


async def _present_groups(joined: Joined, encoder: Encoder, entries: Sequence[Entry]) -> list[bytes]:
    """The groups as they are now: those whose time is over are made anew, once for all who ask."""
    groups = await _groups_of(joined)
    if not isinstance(encoder, Ageing) or not (stale := _stale(joined)):
        return groups
    if joined.groups.done():
        joined.groups = asyncio.ensure_future(_renewed(joined, encoder, entries, groups, stale))
    return await _groups_of(joined)


def _stale(joined: Joined) -> list[int]:
    now = time.time()
    return [index for index, (_, _, until) in enumerate(joined.parts) if until <= now]


async def _renewed(
    joined: Joined, encoder: Ageing, entries: Sequence[Entry], groups: Sequence[bytes], stale: Sequence[int]
) -> list[bytes]:
    present = list(groups)
    for index in stale:
        start, end, _ = joined.parts[index]
        await next_turn()
        present[index], until = encoder.lasting(entries[start:end], first=not start)
        joined.parts[index] = start, end, until
    return present


async def _join(
    renderings: Renderings, encoder: Encoder, entries: Sequence[Entry], joined: Joined | None = None
) -> list[bytes]:
    if joined is None or not isinstance(encoder, Ageing):
        step = LARGE if joined is None else encoder.step
        return [group async for group in _groups(renderings, encoder, entries, step)]
    groups = []
    for start, end in _steps(entries, encoder.step):
        await next_turn()
        group, until = encoder.lasting(entries[start:end], first=not start)
        groups.append(group)
        joined.parts.append((start, end, until))
    return groups


async def _groups(
    renderings: Renderings, encoder: Encoder, entries: Sequence[Entry], most: int
) -> AsyncIterator[bytes]:
    """Encodes the items step by step, at most about `most` bytes at once; others get their turn after each."""
    as_json = encoder.apart
    for start, end in _steps(entries, min(most, encoder.step) if as_json is None else _APART_STEP):
        part = entries[start:end] if start or end < len(entries) else entries
        if as_json is not None and sum([entry.size for entry in part]) > APART:
            yield await renderings.apart.yaml(as_json.json_items(part))
        else:
            await next_turn()
            yield encoder.items(part, first=not start)


def _steps(entries: Sequence[Entry], step: int) -> Iterator[tuple[int, int]]:
    """Where to cut the entries, so that each piece has at most about `step` bytes.

    Large pieces mostly end at keys that are chosen by their hash. So those after a change are what they were, and what
    they were compressed to is still right (gateway/http/packed_pieces.py).
    """
    start = size = 0
    enough, chance = (step // 2, step // 4) if step >= LARGE else (step, 1)
    for index, entry in enumerate(entries, 1):
        size += entry.size
        if (size >= enough and (size >= step or hash(entry.key) % chance < entry.size)) or index == len(entries):
            yield start, index
            start, size = index, 0
