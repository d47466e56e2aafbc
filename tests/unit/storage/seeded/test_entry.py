"""Entries of seeds: a text that was dropped is made again, byte for byte, and only for what is a seed."""

from __future__ import annotations

from storage.entry import Entry, entry_of
from storage.etcd import KeyValue
from storage.seeded.contents import Contents
from storage.seeded.entry import SeededEntry, seeded
from storage.seeded.seeds import Seeds
from tests.unit.storage.canonical import HEAD, canonical

ROOT, AT = b"/registry/", 5
KEY = ROOT + b"pods/n/x"
VALUE = canonical("x", namespace="n", labels={"a": "b"})


class Made:
    """Seeds with one object, which count how often they made it."""

    def __init__(self) -> None:
        self.times = 0
        self.seeds = Seeds(ROOT, KeyValue(ROOT + b"born", b"", AT, AT, 1), Contents([b"pods/n/x"]), self._value)

    def _value(self, place: int) -> bytes:
        self.times += 1
        return VALUE

    def entry(self, value: bytes = VALUE) -> Entry:
        return seeded(entry_of(KEY, value, AT, HEAD), value, self.seeds, 0)


def test_the_seeds_make_a_dropped_text() -> None:
    made, whole = Made(), entry_of(KEY, VALUE, AT, HEAD)
    entry = made.entry()
    assert isinstance(entry, SeededEntry) and made.times == 0
    assert (entry.tail, entry.piece, entry.size) == (whole.tail, whole.tail, whole.size)
    assert (entry.parsed(), entry.stored()) == (whole.parsed(), whole.stored())
    assert entry.at(9).tail == whole.at(9).tail
    assert made.times == 1, "it is remembered"
    entry.forget()
    assert entry.size == whole.size and made.times == 1
    assert entry.tail == whole.tail and made.times == 2


def test_what_is_not_the_seed_as_it_is_stored_keeps_its_text() -> None:
    seeds = Made().seeds
    later = entry_of(KEY, VALUE, AT + 1, HEAD)
    canonicalised = entry_of(KEY, VALUE, AT, HEAD)
    assert seeded(later, VALUE, seeds, 0) is later
    for raw in (canonical("x", namespace="n"), b'{"apiVersion":"v1","kind":"Pod"}'):
        assert seeded(canonicalised, raw, seeds, 0) is canonicalised
