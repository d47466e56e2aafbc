"""Deletes a stored object, or marks it with a deletionTimestamp (API Concepts, "Resource deletion")."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from gateway.http import status
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.strategy import Strategy
from gateway.reading.unreadable import converted, read_error
from gateway.writing.admission import mutate, validate
from gateway.writing.deletion_plan import Step, is_under_way, plan
from gateway.writing.options import DeleteOptions, delete_options_document
from gateway.writing.write import Prepared, Write, Written, encoded
from storage.change import KEEP, Changed, Decision, Delete, Finish, Outcome, Put, change
from storage.errors import AwaitedObject, CorruptObject, StoredObject


@dataclass(frozen=True, slots=True)
class Deleted:
    """The result of a delete: the object's last version, and whether it is removed from storage (`gone`)."""

    obj: JsonObject
    written: Written
    gone: bool


async def delete_object(write: Write, options: DeleteOptions, *, admitted: bool = False) -> Deleted:
    """Deletes the object that `write` names; tries again if another writer changes it meanwhile.

    `admitted`: admission has run for the cause of the deletion, such as an eviction. Raises StatusError.
    """
    endpoint, context = write.endpoint, write.context
    key = endpoint.key(context.namespace, context.name)
    deletion = _Deletion(write, options, admitted)
    try:
        return deletion.deleted(await change(write.store, key, deletion.decide))
    except AwaitedObject:
        raise  # the caller waits for it
    except CorruptObject as error:
        if error.key != key:  # an object beside it
            raise
        raise read_error(endpoint, error) from None


async def _admit(write: Write, options: DeleteOptions, old: JsonObject) -> None:
    """Runs mutating and validating admission. Raises StatusError."""
    if write.context.of_collection:
        make_options = partial(delete_options_document, options)
    else:
        make_options = partial(_shown, write.endpoint.strategy, options, old)
    await validate(write, await mutate(write, Operation.DELETE, None, old, make_options), None)


def _shown(strategy: Strategy, options: DeleteOptions, old: JsonObject) -> JsonObject:
    """The options as admission sees them: with the resulting grace period, and for kinds that terminate, such as
    Namespaces, with the uid as a precondition.
    """
    document = delete_options_document(options)
    if strategy.grace_period is not None:
        marked = old["metadata"].get("deletionGracePeriodSeconds")
        asked = options.grace_period
        grace = strategy.grace_period(old, asked) if marked is None else marked if asked is None else asked
        document["gracePeriodSeconds"] = grace
    if strategy.termination is not None:
        document["preconditions"] = {"uid": old["metadata"].get("uid", ""), **(document.get("preconditions") or {})}
    return document


class _Deletion:
    """The state of a deletion in progress: the step for the present version, and the object for the answer."""

    def __init__(self, write: Write, options: DeleteOptions, admitted: bool) -> None:
        self._write, self._options, self._admitted = write, options, admitted
        self.obj: JsonObject = {}
        self.step = Step.NOTHING
        self._marked: bytes | None = None  # the stored value with the mark, if the object is removed next
        self._shown = Written(b"", 0)

    async def decide(self, current: StoredObject | None) -> Decision:
        """Decides whether to mark, remove or keep the present version. Raises StatusError."""
        write, resource = self._write, self._write.resource
        if current is None:
            raise status.not_found(resource.group, resource.resource, write.context.name)
        if self._marked is not None and current.value is self._marked:  # no other write since the mark
            return await self._removed(current)
        reading = write.endpoint.written.read(current.value)
        value = await converted(write.endpoint, current.key, current.revision, reading)
        obj = self.obj = write.endpoint.parse(value)
        _check_preconditions(write, obj["metadata"], current.revision, self._options)
        if not is_under_way(write.endpoint.strategy, obj, self._options):
            obj["metadata"]["resourceVersion"] = str(current.revision)
            await self._admit(obj)
        self.step = self._planned(obj)
        self._shown = Written(current.value, current.revision, unchanged=self.step is Step.NOTHING)
        match self.step:
            case Step.NOTHING:
                return KEEP
            case Step.REMOVE:
                return KEEP if self._options.dry_run else Delete(_released(write, obj))
            case Step.MARK | Step.MARK_AND_REMOVE:
                return await self._mark(current, obj)

    def deleted(self, changed: Changed) -> Deleted:
        """The result for the answer."""
        gone = self.step in (Step.REMOVE, Step.MARK_AND_REMOVE)
        if changed.outcome is Outcome.UNCHANGED:
            return Deleted(self.obj, self._shown, gone)
        return Deleted(self.obj, self._shown._replace(revision=changed.revision), gone)

    def _planned(self, obj: JsonObject) -> Step:
        endpoint = self._write.endpoint
        collected = endpoint.services.settings.enable_garbage_collector
        return plan(endpoint.strategy, obj, self._options, collected=collected).step

    async def _admit(self, obj: JsonObject) -> None:
        if not self._admitted:
            await _admit(self._write, self._options, obj)

    async def _mark(self, current: StoredObject, obj: JsonObject) -> Decision:
        value = await encoded(self._write, Prepared(obj, self._write.size, self._write.context))
        unchanged, removes = value == current.value, self.step is Step.MARK_AND_REMOVE
        self._shown = Written(value, current.revision, unchanged=unchanged)
        if self._options.dry_run:
            return KEEP
        if removes:
            self._marked = value
        if unchanged:
            return await self._removed(current) if removes else KEEP
        return Put(value, last=not removes)  # watches see the mark before the removal

    async def _removed(self, current: StoredObject) -> Decision:
        """Removes a marked object, if admission allows it."""
        self.obj["metadata"]["resourceVersion"] = str(current.revision)
        await self._admit(self.obj)
        return Delete(_released(self._write, self.obj))


def _released(write: Write, obj: JsonObject) -> Finish | None:
    """A function that releases the object's allocations after its removal; None for kinds without hooks."""
    hooks = write.endpoint.object_hooks
    if hooks is None:
        return None

    async def release(done: bool) -> None:
        if done:
            await hooks.after_delete(obj, write.context)

    return release


def _check_preconditions(write: Write, meta: JsonObject, revision: int, options: DeleteOptions) -> None:
    """Raises StatusError 409 if the object's uid or resourceVersion differs from the preconditions."""
    name, uid = write.context.name, meta.get("uid", "")
    for what, wanted, actual, guess in (
        ("UID", options.uid, uid, "deleted and then recreated"),
        ("ResourceVersion", options.resource_version, str(revision), "modified"),
    ):
        if wanted is None or wanted == actual:
            continue
        if write.endpoint.strategy.termination is not None:
            cause = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {actual}"
            raise status.conflict(write.resource.group, write.resource.resource, name, cause)
        cause = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({actual}). "
        raise status.conflict(
            write.endpoint.kind_group, write.resource.kind, name, f"{cause}The object might have been {guess}"
        )
