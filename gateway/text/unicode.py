"""Valid Unicode: no text of the server has a lone surrogate, which UTF-8 cannot encode (Unicode, section 3.9).

A Python string may hold one; Go's readers replace it by U+FFFD. Every reader of input does the same here, so that each
text of the server can be written.
"""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"

_LONE = re.compile("[\ud800-\udfff]")


def valid(text: str) -> str:
    """The text with U+FFFD in the place of each lone surrogate."""
    return text if text.isascii() else _LONE.sub(REPLACEMENT, text)
