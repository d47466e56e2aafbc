"""Valid Unicode: no text of the server has a lone surrogate, which UTF-8 cannot encode (Unicode, section 3.9).

A Python string may hold one; Go's readers replace it by U+FFFD. Every reader of input does the same here, so that each
text of the server can be written.
"""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"
# what Go's strings.TrimSpace removes: the characters with the property White_Space; str.strip also removes others
GO_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

_LONE = re.compile("[\ud800-\udfff]")


def valid(text: str) -> str:
    """The text with U+FFFD in the place of each lone surrogate."""
    return text if text.isascii() else _LONE.sub(REPLACEMENT, text)
