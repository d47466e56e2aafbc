"""Changes a stored object, beginning with its cached version; tries again while other writers are faster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import NamedTuple

from gateway.access.authorization import require, with_verb
from gateway.apply import keep_timestamps
from gateway.http import status
from gateway.http.status import StatusError
from gateway.http.warnings import Warnings
from gateway.jsontypes import JsonObject, identical
from gateway.kinds import metadata
from gateway.kinds.attributes import Operation
from gateway.reading.unreadable import converted, write_error
from gateway.validation.field import FieldError
from gateway.validation.names import name_is_path_segment
from gateway.validation.objectmeta import validate_object_meta, validate_object_meta_update
from gateway.writing.admission import Admitted, asked_outside, mutate, validate
from gateway.writing.allocation import Allocating
from gateway.writing.conflicts import check_uid, check_version
from gateway.writing.conversions import Unconverted, conversions_of
from gateway.writing.create import admit_new, prepare_new
from gateway.writing.deletion_plan import finalized
from gateway.writing.make import Made, MakeObject, Present
from gateway.writing.offload import BIG, offloaded
from gateway.writing.owners import drop_duplicate_owners
from gateway.writing.unchanged_members import Touched, UnchangedMembers, keeps
from gateway.writing.write import (
    Prepared,
    Write,
    Written,
    as_admitted,
    encoded,
    invalid,
    judge,
    judged_beside,
    put,
    read_back,
)
from storage.change import KEEP, Changed, Decision, Delete, Finish, Outcome, change
from storage.errors import AwaitedObject, CorruptObject, StoredObject


async def update_object(write: Write, make: MakeObject, *, uid: str = "", allow_create: bool = False) -> Written:
    """Makes the new object from the present one by `make`, and stores it; tries again if another writer was faster.

    `uid` is a precondition. With `allow_create` a missing object is created. Raises StatusError.
    """
    endpoint, context = write.endpoint, write.context
    key = endpoint.key(context.namespace, context.name)
    update = _Update(write, make, key, uid, allow_create)
    try:
        changed = await change(write.store, key, update.decide)
    except AwaitedObject:
        raise  # the caller waits for it
    except CorruptObject as error:
        if error.key != key:  # an object beside it
            raise
        raise write_error(endpoint, error) from None
    finally:
        if update.warnings:
            context.warn(update.warnings)
    return update.written(changed)


class _New(NamedTuple):
    """The present object and the new one, in the storage version (a facet's new object: in its own version).

    `new` is None if the writer, a part of this server, wants no update after all: then nothing is judged.
    """

    old: JsonObject
    new: JsonObject | None
    made: Made


class _Update:
    """The driver of an update's attempts. Of the last one it keeps the object for the answer, and the warnings."""

    def __init__(self, write: Write, make: MakeObject, key: bytes, uid: str, allow_create: bool) -> None:
        self._write, self._make, self._key, self._uid, self._allow_create = write, make, key, uid, allow_create
        self.warnings = Warnings()
        self._shown = Written(b"", 0)
        self._told: Callable[[], None] | None = None  # what the kind does once the update is stored
        self._conversions = conversions_of(write.endpoint)
        facet, own = write.facet, write.endpoint.convert if self._conversions is None else self._conversions
        self._convert = own if facet is None else facet.endpoint.convert

    async def decide(self, current: StoredObject | None) -> Decision:
        """Decides on the present version, in as many attempts as are needed. Each attempt begins from scratch.

        There are two reasons for another attempt, both before any admission webhook is called. A conversion webhook
        must convert an object first (Unconverted), or a member that is shared with the old object was changed in
        place (Touched). If another writer was faster, `storage.change` calls this method again.
        """
        shares = current is not None and self._shares()
        while True:
            self.warnings = Warnings()
            write = self._write.attempt(0 if current is None else len(current.value), self.warnings.extend)
            try:
                return await (self._create(write) if current is None else self._update(write, current, shares))
            except Unconverted as missing:
                assert self._conversions is not None
                await self._conversions.supply(missing)
            except Touched:
                shares = False

    def _shares(self) -> bool:
        """Whether the new object may share members with the present one."""
        write = self._write
        return write.facet is None and keeps(write.endpoint) and not asked_outside(write, Operation.UPDATE)

    def written(self, changed: Changed) -> Written:
        """The result for the answer."""
        match changed.outcome:
            case Outcome.CREATED:
                return self._shown.at(changed.revision, created=True)
            case Outcome.UPDATED:
                if self._told is not None:
                    self._told()
                return self._shown.at(changed.revision)
            case _:
                return self._shown

    async def _update(self, write: Write, current: StoredObject, shares: bool) -> Decision:
        reading = write.endpoint.written.read(current.value)
        value = await converted(write.endpoint, self._key, current.revision, reading)
        making = offloaded(write.size, self._made, value, current.revision, shares)
        old, new, made = await _told(write, making)
        if new is None and await write.store.is_stale(self._key):
            new = deepcopy(old)
        if new is None:
            self._shown = Written(current.value, current.revision, unchanged=True)
            return KEEP
        if made.unstored:
            write = write._replace(context=write.context._replace(unstored=made.unstored))
        try:
            return await self._stored(write, current, old, new, made.kept)
        except Exception:
            if made.kept is not None:
                made.kept.check()  # raises Touched: the failure may be due to the change
            raise

    async def _stored(
        self, write: Write, current: StoredObject, old: JsonObject, new: JsonObject, kept: UnchangedMembers | None
    ) -> Decision:
        """Has the new object admitted, prepared and validated; decides on the result."""
        obj, admitted = await _mutated(write, new, old)
        if "ownerReferences" in obj["metadata"]:
            await drop_duplicate_owners(write, obj, after_admission=True)
        check_version(write, obj["metadata"], current.revision)
        async with Allocating(write.endpoint.hooks, write.context, obj, old) as allocating:
            prepared = await prepare_update(write, admitted, obj, old, kept)
            return allocating.decided(await self._replace(write, current, prepared, old, allocating.finish))

    def _made(self, value: bytes, revision: int, shares: bool) -> _New:
        """What the update makes of the present object."""
        endpoint, facet = self._write.endpoint, self._write.facet
        old = endpoint.parse(value)
        old["metadata"]["resourceVersion"] = str(revision)
        check_uid(self._write, self._key, self._uid, old["metadata"].get("uid", ""))
        served = endpoint.served(old)
        shown = served if facet is None else facet.before(served)
        made = self._make(Present(shown, value, revision, shares, self._convert))
        new = made.obj
        if facet is not None:
            return _New(old, new, made)
        if new is served:
            if made.withdrawn and not endpoint.resource.custom:
                return _New(old, None, made)
            new = deepcopy(new)  # admission and validation judge it: who may not write must not get the object, either
        return _New(old, new if endpoint.to_storage is None else endpoint.to_storage(new), made)

    def _made_without(self) -> _New:
        made = self._make(Present(None, convert=self._convert))
        return _New({}, made.obj, made)

    async def _replace(
        self, write: Write, current: StoredObject, prepared: Prepared, old: JsonObject, finish: Finish | None
    ) -> Decision:
        """Decides to keep an unchanged object, to remove one whose last finalizer is gone, or to store the new one."""
        obj, kept, dry_run = prepared.obj, prepared.kept, write.options.dry_run
        link = obj["metadata"].pop("selfLink", "")
        if finalized(write.endpoint.object_strategy, obj, old):
            self._shown = Written(await encoded(write, prepared), current.revision)
            return KEEP if dry_run else Delete(_then_released(write, old, finish))
        unchanged = kept.is_all_of(obj) if kept is not None else await _same(prepared, old)
        if unchanged and write.endpoint.written.is_current(current) and not await write.store.is_stale(self._key):
            self._shown = Written(current.value, current.revision, unchanged=True, link=link if dry_run else "")
            return KEEP
        value = await encoded(write, prepared)
        shown = await read_back(write, value, prepared.size)
        self._shown = Written(shown, current.revision, link=link if dry_run else "")
        if (on_updated := write.endpoint.strategy.on_updated) is not None:
            self._told = partial(on_updated, obj, old)
        return KEEP if dry_run else await put(write, self._key, current.value, value, prepared.charge, finish)

    async def _create(self, write: Write) -> Decision:
        """Creates the missing object of an update or apply; raises StatusError 404 if that is not allowed."""
        context, resource = write.context, write.resource
        if not self._allow_create:
            raise status.not_found(resource.group, resource.resource, context.name)
        check_uid(write, self._key, self._uid, "")
        _, new, made = await _told(write, offloaded(write.size, self._made_without))
        assert new is not None
        if made.unstored:
            context = context._replace(unstored=made.unstored)
            write = write._replace(context=context)
        admitted = await admit_new(write, new)
        meta = admitted.obj["metadata"]
        metadata.resource_version(meta)
        if context.enabled("CreatesAllWiped"):
            metadata.wipe_system_fields(meta)
        metadata.fill_system_fields(meta, context.now, write.endpoint.strategy.generate_name)
        async with Allocating(write.endpoint.hooks, context, admitted.obj, None) as allocating:
            # a user who creates by update or apply needs the right to create, too
            may_create = partial(require, write.endpoint.services.authorizer, with_verb(context.request, "create"))
            prepared = await prepare_new(write, admitted, admitted.obj, may_create)
            value = await encoded(write, prepared)
            shown = Written(await read_back(write, value, prepared.size), 0, created=True)
            if write.options.dry_run:
                given, link = meta.get("resourceVersion", ""), meta.get("selfLink", "")
                self._shown = shown._replace(given=given, link=link)
                return KEEP
            self._shown = shown
            return allocating.decided(await put(write, self._key, None, value, prepared.charge, allocating.finish))


async def _told(write: Write, making: Awaitable[_New]) -> _New:
    """Awaits what `making` finds, and tells its warnings; those of a refusal, too."""
    try:
        found = await making
    except StatusError as error:
        write.context.warn(error.warnings)
        raise
    if found.made.warnings:
        write.context.warn(found.made.warnings)
    return found


async def _mutated(write: Write, new: JsonObject, old: JsonObject) -> tuple[JsonObject, Admitted]:
    """Runs mutating admission; returns the new object in the storage version, too."""
    facet = write.facet
    if facet is None:
        admitted = await mutate(write, Operation.UPDATE, new, old)
        return admitted.obj, admitted
    served = write.endpoint.served(old)
    admitted = await mutate(write, Operation.UPDATE, new, facet.before(served))
    obj, to_storage = facet.into(served, admitted.obj), write.endpoint.to_storage
    return obj if to_storage is None else to_storage(obj), admitted


async def _same(prepared: Prepared, old: JsonObject) -> bool:
    """Whether an update changes nothing; large objects are compared in a thread."""
    size, obj = prepared.size, prepared.obj
    return identical(obj, old) if size < BIG else await offloaded(size, identical, obj, old)


def _then_released(write: Write, old: JsonObject, finish: Finish | None) -> Finish | None:
    """Extends `finish` to release the object's allocations after its removal."""
    hooks = write.endpoint.object_hooks
    if hooks is None:
        return finish

    async def release(done: bool) -> None:
        if finish is not None:
            await finish(done)
        if done:
            await hooks.after_delete(old, write.context)

    return release


async def prepare_update(
    write: Write, admitted: Admitted, obj: JsonObject, old: JsonObject, kept: UnchangedMembers | None = None
) -> Prepared:
    """Fills in metadata, then runs the strategy's preparation, validation and validating admission.

    Raises StatusError, and Touched if a member that is shared with the old object was changed in place.
    """
    rights, size, write = write.endpoint.rights, admitted.size, as_admitted(write, admitted.replaced)
    lacking = () if rights is None else await rights.errors(write.context, obj, old)
    await offloaded(size * write.endpoint.strategy.weight, _prepare_update, write, obj, old, lacking)
    if kept is not None:
        kept.check()
    charge = await validate(write, admitted, obj, old)
    return Prepared(obj, size, write.context, admitted.replaced, charge, kept)


def _prepare_update(write: Write, obj: JsonObject, old: JsonObject, lacking: Sequence[FieldError]) -> None:
    """Prepares and validates; `lacking` are the errors of rights that the user lacks."""
    resource, strategy, context = write.resource, write.endpoint.strategy, write.context
    meta, old_meta = obj["metadata"], old["metadata"]
    metadata.match_namespace(meta, metadata.expected_namespace(resource, context.namespace))
    metadata.keep_generation(meta, old_meta)
    strategy.prepare_for_update(obj, old, context)
    meta = obj["metadata"]  # read again: for a status update, the strategy has replaced it by the old one
    metadata.carry_over(meta, old_meta)
    errors = validate_object_meta(meta, resource.namespaced, name_is_path_segment, standard_finalizers=False)
    errors += validate_object_meta_update(
        meta,
        old_meta,
        built_in=strategy.rechecks_metadata,
        standard_finalizers=strategy.standard_finalizers,
        checked=not errors,
    )
    judged = context.with_metadata_errors(errors)
    found = judge(write, lambda: strategy.validate_update(judged.as_sent(obj), old, judged))
    if not strategy.signs:
        errors = [*lacking, *errors, *found]
    else:
        errors = [*errors, *found] or [*lacking]
    if errors := judged_beside(write, errors, obj, old):
        raise invalid(write, errors, obj)
    if strategy.warnings_on_update is not None:
        context.warn(strategy.warnings_on_update(obj, old, context))
    if strategy.canonicalize is not None:
        strategy.canonicalize(obj)
    keep_timestamps(obj, old)
