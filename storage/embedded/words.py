"""etcd's log messages as one line each."""

from __future__ import annotations

import json
from collections.abc import Iterable

_GRAVE = ("fatal", "panic", "error")


def last_words(log: str) -> str:
    """Why etcd ended, in one line: its last JSON record of level error or worse; else the first line that is not JSON
    record; else the last record.
    """
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    records = [_record(line) for line in lines]
    grave = [record for record in records if record.get("level") in _GRAVE]
    if grave:
        return _plain(grave[-1])
    if plain := next((line for line, record in zip(lines, records, strict=True) if not record), ""):
        return plain[:500]
    return _plain(records[-1]) if records else "it printed nothing"


def _record(line: str) -> dict[str, object]:
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _plain(record: dict[str, object]) -> str:
    said: Iterable[object] = (record.get("msg"), record.get("error"))
    return ": ".join(" ".join(str(part).split()) for part in said if part)[:500]
