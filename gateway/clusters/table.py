"""The control planes of a process: those that exist, by their objects in the root, and those that are awake."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator
from time import monotonic

from gateway.clusters.awake import Awake, PartMakers
from gateway.clusters.definition import ANNOUNCEMENTS, GROUP, MADE, PLURAL, READY, VERSION, ClusterDefinition, described
from gateway.clusters.door import Door
from gateway.clusters.lookups import ClusterLookups, Lookups
from gateway.clusters.outbound import OutboundRules
from gateway.clusters.roles import RolesOfVersions, known
from gateway.clusters.row import Beginning, ClusterRow, loadable
from gateway.clusters.secrets import NAMESPACE, credentials_in, name_of
from gateway.clusters.template_copy import copy_of
from gateway.clusters.templates import ClusterTemplate, ClusterTemplates
from gateway.clusters.visitors import Visitors
from gateway.http.status import StatusError, service_unavailable
from gateway.kinds.identity import GroupVersionResource
from gateway.outbound.client import Client
from gateway.outbound.places import Places, most_passed_on
from gateway.outbound.sockets import Bounds
from gateway.pieces import survive_async
from gateway.requests.context import Scope
from gateway.requests.parts import Gateway
from gateway.settings.config import Settings
from gateway.settings.control_planes import ClusterCredentials, common_prefix, settings_of
from gateway.task_group import TaskGroup
from storage.database import Database, common_of, part_of
from storage.fence import Existence, Fence
from storage.followers import ByName, follow

logger = logging.getLogger(__name__)

IDLE = 600.0  # seconds without a request or a watch after which a control plane rests
_MOST_IDLE = 32  # connections of one control plane that wait for the next call
LOOK = 60.0  # seconds between two looks
_JUST_NOW = 1.0  # seconds
_RESTORED = "the control plane has just been restored from a backup"

_SECRETS = GroupVersionResource("", "v1", "secrets")


class Table:
    """The rows, by name. A change in the root's objects ends, at once, the control planes that they no longer name."""

    def __init__(self, root: Gateway, means: PartMakers, url_of: Callable[[str], str]) -> None:
        """`root` is the gateway of the process itself; `url_of` returns the URL of a control plane for clients."""
        self._root, self._means, self._url_of = root, means, url_of
        self._rows: dict[str, ClusterRow] = {}
        self._names: dict[str, str] = {}  # by uid
        self._known: ByName[ClusterDefinition] = ByName("control planes", described, self._changed)
        self._ending: set[asyncio.Task[None]] = set()
        self._kinds = asyncio.Event()
        self._fence: Fence | None = None
        self._loads = 0  # of all objects by the feed, each of which may have missed events
        self._reaches, self._lookups = OutboundRules(root.settings.control_planes_reach), Lookups()
        self._places = Places(max(1, most_passed_on() // 2))  # of requests that all of them pass on to other servers
        self.audit = root.services.audit
        self.ready = asyncio.Event()  # the control planes that exist are known
        self.changes: asyncio.Queue[str] = asyncio.Queue()  # names, for the process that makes and ends them
        database = root.services.database
        prefix = f"{common_prefix(root.settings)}/".encode()
        self.common = common_of(database, prefix, self._stirred)
        self.common.cache.replaced, self.common.cache.loaded = self._replaced, self._close_doors
        self.templates, self.roles = ClusterTemplates(self.common.client, prefix), RolesOfVersions()
        root.endpoints.on_change(self._kinds.set)
        # two feeds of one etcd: a write below one root is a revision without events for the other
        database.feed.listen(self.common.feed.passed)
        self.common.feed.listen(database.feed.passed)

    def __iter__(self) -> Iterator[ClusterRow]:
        return iter(list(self._rows.values()))

    @property
    def names(self) -> list[str]:
        """The names of all control planes, also of those that are being deleted."""
        return list(self._known.all)

    def url_of(self, name: str) -> str:
        """The URL of a control plane for clients."""
        return self._url_of(name)

    def row(self, name: str) -> ClusterRow | None:
        """The row of a control plane; None if there is none of the name."""
        return self._rows.get(name)

    def of_uid(self, uid: str) -> ClusterRow | None:
        """The row of the control plane with a uid; None if there is none."""
        return self._rows.get(self._names.get(uid, ""))

    @property
    def uids(self) -> Collection[str]:
        """The uids of all control planes."""
        return self._names.keys()

    async def run(self) -> None:
        """Follows the objects in the root, and puts control planes to rest, until cancelled."""
        async with TaskGroup() as group:
            group.create_task(self.common.feed.run())
            group.create_task(self._rest())
            while True:
                self._kinds.clear()
                try:
                    endpoint = self._root.endpoints.of(GROUP, VERSION, PLURAL)
                except KeyError:  # the definition is yet to be made
                    await self._kinds.wait()
                    continue
                cache = endpoint.cache
                end = follow([(endpoint.database.cache, cache)], self._known)
                self.ready.set()
                try:
                    while not cache.closed and not endpoint.retired:
                        await self._kinds.wait()
                        self._kinds.clear()
                finally:
                    end()

    def _changed(self, names: Collection[str], revision: int) -> None:
        for name in names:
            now, row = self._known.all.get(name), self._rows.get(name)
            if row is not None and (now is None or now.is_ending or now.uid != row.described.uid):
                self._drop(row)
                row = None
            if now is not None and not now.is_ending:
                if row is None:
                    self._rows[name] = ClusterRow(now)
                    self._names[now.uid] = name
                else:
                    if now.version != row.described.version:
                        self._end_later(row)  # the next request loads it with the other version
                    row.described = now
                    if row.awake is not None:
                        row.awake.limit(now.limits)
            if self._fence is not None:
                self.changes.put_nowait(name)

    def _drop(self, row: ClusterRow) -> None:
        row.gone = True
        del self._rows[row.described.name]
        self._names.pop(row.described.uid, None)
        if row.awake is not None:
            row.awake.stop()  # its watches end now
        self._end_later(row)

    def _end_later(self, row: ClusterRow, stirred: bool = False) -> None:
        task = asyncio.ensure_future(self._end(row, stirred))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end(self, row: ClusterRow, stirred: bool) -> None:
        if row.waking is not None:
            await asyncio.wait([row.waking])
        await self.rest(row)
        if stirred:
            self._stirred(row.described.uid)

    async def ended(self) -> None:
        """Waits until this process has freed all deleted control planes."""
        while self._ending:
            await asyncio.wait(list(self._ending))

    def described(self, name: str) -> ClusterDefinition | None:
        """A control plane as its object describes it, also while it is being deleted."""
        return self._known.all.get(name)

    # in memory

    async def awake(self, row: ClusterRow) -> Awake:
        """The control plane of a row, which is loaded if it rests. Raises StatusError, StorageError."""
        if row.awake is not None:
            return row.awake
        if row.waking is None:
            row.waking = asyncio.create_task(self._wake(row, row.ending), name="waking a control plane")
            row.waking.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(row.waking)

    async def _wake(self, row: ClusterRow, after: asyncio.Task[None] | None = None) -> Awake:
        """Loads a control plane, once `after` is done: controllers that still run must not see their caches emptied."""
        began, restores = monotonic(), row.restores
        try:
            if after is not None:
                await asyncio.wait([after])
            credentials, (read, known) = self._needed(row), row.begun or (0.0, None)
            row.begun = None
            if known is None or monotonic() - read > _JUST_NOW:
                known = await self._beginning(row.described)
            with loadable(row):
                made = self._made(row, credentials, known)
            try:
                with made.serving():
                    await made.begin()
                    roles = self.roles.of(row.described.version, made.gateway.registry)
                    await roles.complete(made.gateway.endpoints, made.database)
                if row.restores != restores:
                    raise service_unavailable(_RESTORED)
            except BaseException:
                await made.end()
                raise
            made.limit(row.described.limits)
            row.awake, row.credentials, row.door = made, credentials, None
            if self._fence is not None:
                made.lead(self._fence)
            logger.debug(
                "a control plane is awake", extra={"cluster": row.described.name, "seconds": monotonic() - began}
            )
            return made
        finally:
            row.waking = None

    async def admit(self, row: ClusterRow, scope: Scope) -> None:
        """Returns if a request may wake the control plane of a row. Raises StatusError 401, 403, 503, StorageError."""
        door = row.door
        while door is None or door.credentials != self._needed(row):
            if row.opening is None:  # one task for all requests: clients without credentials come here too
                row.opening = asyncio.create_task(self._open(row), name="making the door of a control plane")
                row.opening.add_done_callback(lambda done: done.cancelled() or done.exception())
            door = await asyncio.shield(row.opening)
        await door.check(scope)

    async def _open(self, row: ClusterRow) -> Door:
        try:
            door, beginning = await self._new_door(row)
            if row.awake is None:
                row.door, row.begun = door, (monotonic(), beginning)
            return door
        finally:
            row.opening = None

    async def _new_door(self, row: ClusterRow) -> tuple[Door, Beginning]:
        """Makes a door from the present objects in etcd. Raises StatusError, StorageError."""
        loads, restores = self._loads, row.restores
        of, credentials = row.described, self._needed(row)
        beginning = await self._beginning(of)
        if loads != self._loads:  # a load may have missed the event of a restore
            return await self._new_door(row)
        store = self._database(of.uid, beginning).store
        with loadable(row):
            authenticator = self._means.authenticator(self._settings(of, credentials), store)
            door = Door(authenticator, self._visitors(row), credentials)
        if row.restores != restores:
            raise service_unavailable(_RESTORED)
        return door, beginning

    def _needed(self, row: ClusterRow) -> ClusterCredentials:
        credentials = self._credentials(row.described)
        if credentials is None:
            raise StatusError(503, "ServiceUnavailable", "the credentials of the control plane are yet to be made")
        return credentials

    def _credentials(self, of: ClusterDefinition) -> ClusterCredentials | None:
        secret = self._root.services.admission.objects.cached(_SECRETS, NAMESPACE, name_of(of.name))
        return None if secret is None else credentials_in(secret, of)

    def _made(self, row: ClusterRow, credentials: ClusterCredentials, beginning: Beginning) -> Awake:
        made = self._part(self._settings(row.described, credentials), row.described.uid, beginning)
        self._visitors(row).enter(made.gateway.services.authenticator)
        return made

    def _settings(self, of: ClusterDefinition, credentials: ClusterCredentials) -> Settings:
        root, url = self._root.settings, self.url_of(of.name)
        return settings_of(root, of.name, of.uid, url, credentials, of.version)

    def _visitors(self, row: ClusterRow) -> Visitors:
        return Visitors(self._root.services.authenticator, lambda: None if row.gone else row.described)

    def scratch(self, part: str, fence: Fence, version: str) -> Awake:
        """A control plane for the server itself, of no object: its part of etcd has another name than all others. It
        writes only while the fence is held. Raises ValueError for a version that this server does not have.
        """
        settings = settings_of(self._root.settings, part, part, self.url_of(part), ClusterCredentials("", ""), version)
        return self._part(settings, part, (fence, None))

    async def _beginning(self, of: ClusterDefinition) -> Beginning:
        """The fence of a control plane's writes, and the objects that it begins with. Raises StorageError."""
        root, uid = self.common.root, of.uid.encode()
        existence = Existence(root + uid + b"/" + MADE, root + ANNOUNCEMENTS + uid)
        return existence, await self.templates.seeds(of.uid, await existence.learn(self.common.client))

    async def copy_of(self, of: ClusterDefinition) -> tuple[ClusterTemplate, str]:
        """A template of a control plane's present objects, and the digest of its default roles. Raises TooMuch,
        StorageError.
        """
        database = self._database(of.uid, await self._beginning(of))
        roles = await known(database)
        return await copy_of(database.client, database.cache.root), roles

    def _database(self, name: str, beginning: Beginning) -> Database:
        return part_of(self.common, self._root.services.database, name, *beginning)

    def _part(self, settings: Settings, name: str, beginning: Beginning = (None, None)) -> Awake:
        database = self._database(name, beginning)
        bounds = Bounds(self._reaches, ClusterLookups(self._lookups))
        client = Client(altogether=_MOST_IDLE, places=self._places, bounds=bounds)
        return Awake(settings, database, self.common, self._means, client)

    def _stirred(self, uid: str) -> None:
        """Wakes a control plane that another process has changed, so that the controllers of this process handle the
        changes.
        """
        row = self.of_uid(uid)
        if row is None or row.described.phase != READY or self._fence is None:
            return
        if row.awake is None and row.waking is None:
            asyncio.ensure_future(self.awake(row)).add_done_callback(lambda done: done.cancelled() or done.exception())

    def _replaced(self, uid: str) -> None:
        """Frees the memory of a control plane whose objects a restore has exchanged. The next request loads it; where
        its controllers run, it is loaded at once.
        """
        row = self.of_uid(uid)
        if row is None:
            return
        row.restores += 1
        row.door = row.begun = None
        if row.awake is not None:
            row.awake.stop()
        self._end_later(row, stirred=True)

    def _close_doors(self) -> None:
        """Makes all doors anew, because the event of a restore may have been missed."""
        self._loads += 1
        for row in self:
            row.door = row.begun = None

    async def _rest(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            for row in self:
                await survive_async(self._rest_if_idle, row, self._tell_restless, None)

    async def _rest_if_idle(self, row: ClusterRow) -> None:
        if row.awake is not None and row.credentials != self._credentials(row.described):
            return await self.rest(row)  # so that a token that was removed from the Secret is not valid any more
        since = None if row.awake is None else row.awake.rests_since()
        idle = 0.0 if since is None else monotonic() - since
        if row.awake is not None and LOOK <= idle < 2 * LOOK:
            row.awake.settle()
        if idle > IDLE:
            await self.rest(row)

    def _tell_restless(self, row: ClusterRow, error: Exception) -> None:
        logger.warning("a control plane could not be unloaded", exc_info=error, extra={"cluster": row.described.name})

    async def rest(self, row: ClusterRow) -> None:
        """Drops a control plane from memory; returns when all its tasks have ended. The next request wakes it."""
        awake, row.awake = row.awake, None
        if awake is not None:
            row.ending = asyncio.create_task(awake.end(), name="putting a control plane to rest")
        if row.ending is not None:
            await asyncio.shield(row.ending)

    # leadership

    def lead(self, fence: Fence) -> None:
        """Runs the controllers of all control planes that are awake, from now on."""
        self._fence = fence
        for row in self:
            if row.awake is not None:
                row.awake.lead(fence)

    async def follow(self) -> None:
        """Stops the controllers of all control planes."""
        self._fence = None
        await asyncio.gather(*(row.awake.follow() for row in self if row.awake is not None))

    async def begin_anew(self, name: str) -> None:
        """Restarts the controllers of a control plane, if they run, so that they read their files."""
        row = self._rows.get(name)
        if row is not None and row.awake is not None and self._fence is not None:
            awake, fence = row.awake, self._fence
            await awake.follow()
            if row.awake is awake and self._fence is fence:
                awake.lead(fence)

    def stop(self) -> None:
        """Ends all watches: the process stops."""
        for row in self:
            if row.awake is not None:
                row.awake.stop()

    async def close(self) -> None:
        """Ends everything."""
        for row in self:
            self._drop(row)
        await self.ended()
