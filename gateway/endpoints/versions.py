"""Converts stored objects to the served version of an endpoint. Results are cached on each entry."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gateway.jsontypes import JsonObject, loads
from gateway.kinds.batches import batches
from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import ConversionFailed, Model
from gateway.kinds.stored_head import head_of
from gateway.schema.encode import encode_answer
from storage.entry import CorruptEntry, Entry
from storage.time_slice import TimeSlice

FIRST_PAUSE, LONGEST_PAUSE = 0.8, 30.0  # seconds between attempts, for watches that wait for a failing webhook


class NotConverted(Exception):
    """A webhook must convert an object first."""


class Versions:
    """Converts entries of a kind, stored in any version, to one version."""

    def __init__(self, model: Model, version: GroupVersion) -> None:
        self._model, self.version = model, version
        self.head = head_of(model.kind, version.api_version)
        self.converts = version != model.storage_version or (model.written_as_served and len(model.versions) > 1)
        # with a conversion webhook, which may change labels and fields, selectors apply to converted objects
        self.selects = self.converts and model.convert_all is not None
        self._failure: ConversionFailed | None = None  # the last failure, for waiting watches
        self._pause, self._again = FIRST_PAUSE, 0.0  # and the time of the next attempt

    def of(self, entry: Entry) -> Entry:
        """An entry in the version; an unreadable entry is returned unchanged.

        Raises ValueError if there is no conversion. Raises NotConverted if a webhook must do it: call `all` before.
        """
        if entry.head == self.head or isinstance(entry, CorruptEntry):
            return entry
        found = entry.recall(self.head)
        if isinstance(found, Entry):
            return found
        if self._model.convert_all is not None:
            raise NotConverted
        obj = loads(entry.head + entry.tail)
        return self._remembered(entry, self._model.convert(obj, GroupVersion.parse(obj["apiVersion"]), self.version))

    async def one(self, entry: Entry) -> Entry:
        """An entry in the version. Raises ValueError, ConversionFailed."""
        if not self.converts:
            return entry
        return (await self.all([entry]))[0]

    async def all(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries in the version, converted in time slices. Raises ValueError, ConversionFailed."""
        if not self.converts:
            return entries
        if self._model.convert_all is not None:
            return await self._by_webhook(entries)
        converted = []
        piece = TimeSlice()
        for entry in entries:
            converted.append(self.of(entry))
            if piece.over():
                await piece.next()
        return converted

    async def all_in_time(self, entries: Sequence[Entry]) -> None:
        """The same as `all`, for watches that wait for a failing webhook. Only one of them calls the webhook after each
        pause; the others raise the last failure. Raises ConversionFailed.
        """
        if self._failure is not None and time.monotonic() < self._again:
            raise self._failure
        self._again = time.monotonic() + self._pause
        try:
            await self.all(entries)
        except ConversionFailed as error:
            self._failure, self._pause = error, min(2 * self._pause, LONGEST_PAUSE)
            raise
        self._failure, self._pause = None, FIRST_PAUSE

    async def _by_webhook(self, entries: Sequence[Entry]) -> Sequence[Entry]:

        found: list[Entry | None] = []
        piece = TimeSlice()
        for entry in entries:
            try:
                found.append(self.of(entry))
            except NotConverted:
                found.append(None)
        missing = (index for index, each in enumerate(found) if each is None)
        for batch in batches(missing, lambda index: len(entries[index].tail)):  # others are not parsed meanwhile
            objects = [loads(entries[index].head + entries[index].tail) for index in batch]
            for index, obj in zip(batch, await self.convert_all(objects), strict=True):
                found[index] = self._remembered(entries[index], obj)
                if piece.over():
                    await piece.next()
        return [entry for entry in found if entry is not None]

    async def convert_all(self, objects: Sequence[JsonObject]) -> list[JsonObject]:
        """Converts objects of any versions to this one. Raises ValueError, ConversionFailed."""
        return await self._converted(objects, self.version)

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        """Converts an object of this version to the storage version. Raises ValueError, ConversionFailed."""
        return (await self._converted([obj], self._model.storage_version))[0]

    async def _converted(self, objects: Sequence[JsonObject], target: GroupVersion) -> list[JsonObject]:
        if self._model.convert_all is not None:
            return await self._model.convert_all(objects, target)
        return [self._model.convert(obj, GroupVersion.parse(obj["apiVersion"]), target) for obj in objects]

    def _remembered(self, entry: Entry, obj: JsonObject) -> Entry:
        type_ = self._model.versions[self.version].type
        value = encode_answer(obj, self._model.kind, str(self.version), type_)
        made = Entry(entry.key, self.head, value[len(self.head) : -1], entry.revision)
        entry.remember(self.head, made, len(made.tail))
        return made
