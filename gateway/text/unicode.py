"""Valid Unicode: text of the server has no half of a surrogate pair, which no UTF-8 can say (Unicode, section 3.9).

Python's strings may hold one; Go's readers make U+FFFD of it. So does each door by which text comes in: then whatever
is made of the text can be written.
"""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"

_LONE = re.compile("[\ud800-\udfff]")


def valid(text: str) -> str:
    """A text with U+FFFD for each lone surrogate."""
    return text if text.isascii() else _LONE.sub(REPLACEMENT, text)
