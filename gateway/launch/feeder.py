"""The feeder, which reads etcd for all workers (--shared-cache): its parts and its tasks."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.access.file_reload import Following
from gateway.launch.pulse import keep_beating
from gateway.launch.upkeep import kept_up
from gateway.launch.wiring import encryption_of
from gateway.memory import keep_trimmed, settle_collector
from gateway.observability import process
from gateway.observability.siblings import SiblingProcesses
from gateway.observability.watchdog import keep_watch
from gateway.settings.config import Settings
from gateway.settings.release import chosen_release
from storage.etcd import EtcdClient
from storage.feed import Feed
from storage.sharing.metrics import follow
from storage.sharing.publisher import Publisher
from storage.sharing.shelf import PublishedCache

if TYPE_CHECKING:
    from gateway.encryption.encryption import Encryption


async def feed(settings: Settings, listener: socket.socket, siblings: Path, beat: Callable[[], None]) -> None:
    """Publishes the content of etcd to the workers that connect to `listener`, until SIGTERM or SIGINT.

    The workers read the feeder's metrics by a socket in the directory `siblings`. `beat` is called while the event loop
    runs. Raises the errors that end the feed or the publisher, and those of `encryption_of`.
    """
    stopping, loop = asyncio.Event(), asyncio.get_running_loop()
    for sig in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sig, stopping.set)
    encryption = encryption_of(settings)
    cache = PublishedCache(f"{settings.etcd_prefix}/".encode())
    source = Feed(EtcdClient(settings.etcd(), encryption), cache, seeds=False)
    publisher, files = Publisher(listener, cache, source), Following()
    if encryption is not None:
        await _decrypt(encryption, settings, files, partial(other_keys, cache, source))
    process.follow(chosen_release(settings))
    follow(publisher)
    runs: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
        "memory": partial(_settle, source),
        "files": partial(files.run, stopping),
        "siblings": SiblingProcesses(siblings).run,
        "watchdog": partial(keep_watch, source.ready),
        "pulse": partial(keep_beating, beat),
    }
    beside = [kept_up(name, run, stopping) for name, run in runs.items()]
    try:
        await _until(stopping, source.run(), publisher.run())
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        if encryption is not None:
            await encryption.close()


async def _until(stopping: asyncio.Event, *works: Coroutine[Any, Any, None]) -> None:
    """Runs the coroutines until the event is set or one of them ends, then cancels the rest. Raises its exception."""
    stopped, *tasks = (asyncio.ensure_future(each) for each in (stopping.wait(), *works))
    await asyncio.wait((stopped, *tasks), return_when=asyncio.FIRST_COMPLETED)
    failed = next((task.exception() for task in tasks if task.done()), None)
    for task in (stopped, *tasks):
        task.cancel()
    await asyncio.gather(stopped, *tasks, return_exceptions=True)
    if failed is not None:
        raise failed


async def _decrypt(encryption: Encryption, settings: Settings, files: Following, changed: Callable[[], None]) -> None:
    encryption.on_return(changed)
    await encryption.start()
    if settings.encryption_provider_config_automatic_reload:
        encryption.on_change(changed)
        files.add(encryption.followed())


def other_keys(cache: PublishedCache, source: Feed) -> None:
    """Loads everything again, for all workers, if some values could not be decrypted: the new keys may fit."""
    if cache.shelf.has_unreadable():
        source.load_anew()


async def _settle(source: Feed) -> None:
    """Once all is loaded: freezes the objects for the garbage collector, and trims the heap from time to time."""
    await source.ready.wait()
    settle_collector()
    await keep_trimmed()
