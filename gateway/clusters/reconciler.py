"""Makes the control planes that the root's objects describe, and removes those that are deleted. The leader does so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from gateway.clusters.default_objects import SCRATCH, clear, clear_unmade, default_objects, is_made
from gateway.clusters.definition import (
    ANNOUNCEMENTS,
    ENDING,
    FINALIZER,
    GROUP,
    KIND,
    MADE,
    MAKING,
    PLURAL,
    READY,
    VERSION,
    ClusterDefinition,
    definition,
)
from gateway.clusters.secrets import (
    NAMESPACE,
    add_authority,
    follow_ca,
    lacks_authority,
    name_of,
    new_client_authority,
    new_secret,
    present_ca,
)
from gateway.clusters.table import Table
from gateway.clusters.template_copy import TooMuch
from gateway.clusters.templates import ClusterTemplate
from gateway.clusters.unfinished import UnfinishedWork
from gateway.http.user import ITSELF
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds.metadata import now_text
from gateway.requests.parts import Gateway
from gateway.task_group import TaskGroup
from gateway.work_queue import WorkQueue, work
from gateway.writing.actor import Actor
from gateway.writing.options import DeleteOptions
from storage.errors import StorageError
from storage.etcd.operations import delete
from storage.fence import Fence
from storage.leading import Leading

logger = logging.getLogger(__name__)

MANAGER = "apiserver-gateway"
_DEFINITIONS = "apiextensions.k8s.io", "v1", "customresourcedefinitions"
_WORKERS = 4
_LATER = 300.0  # seconds until it is tried again to copy a control plane that had too much


async def install(root: Gateway) -> None:
    """Makes the definition of control planes, and updates it after an upgrade. Raises StatusError, StorageError."""
    actor = Actor(root.endpoints, ITSELF, manager=MANAGER)
    endpoint, wanted = actor.of(*_DEFINITIONS), definition()

    def update(obj: JsonObject) -> bool:
        before = obj["spec"].get("versions")
        obj["spec"]["versions"] = wanted["spec"]["versions"]
        return bool(before != obj["spec"]["versions"])

    if await actor.create(endpoint, "", wanted) is None:
        await actor.change(endpoint, "", wanted["metadata"]["name"], update)


class Reconciler:
    """The work of the leader."""

    def __init__(self, root: Gateway, table: Table) -> None:
        self._root, self._table = root, table
        self._queue: WorkQueue[str] = WorkQueue("control_planes", max_delay=60.0)
        self._actor = Actor(root.endpoints, ITSELF, manager=MANAGER)
        self._leading = Leading(table.common.client, Fence(b"", lambda _: False))  # until it leads
        self._templates: dict[str, tuple[ClusterTemplate, str]] = {}  # by version; with the digest of all default roles
        self._making, self._copying = asyncio.Lock(), asyncio.Lock()

    async def lead(self, fence: Fence) -> None:
        """Makes and ends control planes, and runs the controllers of those that are awake, until cancelled."""
        services = self._root.services
        store = services.store
        self._actor = Actor(self._root.endpoints, ITSELF, {store: store.fenced(fence)}, MANAGER)
        self._leading = Leading(self._table.common.client, fence)
        await self._root.served.wait()
        self._table.lead(fence)
        try:
            async with TaskGroup() as group:
                group.create_task(work(self._queue, self._reconcile, _WORKERS))
                group.create_task(UnfinishedWork(self._table, self._leading).run())
                for name in self._table.names:
                    self._queue.add(name)
                while True:
                    self._queue.add(await self._table.changes.get())
        finally:
            await self._table.follow()

    async def _reconcile(self, name: str) -> None:
        """Makes or ends one control plane. The caller repeats it after StatusError, StorageError and OSError."""
        described = self._table.described(name)
        if described is None:
            return
        if described.is_ending:
            await self._end(described)
        elif described.phase != READY or not described.is_finalized:
            await self._make(described)
        else:
            await self._complete_secret(described)

    def ca_changed(self) -> None:
        """Follows the file of the serving certificate's CA, which control planes give to their clients."""
        self._templates.clear()
        self._table.templates.look_anew()
        for name in self._table.names:
            self._queue.add(name)

    async def _complete_secret(self, of: ClusterDefinition) -> None:
        """Writes the present CA into the Secret of a control plane that has a former one, and a CA for its clients into
        one without. Raises StatusError, StorageError, OSError.
        """
        secrets = self._actor.of("", "v1", "secrets")
        entry = secrets.store.cached_entry(secrets.key(NAMESPACE, name_of(of.name)))
        if entry is None or of.uid not in (self._owners(of.name) or ()):
            return
        if lacks_authority(entry.parsed()):
            authority = new_client_authority(of)

            def add(obj: JsonObject) -> bool:
                lacks = lacks_authority(obj)
                if lacks:
                    add_authority(obj, authority)
                return lacks

            await self._actor.change(secrets, NAMESPACE, name_of(of.name), add)
        ca = present_ca(self._root.settings)
        if follow_ca(loads(dumps(entry.parsed())), ca):
            await self._actor.change(secrets, NAMESPACE, name_of(of.name), lambda obj: follow_ca(obj, ca))
            await self._table.begin_anew(of.name)

    async def _make(self, of: ClusterDefinition) -> None:
        if not of.is_finalized and not await self._change(of, _finalize):
            return
        url = self._table.url_of(of.name)
        client, root = self._table.common.client, self._prefix(of)
        secrets = self._actor.of("", "v1", "secrets")
        if await self._actor.create(secrets, NAMESPACE, new_secret(self._root.settings, of, url)) is None:
            await self._claim(of)
        if not await is_made(client, root):
            await clear_unmade(self._leading, root)
            try:
                template, roles = await (self._copied(of) if of.template else self._objects(of.version))
            except TooMuch as error:
                await self._tell(of, MAKING, "False", "TemplateTooLarge", f"{of.template} cannot be copied: {error}")
                self._queue.add_after(of.name, _LATER)
                return
            uid = of.uid if of.template else ""
            revision = await self._table.templates.begin(self._leading, root, template, uid, roles)
            self._root.feed.passed(revision)
            await self._table.common.cache.reach(revision)  # so that this write wakes no task
        await self._tell(of, READY, "True", "Made", "requests are answered", url)
        logger.info("a control plane is made", extra={"cluster": of.name})

    async def _claim(self, of: ClusterDefinition) -> None:
        """Removes the Secret of an earlier control plane of the name. Raises StatusError, StorageError."""
        secrets = self._actor.of("", "v1", "secrets")
        owners = self._owners(of.name)
        if owners is None or of.uid in owners:
            return
        if not owners:
            raise StorageError(f"the Secret {NAMESPACE}/{name_of(of.name)} is not of a control plane: delete it")
        await self._actor.delete(secrets, NAMESPACE, name_of(of.name), DeleteOptions())
        raise StorageError("a Secret of an earlier control plane was in its place")

    def _owners(self, name: str) -> set[str] | None:
        """The uids of the control planes that own the Secret of a name; None without a Secret."""
        secrets = self._actor.of("", "v1", "secrets")
        entry = secrets.store.cached_entry(secrets.key(NAMESPACE, name_of(name)))
        if entry is None:
            return None
        owners = entry.parsed()["metadata"].get("ownerReferences") or []
        return {each["uid"] for each in owners if each["kind"] == KIND}

    async def _copied(self, of: ClusterDefinition) -> tuple[ClusterTemplate, str]:
        """The present objects of a control plane's template, and the digest of its default roles.

        Raises StatusError, TooMuch, StorageError, also if it is not ready.
        """
        async with self._copying:  # each takes much memory
            found = self._table.described(of.template)
            if found is None or found.phase != READY or found.is_ending:
                await self._tell(of, MAKING, "False", "NoTemplate", f"the control plane {of.template} is not ready")
                raise StorageError(f"the template of the control plane {of.name} is not ready")
            return await self._table.copy_of(found)

    async def _objects(self, version: str) -> tuple[ClusterTemplate, str]:
        """The objects that a control plane of a version begins with, and the digest of its default roles, "" if some
        are missing.

        Raises Fenced, StorageError, OSError; ValueError for a version that this server does not have.
        """
        async with self._making:
            found = self._templates.get(version)
            if found is None:
                leading = self._leading
                scratch = self._table.scratch(SCRATCH, leading.fence, version)
                roles = self._table.roles.of(version, scratch.gateway.registry)
                with scratch.serving():
                    made, has_roles = await default_objects(scratch, leading)
                self._root.feed.passed(await self._table.templates.keep(leading, made))
                found = self._templates[version] = made, roles.digest if has_roles else ""
            return found

    async def _end(self, of: ClusterDefinition) -> None:
        if not of.is_finalized:
            return
        if of.phase != ENDING:
            await self._tell(of, ENDING, "False", "Deleted", "its keys are being removed")
        await self._table.ended()
        client, root = self._table.common.client, self._prefix(of)
        templates = self._table.templates
        await templates.adopt(self._leading, of.uid, await client.get(root + MADE))
        self._root.feed.passed(await clear(self._leading, root))
        await self._leading.txn([], [delete(self._table.common.root + ANNOUNCEMENTS + of.uid.encode())])
        self._root.feed.passed(await templates.end(self._leading, of.uid))  # last: no writer is left below the root
        if of.uid in (self._owners(of.name) or ()):
            secrets = self._actor.of("", "v1", "secrets")
            await self._actor.delete(secrets, NAMESPACE, name_of(of.name), DeleteOptions())
        await self._change(of, _unfinalize)
        logger.info("a control plane is deleted", extra={"cluster": of.name})

    def _prefix(self, of: ClusterDefinition) -> bytes:
        return self._table.common.root + of.uid.encode() + b"/"

    async def _change(self, of: ClusterDefinition, alter: Callable[[JsonObject], bool]) -> bool:
        """Changes the object; returns whether it is still there."""
        return await self._actor.change(self._actor.of(GROUP, VERSION, PLURAL), "", of.name, alter, uid=of.uid)

    async def _tell(
        self, of: ClusterDefinition, phase: str, ready: str, reason: str, message: str, url: str = ""
    ) -> None:
        """Writes the status."""

        def alter(obj: JsonObject) -> bool:
            before = obj.get("status") or {}
            status = obj["status"] = dict(before)
            known: JsonObject = next((each for each in before.get("conditions") or () if each["type"] == "Ready"), {})
            since = known["lastTransitionTime"] if known.get("status") == ready else now_text()
            condition = {"type": "Ready", "status": ready, "reason": reason, "message": message}
            status |= {"phase": phase, "conditions": [{**condition, "lastTransitionTime": since}]}
            if url:
                status |= {"url": url, "secret": name_of(of.name)}
            return bool(status != before)

        endpoint = self._actor.of(GROUP, VERSION, PLURAL, "status")
        await self._actor.change(endpoint, "", of.name, alter, uid=of.uid)


def _finalize(obj: JsonObject) -> bool:
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if FINALIZER in finalizers:
        return False
    finalizers.append(FINALIZER)
    return True


def _unfinalize(obj: JsonObject) -> bool:
    finalizers = obj["metadata"].get("finalizers") or []
    if FINALIZER not in finalizers:
        return False
    finalizers.remove(FINALIZER)
    return True
