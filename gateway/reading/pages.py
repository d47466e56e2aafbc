"""Reads pages of a collection ("Semantics for get and list").

The state that a list shows depends on resourceVersion, resourceVersionMatch, limit and continue:

    continue                      exactly the token's revision, or the latest state if that is -1
    Exact, or a version + limit   exactly that version
    version (NotOlderThan)        the watch cache, once it has reached that version
    0                             the watch cache as it is; the limit is ignored
    unset                         the watch cache, once it is as new as etcd was when the request arrived
"""

from __future__ import annotations

from dataclasses import replace

from gateway.endpoints.endpoint import Endpoint
from gateway.http.status import bad_request, expired
from gateway.reading.interests import interest_of
from gateway.reading.list_options import EXACT, NOT_OLDER_THAN, ListOptions, parse_resource_version
from gateway.reading.selection import selected
from gateway.reading.too_large import too_large
from storage import continuation
from storage.errors import Compacted, FutureRevision
from storage.reads import PAGE, Match, Page, Reads, TooLargeRevision
from storage.waiters import Interest, InterestKind

_TOO_OLD = "The resourceVersion for the provided list is too old."
_TOKEN_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter, or use the continue token in this response to retrieve "
    "the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that "
    "were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


async def read_page(reads: Reads, endpoint: Endpoint, prefix: bytes, options: ListOptions) -> Page:
    """The page of the collection under `prefix` that the options ask for. Raises StatusError 400, 410 and 504.

    Raises ConversionFailed if the selection needs a conversion webhook, and the webhook fails.
    """
    if options.match is not None and endpoint.versions.selects:
        return await _selected_as_served(reads, endpoint, prefix, options, options.match)
    return await _read(reads, endpoint, prefix, options)


async def _selected_as_served(
    reads: Reads, endpoint: Endpoint, prefix: bytes, options: ListOptions, match: Match
) -> Page:
    """The page of a collection whose objects must be converted before they can be selected."""
    limit = max(options.limit, 0)
    asked = replace(options, match=None, limit=max(limit, PAGE) if limit else 0)
    page = await _read(reads, endpoint, prefix, asked)
    kept = await selected(endpoint, page.entries, match)
    while page.next_key is not None and len(kept) < limit:
        token = continuation.encode(page.next_key, prefix, page.revision)
        page = await _continued(reads, endpoint, prefix, replace(asked, continuation=token, resource_version=""))
        kept += await selected(endpoint, page.entries, match)
    found = kept[:limit] if limit else kept
    if limit and len(kept) >= limit and (page.next_key is not None or found[-1] is not page.entries[-1]):
        return Page(found, page.revision, found[-1].key + b"\0")
    return replace(page, entries=found, next_key=None)


async def _read(reads: Reads, endpoint: Endpoint, prefix: bytes, options: ListOptions) -> Page:
    try:
        if options.continuation:
            return await _continued(reads, endpoint, prefix, options)
        if options.name and (prefix != endpoint.cache.spec.prefix or not endpoint.resource.namespaced):
            return await _one(reads, endpoint, prefix + options.name.encode(), options)
        return await _first(reads, endpoint, prefix, options, interest_of(endpoint, prefix, options))
    except TooLargeRevision as error:
        raise too_large(error) from None


async def _first(
    reads: Reads, endpoint: Endpoint, prefix: bytes, options: ListOptions, interest: Interest | None
) -> Page:
    revision = _revision(options.resource_version)
    limit, match = max(options.limit, 0), options.match
    exactly = options.resource_version_match == EXACT or (limit and options.resource_version_match != NOT_OLDER_THAN)
    if revision and exactly:
        try:
            return await reads.page_at(endpoint.cache, prefix, prefix, limit, match, revision)
        except Compacted:
            raise expired(_TOO_OLD) from None
        except FutureRevision:
            raise TooLargeRevision(revision, reads.reached) from None
    if revision:
        cached = await reads.not_older_than(revision)
    elif options.resource_version:
        cached, limit = True, 0
    else:
        cached = await reads.fresh_list(endpoint.cache)
    if not cached:
        return await reads.page_direct(endpoint.cache, prefix, prefix, limit, match)
    return await reads.page(endpoint.cache, prefix, prefix, limit, match, interest)


async def _one(reads: Reads, endpoint: Endpoint, key: bytes, options: ListOptions) -> Page:
    """The page of a list whose field selector selects one name. `limit` is ignored, as in kube-apiserver."""
    return await _first(reads, endpoint, key, replace(options, limit=0), Interest(InterestKind.KEY, "", key))


async def _continued(reads: Reads, endpoint: Endpoint, prefix: bytes, options: ListOptions) -> Page:
    try:
        start, revision = continuation.decode(options.continuation, prefix)
    except continuation.InvalidToken as error:
        raise bad_request(f"invalid continue token: {error}") from None
    if options.resource_version and options.resource_version != "0":
        raise bad_request("specifying resource version is not allowed when using continue")
    limit = 0 if options.resource_version else max(options.limit, 0)  # with resourceVersion=0, all that is left
    if revision < 0:
        page = reads.page if await reads.fresh_list(endpoint.cache) else reads.page_direct
        return await page(endpoint.cache, prefix, start, limit, options.match)
    try:
        return await reads.page_at(endpoint.cache, prefix, start, limit, options.match, revision)
    except Compacted:
        gone = expired(_TOKEN_TOO_OLD)
        gone.list_meta = {"continue": continuation.encode(start, prefix, continuation.INCONSISTENT)}
        raise gone from None
    except FutureRevision:
        raise TooLargeRevision(revision, reads.reached) from None


def _revision(text: str) -> int:
    return parse_resource_version(text, "invalid resource version: ", 400, "BadRequest")
