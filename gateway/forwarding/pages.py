"""Forwards answers whose links, in HTML pages and in Location, are rewritten for clients."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.forwarding.answers import Begun, passed
from gateway.forwarding.links import Links, PageTooLarge, PageUnreadable
from gateway.http.cycle import SWITCHING
from gateway.http.exchange import Header, Response
from gateway.http.status import StatusError, internal_error
from gateway.http.thread_pool import beside
from gateway.outbound.client import Streamed
from gateway.outbound.errors import CallError
from gateway.validation.field import go_quote

_PAGE = b"text/html"
_MOST_REWRITTEN = 4 << 20  # bytes of a page


async def with_links(answer: Streamed, links: Links) -> Response:
    """The answer, with links to the proxied server that lead through the proxy.

    Raises StatusError 500 for a page that is not in its Content-Encoding, for an invalid Location, and for an upgrade
    without a request for one; 503 if the answer is cut.
    """
    if answer.status == SWITCHING:
        await answer.aclose()
        other = go_quote(answer.header("upgrade"))
        raise StatusError(500, "", f'backend tried to switch protocol {other} when "" was requested')
    if not answer.first.get(b"content-type", b"").startswith(_PAGE) and b"location" not in answer.first:
        return await _typed(answer)
    if said := answer.first.get(b"location"):
        try:
            place = links.rewritten(said.decode("utf-8", "surrogateescape"))
        except PageUnreadable as error:
            await answer.aclose()
            raise internal_error(f"error trying to parse Location header: {error}") from None
        return await _typed(answer, [(b"location", place.encode("utf-8", "surrogateescape"))])
    if answer.header("content-type").partition(";")[0].strip() != "text/html":
        return await _typed(answer)
    coding = answer.header("content-encoding")
    length = answer.header("content-length")
    if coding not in ("", "gzip", "deflate") or (length and int(length) > _MOST_REWRITTEN):
        return passed(answer)
    try:
        body = await answer.whole(_MOST_REWRITTEN)
        page = await beside(lambda: links.page(body, coding, _MOST_REWRITTEN))
    except CallError as error:
        raise unreachable(str(error)) from None
    except PageUnreadable as error:
        raise StatusError(500, "", str(error)) from None
    except PageTooLarge:
        page = body
    response = passed(answer)
    response.body = page
    response.headers = [each for each in response.headers if each[0] != b"content-length"]
    return response


async def _typed(answer: Streamed, replaced: Iterable[Header] = ()) -> Response:
    """The answer. If it has no content type, it gets one by the first part of its body, as Go's servers give it."""
    response = passed(answer, replaced)
    if b"content-type" in answer.first or answer.first.get(b"content-encoding") or answer.status in (204, 304):
        return response
    from gateway.forwarding.sniffing import content_type

    if isinstance(response.body, bytes):
        response.content_type = content_type(response.body)
        return response
    response.body = begun = Begun(answer)
    response.content_type = content_type(await begun.begin())
    return response


def unavailable(message: str) -> StatusError:
    """The answer 503 that is sent in place of a server's."""
    return StatusError(503, "ServiceUnavailable", message)


def unreachable(cause: str) -> StatusError:
    """The answer 503 for a server that does not answer."""
    return unavailable(f"error trying to reach service: {cause}")
