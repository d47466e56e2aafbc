"""Changes of the encryption configuration: the newest one stays in force, also if loading an older one ends later."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gateway.encryption.encryption import Encryption
from gateway.encryption.resources import KeyResources
from tests.integration.encryption.etcd import IDENTITY, by_key, configured, kms
from tests.integration.encryption.kms_process import Kms

SECRET = b"/registry/secrets/default/s"
KEYS = KeyResources(b"/registry/", {b"secrets": ("", "secrets")})


async def test_the_newest_configuration_stays_in_force(tmp_path: Path, plugin: Kms) -> None:
    file = tmp_path / "e.json"
    encryption = Encryption(configured(file, by_key("aesgcm", "a"), IDENTITY), KEYS, "test")
    await encryption.start()
    changed = encryption.followed()
    in_force: list[bytes] = []
    done = asyncio.Event()

    def note() -> None:
        in_force.append(b"again")
        done.set()

    encryption.on_change(note)
    plugin.tell(key="one", delay=1)
    configured(file, kms("slow", plugin.socket), IDENTITY)
    changed.reload()
    await asyncio.sleep(0)  # the KMS plug-ins of the configuration are being checked
    configured(file, by_key("aesgcm", "b"), IDENTITY)
    changed.reload()
    await done.wait()
    assert (await encryption.out(SECRET, b"{}")).startswith(b"k8s:enc:aesgcm:v1:b:")
    while going_on := [each for each in asyncio.all_tasks() if "Encryption._replace" in repr(each.get_coro())]:
        await asyncio.wait(going_on)
    assert in_force == [b"again"]  # the older one never came into force after it
    assert (await encryption.out(SECRET, b"{}")).startswith(b"k8s:enc:aesgcm:v1:b:")
    await encryption.close()
