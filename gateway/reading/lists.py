"""A page of a collection as a list object: its items are encoded in steps, and kept for others where that pays."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gateway.encodings.encoder import Encoder
from gateway.encodings.list_meta import ListMeta
from gateway.encodings.whole import WholeEncoder
from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.reading.list_options import ListOptions
from storage import continuation
from storage.entry import Entry
from storage.reads import Page

MEMORABLE = 128  # items from which it pays to keep them joined
MEMOS = 4  # answers kept a resource until its next change
SMALL = 64 * 1024  # bytes up to which an answer is one piece


async def answer_page(
    endpoint: Endpoint, request: Request, page: Page, prefix: bytes, options: ListOptions
) -> Response:
    """The list object for a page that `read_page` gave."""
    encoder = endpoint.encoder(request.representation)
    query = (encoder, prefix, options.label_selector, options.field_selector, options.limit)
    groups = await _joined(endpoint, encoder, page, query)
    body = await offloaded_list(encoder, _meta(page, prefix, options), groups, len(page.entries))
    if sum(map(len, body)) <= SMALL:
        return Response(200, b"".join(body), encoder.content_type, encoded=True)
    return Response(200, body, encoder.content_type, encoded=True)


def _meta(page: Page, prefix: bytes, options: ListOptions) -> ListMeta:
    """remainingItemCount is only told where no selector makes it a guess."""
    if page.next_key is None:
        return ListMeta(page.revision)
    token = continuation.encode(page.next_key, prefix, page.revision)
    return ListMeta(page.revision, token, page.remaining if options.match is None else None)


async def offloaded_list(encoder: Encoder, meta: ListMeta, groups: list[bytes], count: int) -> Sequence[bytes]:
    """The list's body; made beside the event loop where it is written anew as a whole."""
    if isinstance(encoder, WholeEncoder) and sum(map(len, groups)) > SMALL:
        return await asyncio.to_thread(encoder.list, meta, groups, count)
    return encoder.list(meta, groups, count)


async def _joined(endpoint: Endpoint, encoder: Encoder, page: Page, query: tuple[object, ...]) -> list[bytes]:
    """The items' bytes in pieces; of many items they are kept for others until the resource changes."""
    entries = page.entries
    if endpoint.versions.converts:
        entries = list(await endpoint.versions.all(entries))
    memorable = encoder.memorable and len(entries) >= MEMORABLE
    if not memorable or not page.present or page.revision < endpoint.cache.changed:
        return await _join(encoder, entries)
    memo, key = endpoint.cache.memo, (*query, entries[0].key)
    found = memo.get(key)
    if not isinstance(found, _Remembered) or found.entries != len(entries):
        if len(memo) >= MEMOS:
            memo.clear()
        found = memo[key] = _Remembered(asyncio.ensure_future(_join(encoder, entries)), len(entries))
    return found.groups.result() if found.groups.done() else await asyncio.shield(found.groups)


class _Remembered:
    __slots__ = ("entries", "groups")

    def __init__(self, groups: asyncio.Future[list[bytes]], entries: int) -> None:
        self.groups, self.entries = groups, entries


async def _join(encoder: Encoder, entries: list[Entry]) -> list[bytes]:
    """Encodes the items step by step; others get their turn after each."""
    groups: list[bytes] = []
    start, size, step = 0, 0, encoder.step
    for index, entry in enumerate(entries):
        size += entry.size
        if size >= step:
            groups.append(encoder.items(entries[start : index + 1], first=not groups))
            start, size = index + 1, 0
            await asyncio.sleep(0)
    if start < len(entries):
        groups.append(encoder.items(entries[start:] if start else entries, first=not groups))
    return groups
