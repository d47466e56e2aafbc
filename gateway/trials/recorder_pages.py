"""/debug/recorder: the recorder's events as a live page, as a page for a file without a server, and as JSON."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from gateway.http.exchange import JSON_TYPE, parse_query
from gateway.http.send import Send
from gateway.trials.recorder import FlightRecorder
from gateway.trials.story import MOST, story

ROOT = "/debug/recorder"
_HTML = b"text/html; charset=utf-8"
_PLACE = b'"@events@"'
_LONGEST_NUMBER = 15


class RecorderPages:
    """An ASGI application. `/debug/recorder` is the live page. Below it, `/page` is a page that contains its events,
    and `/events` has the events as JSON.
    """

    def __init__(self, recorder: FlightRecorder) -> None:
        self.recorder = recorder

    def serves(self, scope: Any) -> bool:
        """Whether a request is for one of these pages."""
        below = scope["path"].removeprefix(ROOT)
        return scope["method"] == "GET" and below in ("", "/", "/page", "/events")

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        query = parse_query(scope["query_string"])
        await self.recorder.catch_up()
        since, most = _number(query, "since", 0), min(_number(query, "limit", MOST), MOST)
        match scope["path"].removeprefix(ROOT):
            case "/events":
                body, media = await story(self.recorder, since, most), JSON_TYPE
            case "/page":
                body, media = page(await story(self.recorder, since, most)), _HTML
            case _:
                body, media = page(b"null"), _HTML
        headers = [(b"content-type", media), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def page(events: bytes) -> bytes:
    """The page that contains `events` (JSON). With `null` for them, the page polls the server for events."""
    return _template().replace(_PLACE, events.replace(b"<", b"\\u003c"), 1)


@cache
def _template() -> bytes:
    return (Path(__file__).parent / "recorder.html").read_bytes()


def _number(query: dict[str, list[str]], name: str, default: int) -> int:
    text = query.get(name, [""])[0]
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER else default
