"""Waits at the start of a process until an etcd is loaded into the watch cache, and checks whether it can be used."""

from __future__ import annotations

import asyncio
import logging
import time

from gateway.launch.errors import CannotServe, StopRequested
from gateway.launch.patient import LOG_INTERVAL
from gateway.settings.config import Settings
from storage.backups.marker import check_restored
from storage.database import Database
from storage.errors import OtherCluster
from storage.etcd.permanent_errors import hopeless, tls_trouble
from storage.versions import OLDEST, parse_version, survives_kill

logger = logging.getLogger(__name__)

LOOK = 0.1  # seconds between two checks of the feed
LOOKS = 50  # every so many checks, a connection to etcd is opened, to look for TLS problems


async def loaded(settings: Settings, database: Database, stopping: asyncio.Event) -> None:
    """Waits for the first load of the watch cache; logs the reason if that takes long. Raises CannotServe if waiting is
    hopeless, StopRequested if `stopping` is set first.
    """
    done = asyncio.ensure_future(database.feed.ready.wait())
    stopped = asyncio.ensure_future(stopping.wait())
    began = told = time.monotonic()
    looks = -LOOKS // 10
    try:
        while not (await asyncio.wait((done, stopped), timeout=LOOK, return_when=asyncio.FIRST_COMPLETED))[0]:
            error = database.feed.error
            if reason := hopeless(error):
                raise CannotServe(reason, passing=False)
            if looks == 0 and (reason := await tls_trouble(settings.etcd(database.servers))):
                raise CannotServe(reason, passing=False)
            looks = (looks + 1) % LOOKS
            if time.monotonic() - told >= LOG_INTERVAL:
                told = time.monotonic()
                where = {"endpoints": ",".join(database.servers), "seconds": round(told - began)}
                if error is None and database.feed.loaded:
                    logger.info("loading from etcd: %s objects so far", f"{database.feed.loaded:,}", extra=where)
                else:
                    remedy = "" if settings.embedded_etcd else "; check that it runs, and --etcd-servers"
                    logger.warning("waiting for etcd: %s%s", error or "no answer yet", remedy, extra=where)
        if not done.done():
            raise StopRequested("stopped while waiting for etcd")
    finally:
        done.cancel()
        stopped.cancel()


async def filled(database: Database, stopping: asyncio.Event) -> None:
    """Loads the caches that were set aside; logs the progress. Raises StopRequested if `stopping` is set first."""
    filling, stopped = asyncio.ensure_future(database.feed.fill()), asyncio.ensure_future(stopping.wait())
    began = time.monotonic()
    try:
        while not (await asyncio.wait((filling, stopped), timeout=LOG_INTERVAL, return_when=asyncio.FIRST_COMPLETED))[
            0
        ]:
            where = {"endpoints": ",".join(database.servers), "seconds": round(time.monotonic() - began)}
            logger.info("loading from etcd: %s objects so far", f"{database.feed.loaded:,}", extra=where)
        if not filling.done():
            raise StopRequested("stopped while waiting for etcd")
        filling.result()
    finally:
        filling.cancel()
        stopped.cancel()


async def check_etcd(settings: Settings, database: Database) -> None:
    """Checks an etcd, except a temporary embedded one. Logs a warning if its version may lose acknowledged writes.

    Raises RestoreUnfinished if a restore was interrupted; CannotServe if etcd is too old, or if the endpoints belong to
    different clusters.
    """
    if settings.embedded_etcd and settings.data_dir is None:
        return
    try:
        await database.client.compare()
    except OtherCluster as error:
        raise CannotServe(str(error), passing=False) from None
    await check_restored(database.client, settings.etcd_prefix)
    version = (await database.client.status()).version
    if parse_version(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST[:2]))
        raise CannotServe(f"etcd {version or 'of no version'} is too old: use {oldest} or later", passing=False)
    if not survives_kill(version):
        logger.warning(
            "this etcd may lose acknowledged writes when it is killed, if it has no other members: "
            "use 3.5.5 or later (or 3.4.21); `apiserver-gateway etcd install` installs one, but one on PATH is first",
            extra={"version": version},
        )
