"""Records what a kube-apiserver answers in protobuf, with the same in JSON: tests/unit/encodings/recordings.json.gz.

    python -m tests.upstream protobuf_recordings --server https://127.0.0.1:6443
        --token TOKEN    # certificates are not verified

An object of every kind is created (tests/upstream/protobuf_objects.yaml and tests/unit/validation/minimal.yaml) and
deleted in the end, with its namespace. Layout, one of these an entry:

    {"path", "accept", "json": the answer, "protobuf": its bytes in base64}
    {"path", "accept", "events": [the watch's events in JSON], "frames": the watch's first bytes in base64}
"""

from __future__ import annotations

import argparse
import base64
import gzip
import http.client
import json
import secrets
import ssl
import sys
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
OBJECTS = (
    ROOT / "tests" / "unit" / "validation" / "minimal.yaml",
    ROOT / "tests" / "upstream" / "protobuf_objects.yaml",
)
TARGET = ROOT / "tests" / "unit" / "encodings" / "recordings.json.gz"
JSON, PROTOBUF = "application/json", "application/vnd.kubernetes.protobuf"
METADATA = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
NAME = f"recorded-{secrets.token_hex(3)}"  # of the namespace and of the objects
ATTEMPTS = 5

Json = dict[str, Any]


class Server:
    """A kube-apiserver, over one connection a request.

    Bodies are compact: the server keeps free-form JSON (RawExtension) with the white space that it came with, and shows
    that in protobuf only.
    """

    def __init__(self, url: str, token: str) -> None:
        self._place = urllib.parse.urlsplit(url).netloc
        self._headers = {"Authorization": f"Bearer {token}"}
        self._context = ssl._create_unverified_context()

    def call(self, method: str, path: str, accept: str = JSON, body: Json | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPSConnection(self._place, context=self._context, timeout=30)
        headers = {**self._headers, "Accept": accept, "Content-Type": JSON}
        connection.request(method, path, None if body is None else json.dumps(body, separators=(",", ":")), headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def both(self, path: str, variant: str = "") -> Json | None:
        """The same answer in both encodings; None if the object changes in between."""
        for _ in range(ATTEMPTS):
            before = self.call("GET", path, JSON + variant)[1]
            encoded = self.call("GET", path, PROTOBUF + variant)[1]
            if self.call("GET", path, JSON + variant)[1] == before:
                data = base64.b64encode(encoded).decode()
                return {"path": path, "accept": variant, "json": json.loads(before), "protobuf": data}
        print(f"{path} changes all the time", file=sys.stderr)
        return None

    def events(self, path: str, variant: str = "") -> Json:
        """The events of a watch in both encodings, up to one second."""
        watch = f"{path}?watch=true&timeoutSeconds=1&allowWatchBookmarks=true&resourceVersion=0"
        lines = self.call("GET", watch, JSON + variant)[1].splitlines()
        frames = self.call("GET", watch, PROTOBUF + ";stream=watch" + variant)[1]
        events = [json.loads(line) for line in lines]
        return {"path": path, "accept": variant, "events": events, "frames": base64.b64encode(frames).decode()}


def bodies() -> Iterator[tuple[str, Json]]:
    """The path and body of an object of every kind."""
    objects: Json = {}
    for file in OBJECTS:
        objects |= yaml.safe_load(file.read_text().replace("NAMESPACE", NAME))
    for resource, known in objects.items():
        group_version, _, plural = resource.rpartition("/")
        root = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
        place = f"{root}/namespaces/{NAME}" if known["namespaced"] else root
        metadata = {"name": NAME, **known["members"].pop("metadata", {})}
        metadata["labels"] = {"recorded": "yes", "a": "b", **metadata.get("labels", {})}
        if not plural.endswith("reviews"):
            known["members"]["metadata"] = metadata
        yield f"{place}/{plural}", {"apiVersion": group_version, "kind": known["kind"], **known["members"]}


def create(server: Server) -> Iterator[Json | str]:
    """Creates the objects. Returns the paths of those that are stored, and the answers of the others."""
    server.call("POST", "/api/v1/namespaces", body={"metadata": {"name": NAME}})
    for path, body in bodies():
        status, content = server.call("POST", path, body=body)
        answer = json.loads(content)
        if status >= 300:
            print(f"{path}: {status} {content.decode()[:300]}", file=sys.stderr)
        elif path.endswith("reviews"):
            data = base64.b64encode(server.call("POST", path, PROTOBUF, body)[1]).decode()
            yield {"path": path, "accept": "", "json": answer, "protobuf": data}
        else:
            yield f"{path}/{answer['metadata']['name']}"


def recordings(server: Server) -> Iterator[Json | None]:
    yield server.both("/api/v1/namespaces/none/pods/none")  # a Status
    for path in ("/api", "/apis", "/apis/apps", "/api/v1", "/apis/apps/v1"):
        yield server.both(path)
    made = list(create(server))
    yield from (each for each in made if isinstance(each, dict))
    paths = [each for each in made if isinstance(each, str)]
    for path in paths:
        yield server.both(path)
        yield server.both(f"{path.rpartition('/')[0]}?limit=2")
    for path in ("/api/v1/namespaces/default/services/kubernetes", paths[0]):
        yield server.both(path, METADATA)
    yield server.both("/api/v1/namespaces?limit=2", METADATA_LIST)
    yield server.events(f"/api/v1/namespaces/{NAME}/configmaps")
    yield server.events(f"/api/v1/namespaces/{NAME}/configmaps", METADATA)
    for path in paths:
        server.call("DELETE", path)
    server.call("DELETE", f"/api/v1/namespaces/{NAME}")


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--server", required=True, help="URL of a running kube-apiserver")
    parser.add_argument("--token", required=True, help="bearer token of one who may do anything")
    options = parser.parse_args(words)
    found = [each for each in recordings(Server(options.server, options.token)) if each is not None]
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in found)
    TARGET.write_bytes(gzip.compress(f"[\n{lines}\n]\n".encode(), mtime=0))
    print(f"{len(found)} answers", file=sys.stderr)
    return 0
