"""The key whose change informs all watches on the prefix of a compaction (`storage/compaction.py`)."""

from __future__ import annotations

import orjson

from storage.sharing.located_values import Located

MARKER = b"/gateway/compaction"  # after the prefix


def marked(revision: int) -> bytes:
    """The key's value for a compaction to a revision."""
    return b'{"revision":%d}' % revision


def compact_revision(key: bytes, value: bytes | Located) -> int:
    """The compact revision in the value of this key; 0 for other keys and invalid values."""
    if not key.endswith(MARKER):
        return 0
    try:
        revision = orjson.loads(value.raw() if isinstance(value, Located) else value).get("revision")
    except (ValueError, AttributeError):
        return 0
    return revision if type(revision) is int else 0
