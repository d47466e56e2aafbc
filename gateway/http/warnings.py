"""Warning headers (RFC 7234 section 5.5; KEP-1693): code 299 and the texts that a request gathered."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

TOTAL_LIMIT = 4 * 1024  # characters of all warnings together; beyond it each is cut to ITEM_LIMIT
ITEM_LIMIT = 256


def warning_headers(texts: Iterable[str]) -> list[tuple[bytes, bytes]]:
    """One header for each distinct text, long sets truncated; texts with control characters are left out."""
    distinct = [text for text in dict.fromkeys(texts) if text and not _has_control(text)]
    if sum(map(len, distinct)) <= TOTAL_LIMIT:
        return [(b"warning", warning_value(text)) for text in distinct]
    headers, written = [], 0
    for text in distinct:
        if written >= TOTAL_LIMIT:
            break
        headers.append((b"warning", warning_value(text[:ITEM_LIMIT])))
        written += min(len(text), ITEM_LIMIT)
    return headers


def warning_value(text: str) -> bytes:
    """The header's value, the text as a quoted string."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'.encode()


def _has_control(text: str) -> bool:
    return not text.isprintable() and any(unicodedata.category(char) == "Cc" for char in text)
