"""The interface to the OpenAPI documents of extension API servers, which are merged into this server's documents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, Protocol

from gateway.jsontypes import JsonObject

Named = Mapping[str, JsonObject]


class Document(NamedTuple):
    """A server's response with a document. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Converted(NamedTuple):
    """A document of version 3 that was converted from a server's document of version 2.

    `content` is JSON, `hash` its hash in hexadecimal, `made` the time in seconds since 1970.
    """

    content: bytes
    hash: str
    made: float

    def url(self, place: str) -> str:
        """The relative URL of the document."""
        return f"/openapi/v3/{place}?hash={self.hash}"


class Part(NamedTuple):
    """One server's paths and definitions in the document of version 2."""

    paths: Named
    definitions: Named


class ExtensionDocuments(Protocol):
    """The documents of extension API servers."""

    def places(self, served: Collection[str]) -> Mapping[str, str]:
        """The documents of version 3: place ("apis/GROUP/VERSION") -> URL with a hash.

        `served` are this server's own places. They are included only if an APIService gives their group version to an
        extension API server.
        """
        ...

    async def document(self, place: str, query: str, headers: Mapping[str, str], served: bool) -> Document | None:
        """A document of version 3, requested with some of the client's headers; None if no extension API server has it.

        `served`: this server has a document of that place.
        """
        ...

    def converted(self, place: str, served: bool) -> Converted | None:
        """The document of a place, if it was converted from version 2; else None."""
        ...

    def version_2(self) -> list[Part]:
        """The servers' parts of the version 2 document, by priority: names of earlier parts win."""
        ...

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls a function whenever the parts of the version 2 document change."""
        ...
