"""Valid Unicode: text of the server has no half of a surrogate pair, which no UTF-8 can say (Unicode, section 3.9).

Python's strings may hold one; Go's readers make U+FFFD of it. So does each door by which text comes in: then whatever
is made of the text can be written.
"""

from __future__ import annotations

import re
from typing import Any

REPLACEMENT = "\ufffd"

_LONE = re.compile("[\ud800-\udfff]")


def valid(text: str) -> str:
    """A text with U+FFFD for each lone surrogate."""
    return text if text.isascii() else _LONE.sub(REPLACEMENT, text)


def valid_members(value: Any) -> Any:
    """A JSON value with valid texts, names of members too; it is changed in place, however deep it is.

    Of members whose names become the same the last one stays.
    """
    holder = [value]
    todo: list[tuple[Any, Any]] = [(holder, 0)]
    while todo:
        container, place = todo.pop()
        item = container[place]
        if isinstance(item, str):
            container[place] = valid(item)
        elif isinstance(item, dict):
            for name in [name for name in item if valid(name) != name]:
                item[valid(name)] = item.pop(name)
            todo += [(item, name) for name in item]
        elif isinstance(item, list):
            todo += [(item, index) for index in range(len(item))]
    return holder[0]
