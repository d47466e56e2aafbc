"""OpenAPI documents of other servers, as they are merged into those that are served here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from gateway.jsontypes import JsonObject

Named = Mapping[str, JsonObject]


class Document(NamedTuple):
    """A document as its server answered; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Others(Protocol):
    """Who knows of them."""

    def places(self) -> Mapping[str, str]:
        """The documents of version 3: "apis/GROUP/VERSION" -> the URL where it is to be had, with its hash."""
        ...

    async def document(self, place: str, query: str, headers: Mapping[str, str]) -> Document | None:
        """One of them, asked for with some of the client's headers; None for what is no other server's."""
        ...

    def version_2(self) -> tuple[Named, Named]:
        """What version 2's document gets from them: paths and definitions."""
        ...

    def on_change(self, listener: Callable[[], None]) -> None:
        """Has somebody told when version 2's part changes."""
        ...
