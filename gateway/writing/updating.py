"""Changes a stored object, beginning with its cached version; tries again while other writers are faster."""

from __future__ import annotations

from collections.abc import Awaitable
from copy import deepcopy
from typing import NamedTuple

from gateway.access.authorization import require, with_verb
from gateway.apply import keep_timestamps
from gateway.http import status
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, identical
from gateway.kinds import metadata
from gateway.kinds.attributes import Operation
from gateway.reading.unreadable import write_error
from gateway.validation.names import name_is_path_segment
from gateway.validation.objectmeta import validate_object_meta, validate_object_meta_update
from gateway.writing.allocating import Allocating
from gateway.writing.conflicts import check_uid, check_version
from gateway.writing.converting import Unconverted, conversions_of
from gateway.writing.creating import admit_new, prepare_new
from gateway.writing.deletion_plan import finalized
from gateway.writing.making import Made, MakeObject, Present
from gateway.writing.offload import BIG, offloaded
from gateway.writing.owners import drop_duplicate_owners
from gateway.writing.unchanged_members import keeps
from gateway.writing.write import (
    Write,
    Written,
    asked_outside,
    encoded,
    invalid,
    judge,
    judged_beside,
    mutate,
    put,
    read_back,
    validate,
)
from storage.change import KEEP, Changed, Decision, Delete, Finish, Outcome, change
from storage.errors import AwaitedObject, CorruptObject, StoredObject


async def update_object(write: Write, make: MakeObject, *, uid: str = "", allow_create: bool = False) -> Written:
    """Makes the new object from the present one by `make`, and stores it; tries again if another writer was faster.

    `uid` is a precondition. With `allow_create` a missing object is created. Raises StatusError.
    """
    endpoint, attributes = write.endpoint, write.attributes
    key = endpoint.key(attributes.namespace, attributes.name)
    update = _Update(write, make, key, uid, allow_create)
    try:
        changed = await change(write.store, key, update.decide)
    except AwaitedObject:
        raise  # the caller waits for it
    except CorruptObject as error:
        if error.key != key:  # an object beside it
            raise
        raise write_error(endpoint, error) from None
    return update.written(changed)


async def _same(write: Write, obj: JsonObject, old: JsonObject) -> bool:
    """Whether an update changes nothing; large objects are compared in a thread."""
    return identical(obj, old) if write.size < BIG else await offloaded(write.size, identical, obj, old)


class _New(NamedTuple):
    """The present object and the new one, in the storage version (a facet's new object: in its own version).

    `new` is None if the update changes nothing, so that admission is not needed.
    """

    old: JsonObject
    new: JsonObject | None
    made: Made


class _Update:
    """The state of an update in progress: the decision for the present version, and the object for the answer."""

    def __init__(self, write: Write, make: MakeObject, key: bytes, uid: str, allow_create: bool) -> None:
        self._write, self._make, self._key, self._uid, self._allow_create = write, make, key, uid, allow_create
        self._warned = len(write.attributes.warnings)
        self._shown = Written(b"", 0)
        self._conversions = conversions_of(write.endpoint)
        facet, own = write.facet, write.endpoint.convert if self._conversions is None else self._conversions
        self._convert = own if facet is None else facet.endpoint.convert

    async def decide(self, current: StoredObject | None) -> Decision:
        """Decides on the present version, in as many attempts as are needed. Each attempt begins from scratch.

        There are two reasons for another attempt, both before any admission webhook is called. A conversion webhook
        must convert an object first (Unconverted), or a member that is shared with the old object was changed in
        place. If another writer was faster, `storage.change` calls this method again.
        """
        write = self._write
        if current is not None:
            write.size = max(write.size, len(current.value))
        shares = current is not None and self._shares()
        while True:
            self._begin()
            try:
                return await (self._create() if current is None else self._update(current, shares))
            except Unconverted as missing:
                assert self._conversions is not None
                await self._conversions.supply(missing)
            except Exception:
                if write.kept is None or write.kept.is_intact():
                    raise
                shares = False

    def _shares(self) -> bool:
        """Whether the new object may share members with the present one."""
        write = self._write
        return write.facet is None and keeps(write.endpoint) and not asked_outside(write, Operation.UPDATE)

    def _begin(self) -> None:
        """Resets the write for a new attempt."""
        write = self._write
        del write.attributes.warnings[self._warned :]
        write.kept, write.admission = None, None

    def written(self, changed: Changed) -> Written:
        """The result for the answer."""
        match changed.outcome:
            case Outcome.CREATED:
                return self._shown.at(changed.revision, created=True)
            case Outcome.UPDATED:
                return self._shown.at(changed.revision)
            case _:
                return self._shown

    async def _update(self, current: StoredObject, shares: bool) -> Decision:
        write, endpoint = self._write, self._write.endpoint
        value = await endpoint.written.read(current.value)
        old, new, made = await self._told(offloaded(write.size, self._made, value, current.revision, shares))
        write.attributes.unstored, write.kept = made.unstored, made.kept
        if new is None and await write.store.is_stale(self._key):
            new = deepcopy(old)
        if new is None:
            self._shown = Written(current.value, current.revision, unchanged=True)
            return KEEP
        obj = await self._mutated(new, old)
        if "ownerReferences" in obj["metadata"]:
            await drop_duplicate_owners(write, obj, after_admission=True)
        check_version(write, obj["metadata"], current.revision)
        async with Allocating(endpoint.hooks, write.attributes, obj, old) as allocating:
            await prepare_update(write, obj, old)
            return allocating.decided(await self._replace(current, obj, old, allocating.finish))

    async def _mutated(self, new: JsonObject, old: JsonObject) -> JsonObject:
        """Runs mutating admission; returns the new object in the storage version."""
        write, facet = self._write, self._write.facet
        if facet is None:
            obj = await mutate(write, Operation.UPDATE, new, old)
            assert obj is not None
            return obj
        served = write.endpoint.served(old)
        shown = await mutate(write, Operation.UPDATE, new, facet.before(served))
        assert shown is not None
        obj, to_storage = facet.into(served, shown), write.endpoint.to_storage
        return obj if to_storage is None else to_storage(obj)

    async def _told(self, making: Awaitable[_New]) -> _New:
        """Awaits what `making` finds, and tells its warnings; those of a refusal, too."""
        warnings = self._write.attributes.warnings
        try:
            found = await making
        except StatusError as error:
            warnings += error.warnings
            raise
        warnings += found.made.warnings
        return found

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
            if not endpoint.resource.custom and not asked_outside(self._write, Operation.UPDATE):
                return _New(old, None, made)
            new = deepcopy(new)  # it must be validated, since its CRD may have changed, or webhooks must see it
        return _New(old, new if endpoint.to_storage is None else endpoint.to_storage(new), made)

    def _made_without(self) -> _New:
        made = self._make(Present(None, convert=self._convert))
        return _New({}, made.obj, made)

    async def _replace(
        self, current: StoredObject, obj: JsonObject, old: JsonObject, finish: Finish | None
    ) -> Decision:
        """Decides to keep an unchanged object, to remove one whose last finalizer is gone, or to store the new one."""
        write, dry_run = self._write, self._write.options.dry_run
        link = obj["metadata"].pop("selfLink", "")
        if finalized(write.endpoint.object_strategy, obj, old):
            self._shown = Written(await encoded(write, obj), current.revision)
            return KEEP if dry_run else Delete(_then_released(write, old, finish))
        unchanged = await _same(write, obj, old) if write.kept is None else write.kept.is_all_of(obj)
        if unchanged and write.endpoint.written.is_current(current) and not await write.store.is_stale(self._key):
            self._shown = Written(current.value, current.revision, unchanged=True, link=link if dry_run else "")
            return KEEP
        value = await encoded(write, obj)
        self._shown = Written(await read_back(write, value), current.revision, link=link if dry_run else "")
        return KEEP if dry_run else await put(write, value, finish)

    async def _create(self) -> Decision:
        """Creates the missing object of an update or apply; raises StatusError 404 if that is not allowed."""
        write, attributes, resource = self._write, self._write.attributes, self._write.resource
        if not self._allow_create:
            raise status.not_found(resource.group, resource.resource, attributes.name)
        check_uid(write, self._key, self._uid, "")
        _, new, made = await self._told(offloaded(write.size, self._made_without))
        assert new is not None
        write.attributes.unstored = made.unstored
        obj = await admit_new(write, new)
        meta = obj["metadata"]
        metadata.resource_version(meta)
        metadata.fill_system_fields(meta, attributes.now)
        async with Allocating(write.endpoint.hooks, attributes, obj, None) as allocating:
            await prepare_new(write, obj)
            # a user who creates by update or apply needs the right to create, too
            await require(write.endpoint.services.authorizer, with_verb(attributes.request, "create"))
            value = await encoded(write, obj)
            shown = Written(await read_back(write, value), 0, created=True)
            if write.options.dry_run:
                given, link = meta.get("resourceVersion", ""), meta.get("selfLink", "")
                self._shown = shown._replace(given=given, link=link)
                return KEEP
            self._shown = shown
            return allocating.decided(await put(write, value, allocating.finish))


def _then_released(write: Write, old: JsonObject, finish: Finish | None) -> Finish | None:
    """Extends `finish` to release the object's allocations after its removal."""
    hooks = write.endpoint.object_hooks
    if hooks is None:
        return finish

    async def release(done: bool) -> None:
        if finish is not None:
            await finish(done)
        if done:
            await hooks.after_delete(old, write.attributes)

    return release


async def prepare_update(write: Write, obj: JsonObject, old: JsonObject) -> None:
    """Fills in metadata, then runs the strategy's preparation, validation and validating admission.

    Raises StatusError, and Touched if a member that is shared with the old object was changed in place.
    """
    if (rights := write.endpoint.rights) is not None:
        write.attributes.access_errors = await rights.errors(write.attributes, obj, old)
    await offloaded(write.effort, _prepare_update, write, obj, old)
    if write.kept is not None:
        write.kept.check()
    await validate(write, obj, old)


def _prepare_update(write: Write, obj: JsonObject, old: JsonObject) -> None:
    resource, strategy, attributes = write.resource, write.endpoint.strategy, write.attributes
    meta, old_meta = obj["metadata"], old["metadata"]
    metadata.match_namespace(meta, metadata.expected_namespace(resource, attributes.namespace))
    metadata.keep_generation(meta, old_meta)
    strategy.prepare_for_update(obj, old, attributes)
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
    attributes.metadata_errors = errors
    found = judge(write, lambda: strategy.validate_update(obj, old, attributes))
    if not strategy.signs:
        errors = [*attributes.access_errors, *errors, *found]
    else:
        errors = [*errors, *found] or [*attributes.access_errors]
    if errors := judged_beside(write, errors, obj, old):
        raise invalid(write, errors, obj)
    if strategy.warnings_on_update is not None:
        attributes.warnings += strategy.warnings_on_update(obj, old, attributes)
    if strategy.canonicalize is not None:
        strategy.canonicalize(obj)
    keep_timestamps(obj, old)
