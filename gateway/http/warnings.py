"""Warning headers (RFC 7234 section 5.5; KEP-1693): code 299 and the texts of a request's warnings.

The limits are those of kube-apiserver's WithWarningRecorder.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Self, SupportsIndex

TOTAL_LIMIT = 4 * 1024  # characters of all warnings together; beyond it each is cut to ITEM_LIMIT
ITEM_LIMIT = 256


class Warnings(list[str]):
    """The warnings of one request: each text once, in the order of arrival, and only as many as are sent.

    `extend` stops reading its source when the list is full, so that a generator makes no warnings in vain. Texts with
    control characters, which no header may contain, are left out.
    """

    __slots__ = ()

    def append(self, text: str, /) -> None:
        self.extend((text,))

    def extend(self, texts: Iterable[str], /) -> None:
        total = cut = 0
        if self:
            total, cut = sum(map(len, self)), sum(min(len(text), ITEM_LIMIT) for text in self)
        source = iter(texts)
        while total <= TOTAL_LIMIT or cut < TOTAL_LIMIT:
            text = next(source, None)
            if text is None:
                return
            text = text[: TOTAL_LIMIT + 1]  # a longer one is cut to ITEM_LIMIT anyway
            if not text or text in self or _has_control(text if total <= TOTAL_LIMIT else text[:ITEM_LIMIT]):
                continue
            super().append(text)
            total, cut = total + len(text), cut + min(len(text), ITEM_LIMIT)

    def __iadd__(self, texts: Iterable[str], /) -> Self:  # type: ignore[override, misc]
        self.extend(texts)
        return self

    def insert(self, index: SupportsIndex, text: str, /) -> None:
        raise NotImplementedError("warnings have the order in which they came")


def bounded(texts: Iterable[str]) -> Warnings:
    """The texts as Warnings: as many as one answer sends."""
    found = Warnings()
    found.extend(texts)
    return found


def warning_headers(texts: Iterable[str]) -> list[tuple[bytes, bytes]]:
    """One header for each distinct text. If all together are too long, each is cut to ITEM_LIMIT."""
    told = texts if isinstance(texts, Warnings) else bounded(texts)
    longest = None if sum(map(len, told)) <= TOTAL_LIMIT else ITEM_LIMIT
    return [(b"warning", warning_value(text[:longest])) for text in told]


def warning_value(text: str) -> bytes:
    """The value of the header: code 299 and the text as a quoted string."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'.encode()


def _has_control(text: str) -> bool:
    return not text.isprintable() and any(unicodedata.category(char) == "Cc" for char in text)
