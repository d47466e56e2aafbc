"""Objects in the version that an endpoint serves: converted on read, remembered for each version of an object."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from gateway.jsontypes import loads
from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import Model
from gateway.kinds.stored import head_of
from gateway.schema.encode import encode_answer
from storage.entry import CorruptEntry, Entry

SLICE = 0.005  # seconds that objects are converted before others get their turn


class Versions:
    """Entries of whatever version they are stored in, as entries of one version of their kind."""

    def __init__(self, model: Model, version: GroupVersion) -> None:
        self._model, self._version = model, version
        self.head = head_of(model.kind, version.api_version)
        self.converts = version != model.storage_version

    def of(self, entry: Entry) -> Entry:
        """An entry in the version; one that can't be read is itself. Raises ValueError where there is no conversion."""
        if entry.head == self.head or isinstance(entry, CorruptEntry):
            return entry
        found = entry.recall(self.head)
        if isinstance(found, Entry):
            return found
        made = self._converted(entry)
        entry.remember(self.head, made, len(made.tail))
        return made

    async def all(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries in the version; others get their turn meanwhile. Raises ValueError."""
        if not self.converts:
            return entries
        converted = []
        pause = time.monotonic() + SLICE
        for entry in entries:
            converted.append(self.of(entry))
            if time.monotonic() > pause:
                await asyncio.sleep(0)
                pause = time.monotonic() + SLICE
        return converted

    def _converted(self, entry: Entry) -> Entry:
        obj = loads(entry.head + entry.tail)
        stored = GroupVersion.parse(obj["apiVersion"])
        value = encode_answer(self._model.convert(obj, stored, self._version), self._model.kind, str(self._version))
        return Entry(entry.key, self.head, value[len(self.head) : -1], entry.revision)
