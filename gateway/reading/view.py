"""The events of one selection as bytes, made once and shared by all watchers of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from storage.cache import ResourceCache
from storage.entry import Change, ChangeType, Entry, check_awaited
from storage.history import History
from storage.reads import Match
from storage.waking import Interest

MEMO = 64
MEMO_BYTES = 2 << 20
PART = 256  # changes that are made into events at once
PART_BYTES = 512 * 1024  # the same, of objects


class View:
    """The events of a resource under a prefix that a selector selects, in one representation.

    "Efficient detection of changes": an object that starts to match appears as ADDED, one that stops as DELETED.
    """

    __slots__ = (
        "__weakref__",
        "_as_served",
        "_convert",
        "_encode",
        "_labels_and_fields_of",
        "_latest",
        "_match",
        "_memo",
        "_most",
        "_remembered",
        "_resource",
        "count",
        "interest",
        "prefix",
    )

    def __init__(
        self,
        resource: ResourceCache,
        prefix: bytes,
        match: Match | None,
        encode: Callable[[ChangeType, Entry], bytes],
        convert: Callable[[Entry], Entry] | None = None,
        interest: Interest | None = None,
        as_served: bool = False,
        most: int = PART_BYTES,
    ) -> None:
        """`encode` gives the event of an object, as `convert` has made it where there are several versions.

        The selector looks at what is stored, or `as_served` at what was converted. Only changes that concern the
        interest are selected. Events of `most` bytes of objects are made at once.
        """
        self._convert, self.interest, self._most = convert, interest, min(most, PART_BYTES)
        self._as_served = convert if as_served else None
        self._resource, self.prefix, self._match, self._encode = resource, prefix, match, encode
        self._labels_and_fields_of = resource.spec.labels_and_fields_of
        self._memo: dict[tuple[int, int, int], tuple[bytes, int, int]] = {}
        self.count = 0  # events of the chunk that was given last
        self._remembered = 0  # bytes
        self._latest = (-1, -1, -1, b"", -1, 0)  # what was asked for last: the next of a crowd asks for the same

    def chunk(self, position: int, history: History | None = None) -> tuple[bytes, int]:
        """The next events from a position of the history on, as sent, and the position after them. Raises Overrun, and
        AwaitedObject where the next one can't be read at present.

        The history is that of the cache if no other is given.

        Those who are behind go by the same steps, so that they share what is made for the first of them. All changes
        of one revision come together: a client that resumes names the last revision it has seen.
        """
        history = history or self._resource.history
        number, since, upto, chunk, reached, count = self._latest
        newest = history.end
        if since == position and upto == newest and number == history.number and position >= history.first:
            self.count = count
            return chunk, reached
        end = self._step(position, history)
        span = (history.number, position, end)
        found = self._memo.get(span)
        if found is None:
            changes = self._until_awaited(_some(history.between(position, end), self._most))
            found = self.encode(changes), position + len(changes), self.count
            self._remember(span, *found)
        self._latest = history.number, position, newest, *found
        self.count = found[2]
        return found[:2]

    def _until_awaited(self, changes: list[Change]) -> list[Change]:
        """Those before the first one under the prefix that can't be read at present. Raises AwaitedObject for none."""
        if not any(change.corrupt for change in changes):
            return changes
        prefix = self.prefix
        for index, change in enumerate(changes):
            if change.awaited and change.key.startswith(prefix):
                while index and changes[index - 1].revision == change.revision:
                    index -= 1
                if not index:
                    check_awaited(versions_in([change]))
                return changes[:index]
        return changes

    def _step(self, position: int, history: History) -> int:
        return history.whole(min(history.end, position - position % PART + PART))

    def next(self, position: int, history: History | None = None) -> list[Entry]:
        """The versions of objects that the next events from a position on are made of. Raises Overrun."""
        history = history or self._resource.history
        return versions_in(history.between(position, self._step(position, history)))

    def _remember(self, span: tuple[int, int, int], chunk: bytes, reached: int, count: int) -> None:
        self._remembered += len(chunk)
        if len(self._memo) >= MEMO or self._remembered > MEMO_BYTES:
            self._memo.clear()
            self._remembered = len(chunk)
        self._memo[span] = chunk, reached, count

    def encode(self, changes: Iterable[Change]) -> bytes:
        """The events that some changes make for this view, one a line."""
        prefix, match = self.prefix, self._match
        out: list[bytes] = []
        for change in changes:
            if not change.entry.key.startswith(prefix):
                continue
            if change.corrupt:
                readable = change.readable()
                if readable is None:
                    continue
                change = readable
            if match is None:
                self._append(out, change.type, change.entry)
            else:
                self._select(out, change, match)
        self.count = len(out)
        return b"".join(out)

    def selected(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Those that the selector selects."""
        match = self._match
        return entries if match is None else [entry for entry in entries if self._matches(entry, match)]

    def initial(self, entries: Iterable[Entry]) -> bytes:
        """Synthetic ADDED events for what is there."""
        out: list[bytes] = []
        for entry in entries:
            self._append(out, ChangeType.ADDED, entry)
        return b"".join(out)

    def _append(self, out: list[bytes], type_: ChangeType, entry: Entry, revision: int = 0) -> None:
        """Adds an event; under another revision than that of the entry if one is given."""
        if self._convert is not None:
            entry = self._convert(entry)
        if revision:
            entry = entry.at(revision)
        out.append(self._encode(type_, entry))

    def _select(self, out: list[bytes], change: Change, match: Match) -> None:
        previous = change.previous
        before = previous is not None and self._matches(previous, match)
        after = change.type is not ChangeType.DELETED and self._matches(change.entry, match)
        if after:
            self._append(out, ChangeType.MODIFIED if before else ChangeType.ADDED, change.entry)
        elif before and previous is not None:
            self._append(out, ChangeType.DELETED, previous, change.revision)

    def _matches(self, entry: Entry, match: Match) -> bool:
        if self._as_served is not None:
            entry = self._as_served(entry)
        return match(entry.labels_and_fields(self._labels_and_fields_of))


def versions_in(changes: Iterable[Change]) -> list[Entry]:
    """The versions of objects that some changes are of, those before them included."""
    found = []
    for change in changes:
        found.append(change.entry)
        if change.previous is not None:
            found.append(change.previous)
    return found


def _some(changes: list[Change], most: int) -> list[Change]:
    """The first changes: those of `most` bytes, and what goes beyond up to the end of a revision."""
    size = revision = 0
    for index, change in enumerate(changes):
        if size >= most and change.revision != revision:
            return changes[:index]
        size, revision = size + change.entry.size, change.revision
    return changes


def parts(entries: Sequence[Entry], step: int) -> Iterator[Sequence[Entry]]:
    """Entries in parts of at most `PART`, and of `step` bytes but for the last of each."""
    start = size = 0
    for index, entry in enumerate(entries, 1):
        size += entry.size
        if size >= step or index - start == PART or index == len(entries):
            yield entries[start:index]
            start, size = index, 0
