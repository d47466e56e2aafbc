"""An independent client, PyPI's etcd3, reads what this client has written, and the other way round."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

from storage.etcd import EtcdClient

# Its generated code is so old that today's protobuf takes it only in pure Python, a choice made per process. Both
# clients declare the same messages, and must not get in each other's way.
OTHER_CLIENT = """
import json, sys
import etcd3
import storage.etcd
host, port, prefix = sys.argv[1:]
client = etcd3.client(host=host, port=int(port))
found = [[meta.key.decode(), value.decode(), meta.mod_revision, meta.create_revision, meta.version]
         for value, meta in client.get_prefix(prefix, sort_order="ascend")]
client.put(prefix + "theirs", "foreign")
print(json.dumps(found))
"""


async def test_an_independent_client_sees_the_same(etcd_client: EtcdClient, etcd_endpoint: str, prefix: bytes) -> None:
    created = await etcd_client.create(prefix + b"a", b"1")
    updated = await etcd_client.update(prefix + b"a", b"2", created.revision)
    second = await etcd_client.create(prefix + b"b", b"3")
    host, _, port = etcd_endpoint.removeprefix("http://").replace("unix://", "unix:").rpartition(":")
    other = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", OTHER_CLIENT, host, port, prefix.decode()],
        env={**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert other.returncode == 0, other.stderr
    name = prefix.decode()
    assert json.loads(other.stdout) == [
        [name + "a", "2", updated.revision, created.revision, 2],
        [name + "b", "3", second.revision, second.revision, 1],
    ]
    theirs = await etcd_client.get(prefix + b"theirs")
    assert theirs is not None and (theirs.value, theirs.version) == (b"foreign", 1)
