"""The encoded watch events of one selection, made once and shared by all watches of it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from storage.cache import ResourceCache
from storage.entry import Change, ChangeType, Entry, check_awaited
from storage.history import History
from storage.reads import Match
from storage.waiters import Interest

MEMO = 64
MEMO_BYTES = 2 << 20
PART = 256  # changes that are encoded in one step
PART_BYTES = 512 * 1024  # bytes of objects that are encoded in one step


class WatchView:
    """The events of a resource, under a key prefix and for a selector, in one representation.

    As in "Efficient detection of changes", an object that begins to match the selector is ADDED, one that no longer
    matches is DELETED.
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
        "_packed",
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
        """`encode` makes the event of an object. `convert`, for resources with several versions, is applied before.

        `match` gets the stored object's labels and fields, or with `as_served` those of the converted object. All
        selected changes must concern `interest`. One step encodes about `most` bytes of objects.
        """
        self._convert, self.interest, self._most = convert, interest, min(most, PART_BYTES)
        self._as_served = convert if as_served else None
        self._resource, self.prefix, self._match, self._encode = resource, prefix, match, encode
        self._labels_and_fields_of = resource.spec.labels_and_fields_of
        self._memo: dict[tuple[int, int, int], tuple[bytes, int, int]] = {}
        self.count = 0  # events in the last chunk
        self._remembered = 0  # bytes in _memo
        self._packed = (b"", b"")  # the last chunk that was packed, and the result
        self._latest = (-1, -1, -1, b"", -1, 0)  # the last result: the next of many watches needs the same

    def chunk(self, position: int, history: History | None = None) -> tuple[bytes, int]:
        """The next encoded events from a position of the history on, and the position after them.

        Without `history`, that of the cache is used. Watches that are behind advance by the same steps, so that they
        share the chunks. A chunk never ends within one revision, because a client resumes at the last revision that it
        has seen. Raises Overrun, and AwaitedObject if the next object cannot be decrypted now.
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
        """The changes before the first one, under the prefix, that cannot be decrypted now. Raises AwaitedObject if
        there are none before it.
        """
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
        """The versions of objects that the next chunk from a position on needs. Raises Overrun."""
        history = history or self._resource.history
        return versions_in(history.between(position, self._step(position, history)))

    def _remember(self, span: tuple[int, int, int], chunk: bytes, reached: int, count: int) -> None:
        self._remembered += len(chunk)
        if len(self._memo) >= MEMO or self._remembered > MEMO_BYTES:
            self._memo.clear()
            self._remembered = len(chunk)
        self._memo[span] = chunk, reached, count

    def encode(self, changes: Iterable[Change]) -> bytes:
        """The encoded events of the changes that this view selects."""
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

    def packed(self, chunk: bytes) -> bytes:
        """As the function `packed`; watches of one view share the result."""
        if self._packed[0] is not chunk:
            self._packed = chunk, packed(chunk)
        return self._packed[1]

    def selected(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The entries that the selector selects."""
        match = self._match
        return entries if match is None else [entry for entry in entries if self._matches(entry, match)]

    def initial(self, entries: Iterable[Entry]) -> bytes:
        """Synthetic ADDED events for entries that exist already."""
        out: list[bytes] = []
        for entry in entries:
            self._append(out, ChangeType.ADDED, entry)
        return b"".join(out)

    def _append(self, out: list[bytes], type_: ChangeType, entry: Entry, revision: int = 0) -> None:
        """Adds an event; `revision`, unless 0, replaces the entry's."""
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


def packed(chunk: bytes) -> bytes:
    """A chunk as a gzip member of its own, so that a watch keeps no state of the compression. Members after each other
    are one stream (RFC 1952, section 2.2).

    The data is flushed before the member ends, as kube-apiserver does: at the end of a member Go's reader waits for the
    next one before it returns the data that it has read with the end.
    """
    packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return packer.compress(chunk) + packer.flush(zlib.Z_SYNC_FLUSH) + packer.flush()


def versions_in(changes: Iterable[Change]) -> list[Entry]:
    """The versions of objects in some changes: the new and the previous ones."""
    found = []
    for change in changes:
        found.append(change.entry)
        if change.previous is not None:
            found.append(change.previous)
    return found


def _some(changes: list[Change], most: int) -> list[Change]:
    """The first changes, of about `most` bytes; the last revision among them is always complete."""
    size = revision = 0
    for index, change in enumerate(changes):
        if size >= most and change.revision != revision:
            return changes[:index]
        size, revision = size + change.entry.size, change.revision
    return changes


def parts(entries: Sequence[Entry], step: int) -> Iterator[Sequence[Entry]]:
    """Splits entries into parts of at most `PART` entries. A part ends once it has `step` bytes."""
    start = size = 0
    for index, entry in enumerate(entries, 1):
        size += entry.size
        if size >= step or index - start == PART or index == len(entries):
            yield entries[start:index]
            start, size = index, 0
