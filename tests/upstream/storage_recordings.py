"""Records what a kube-apiserver writes to etcd by default: tests/integration/storage_form/recording.json.gz.

    python -m tests.upstream storage_recordings --server https://127.0.0.1:6443 --token TOKEN
        --etcd http://127.0.0.1:2379

An object of every kind is created, as for tests/upstream/protobuf_recordings.py, and deleted in the end. The file holds
"keys" (key, value in base64; in the order of their revisions) and "answers": path -> what the server answers to a GET.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from storage.etcd import EtcdClient, EtcdSettings
from tests.upstream.protobuf_recordings import NAME, Server, create

ROOT = Path(__file__).resolve().parents[2]

TARGET = ROOT / "tests" / "integration" / "storage_form" / "recording.json.gz"
SELECTED = "?labelSelector=recorded%3Dyes"
# keys that replicas share, and CRDs, whose storage version is not a served one
LEFT_OUT = ("masterleases/", "peerserverleases/", "leases/kube-system/", "apiextensions.k8s.io/")


async def stored(endpoint: str) -> list[tuple[str, str]]:
    """The keys and values under /registry/, in the order in which they were written."""
    async with EtcdClient(EtcdSettings((endpoint,))) as client:
        found = (await client.prefix(b"/registry/")).kvs
    found.sort(key=lambda kv: kv.mod_revision)
    keys = ((kv.key.decode(), base64.b64encode(kv.value).decode()) for kv in found)
    return [each for each in keys if not each[0].removeprefix("/registry/").startswith(LEFT_OUT)]


def signing_request(server: Server) -> str:
    """The path of a CertificateSigningRequest, whose object needs a real request."""
    command = [
        "openssl",
        "req",
        "-new",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "/dev/null",
        "-subj",
        "/CN=recorded",
    ]
    request = base64.b64encode(subprocess.run(command, check=True, capture_output=True).stdout).decode()
    spec = {"request": request, "signerName": "example.com/signer", "usages": ["client auth"]}
    body = {"metadata": {"name": NAME, "labels": {"recorded": "yes"}}, "spec": spec}
    collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    status, content = server.call("POST", collection, body=body)
    assert status == 201, content
    return f"{collection}/{NAME}"


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--server", required=True, help="URL of a running kube-apiserver")
    parser.add_argument("--token", required=True, help="bearer token of one who may do anything")
    parser.add_argument("--etcd", required=True, help="URL of its etcd")
    options = parser.parse_args(words)
    server = Server(options.server, options.token)
    made = [each for each in create(server) if isinstance(each, str)]
    made += [signing_request(server), f"/api/v1/namespaces/{NAME}"]
    paths = [path for path in made if "customresourcedefinitions" not in path]
    keys = asyncio.run(stored(options.etcd))
    asked = [*paths, *(f"{path.rpartition('/')[0]}{SELECTED}" for path in paths)]
    answers = {path: json.loads(server.call("GET", path)[1]) for path in asked}
    for path in made:
        server.call("DELETE", path)
    TARGET.parent.mkdir(exist_ok=True)
    recording = {"keys": keys, "answers": answers}
    TARGET.write_bytes(gzip.compress(json.dumps(recording, separators=(",", ":")).encode(), mtime=0))
    print(f"{len(keys)} keys, {len(answers)} answers", file=sys.stderr)
    return 0
