"""Runs all checks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from gateway.controllers.table import wanted
from gateway.doctor import certificates, etcd, host
from gateway.doctor.finding import Finding, fail, ok, warn
from gateway.launch.preflight import check_files, resolved
from gateway.settings.command_line import CommandLine, settings_of
from gateway.settings.config import InvalidSettings, Settings
from storage.embedded import EmbeddedEtcdError, find_binary
from storage.embedded.binary import binary_version
from storage.versions import survives_kill


def examine(given: CommandLine, environment: Mapping[str, str]) -> list[Finding]:
    """The findings about a server with these flags. Starts nothing."""
    try:
        settings = settings_of(given, environment)
    except InvalidSettings as error:
        return [fail("flags", str(error), "`apiserver-gateway serve --help` describes all flags")]
    return [*_flags(settings), *certificates.examine(settings), *asyncio.run(_asked(settings))]


async def _asked(settings: Settings) -> list[Finding]:
    of_etcd = (
        _embedded(settings) if settings.embedded_etcd else await etcd.examine(settings.etcd(), settings.etcd_prefix)
    )
    for override in settings.etcd_servers_overrides:
        found = await etcd.examine(settings.etcd(override.servers), settings.etcd_prefix)
        named = f"{override.group}/{override.resource}"
        of_etcd += [replace(each, check=f"{each.check} of {named}") for each in found]
    return [*of_etcd, *await host.examine(settings)]


def _flags(settings: Settings) -> list[Finding]:
    """Checks the flags, and the files that they name, as a start does."""
    found = []
    for look in (
        lambda: check_files(settings, touch=False),
        lambda: resolved(settings.advertise_address),
        lambda: wanted(settings.controllers),
    ):
        try:
            look()
        except InvalidSettings as error:
            found.append(fail("flags", str(error), "`apiserver-gateway serve --help` describes all flags"))
    return found or [ok("flags", "a server can start with these flags")]


def _embedded(settings: Settings) -> list[Finding]:
    check = "etcd, embedded"
    try:
        binary = find_binary()
    except EmbeddedEtcdError as error:
        return [fail(check, str(error), "`apiserver-gateway etcd install` installs one")]
    version = ".".join(map(str, binary_version(binary)))
    said = f"{binary}, version {version}"
    if not survives_kill(version):
        said += ", may lose acknowledged writes when it is killed"
        return [warn(check, said, "`apiserver-gateway etcd install` installs a newer one")]
    if settings.data_dir is None:
        return [warn(check, f"{said}; its data is deleted when the server stops", "give --data-dir to keep the data")]
    return [ok(check, said)]
