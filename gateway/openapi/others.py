"""OpenAPI documents of other servers, as they are merged into those that are served here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, Protocol

from gateway.jsontypes import JsonObject

Named = Mapping[str, JsonObject]


class Document(NamedTuple):
    """A document as its server answered; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Converted(NamedTuple):
    """A document of version 3 that was made here of a server's document of version 2: as JSON, its hash, and when."""

    content: bytes
    hash: str
    made: float

    def url(self, place: str) -> str:
        """Where it is to be had."""
        return f"/openapi/v3/{place}?hash={self.hash}"


class Part(NamedTuple):
    """What one server adds to the document of version 2."""

    paths: Named
    definitions: Named


class Others(Protocol):
    """Knows the documents of extension servers."""

    def places(self, served: Collection[str]) -> Mapping[str, str]:
        """The documents of version 3: "apis/GROUP/VERSION" -> the URL where it is to be had, with its hash.

        Of places that are `served` here only those whose group version has been given to another server.
        """
        ...

    async def document(self, place: str, query: str, headers: Mapping[str, str], served: bool) -> Document | None:
        """A document of version 3, asked for with some of the client's headers; None if no other server has it."""
        ...

    def converted(self, place: str, served: bool) -> Converted | None:
        """The document where it was made here of one of version 2; None for all others."""
        ...

    def version_2(self) -> list[Part]:
        """What version 2's document gets from them, those first whose names count."""
        ...

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls a function whenever version 2's part changes."""
        ...
