"""Records what a kube-apiserver answers as Tables, for the tests; or compares a server's Tables with ours.

    python -m tests.upstream tables record --server https://127.0.0.1:6443
        --token TOKEN     # writes tests/unit/kinds/columns/recorded.json
    python -m tests.upstream tables check --server … --token …
        [--corpus FILE …]             # exit 1 when a cell differs

Objects of tests/unit/kinds/columns/corpus.yaml are made first and removed afterwards. An object's status is written by
itself; one whose name starts with "gone-" has a finalizer and is deleted. ${now-90} stands for the time 90 seconds ago.
What is recorded has no sentences that describe columns. `check` compares everything that is on the server.
"""

from __future__ import annotations

import argparse
import json
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import yaml

from gateway.encodings.table import TableRow
from gateway.jsontypes import dumps, loads
from gateway.kinds.columns.custom import custom_columns
from gateway.kinds.columns.model import Columns
from gateway.kinds.columns.registry import columns_of

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "unit" / "kinds" / "columns" / "corpus.yaml"
RECORDED = ROOT / "tests" / "unit" / "kinds" / "columns" / "recorded.json"
NAMESPACE = "tables-corpus"
TABLE = "application/json;as=Table;g=meta.k8s.io;v="
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v="
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v="
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
FRAMES = {  # answers that are recorded byte for byte: path and Accept
    "none": (f"{MAPS}?includeObject=None", TABLE + "v1"),
    "metadata": (MAPS, TABLE + "v1"),
    "metadata-beta": (f"{MAPS}?includeObject=Metadata", TABLE + "v1beta1"),
    "object": (f"{MAPS}?includeObject=Object", TABLE + "v1"),
    "one": (f"{MAPS}/three", TABLE + "v1"),
    "chunk": (f"{MAPS}?limit=1", TABLE + "v1"),
    "empty": (f"{MAPS}?labelSelector=none%3Dsuch", TABLE + "v1"),
    "empty-default": (f"/api/v1/namespaces/{NAMESPACE}/limitranges?labelSelector=none%3Dsuch", TABLE + "v1"),
    "watch": (f"{MAPS}?watch=1&resourceVersion=0&timeoutSeconds=1", TABLE + "v1"),
    "watch-none": (f"{MAPS}?watch=1&resourceVersion=0&timeoutSeconds=1&includeObject=None", TABLE + "v1"),
    "watch-end": (
        f"/api/v1/namespaces/{NAMESPACE}/pods?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
        "&resourceVersionMatch=NotOlderThan&timeoutSeconds=1&includeObject=None&labelSelector=none%3Dsuch",
        TABLE + "v1",
    ),
    "partial": (f"{MAPS}/three", PARTIAL + "v1"),
    "partial-list": (MAPS, PARTIAL_LIST + "v1"),
    "partial-list-beta": (f"{MAPS}?limit=1", PARTIAL_LIST + "v1beta1"),
    "partial-list-empty": (f"{MAPS}?labelSelector=none%3Dsuch", PARTIAL_LIST + "v1"),
}
Json = dict[str, Any]


class Server:
    """The recorded server; its certificate is not verified."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url, token
        self.context = ssl._create_unverified_context()

    def ask(self, method: str, path: str, body: Any = None, accept: str = "application/json") -> tuple[int, str, bytes]:
        """Status, the Date header, and the body."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self.token}", "Accept": accept, "Content-Type": kind}
        data = None if body is None else json.dumps(body, default=str).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self.context) as answer:
                return answer.status, answer.headers["Date"], answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers["Date"], error.read()

    def get(self, path: str, accept: str = "application/json") -> Json:
        status, _, body = self.ask("GET", path, accept=accept)
        found: Json = loads(body) if status == 200 else {}
        return found

    def resources(self) -> list[tuple[str, str, str, Json]]:
        """The resources that can be listed: path, group, version and discovery entry."""
        found = list[tuple[str, str, str, Json]]()
        groups = [("/api/v1", "", "v1")]
        for group in self.get("/apis")["groups"]:
            groups += [(f"/apis/{v['groupVersion']}", group["name"], v["version"]) for v in group["versions"]]
        for path, group, version in groups:
            for one in self.get(path).get("resources", ()):
                if "/" not in one["name"] and "list" in one["verbs"]:
                    found.append((path, group, version, one))
        return found


def documents(path: Path) -> list[Json]:
    """The objects of a corpus: a YAML stream."""

    def moment(match: re.Match[str]) -> str:
        return datetime.fromtimestamp(int(time.time()) + int(match[1]), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    text = re.sub(r"\$\{now([-+][0-9]+)\}", moment, path.read_text())
    loader = yaml.SafeLoader(text)
    loader.yaml_implicit_resolvers = {
        first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in loader.yaml_implicit_resolvers.items()
    }
    found = list[Json]()
    while loader.check_data():
        found.append(loader.get_data())
    return [one for one in found if one]


def make(server: Server, objects: list[Json]) -> list[str]:
    """Creates the objects, writes their status, and deletes those that must terminate. Returns their paths."""
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    plurals, paths = dict[tuple[str, str], tuple[str, bool]](), list[str]()
    for obj in objects:
        kind, api = obj["kind"], obj["apiVersion"]
        if (api, kind) not in plurals:
            time.sleep(1 if api.endswith(".example.com/v1") else 0)
            base = f"/apis/{api}" if "/" in api else f"/api/{api}"
            for one in server.get(base).get("resources", ()):
                if "/" not in one["name"]:
                    plurals[api, one["kind"]] = (f"{base}/{one['name']}", one["namespaced"])
                    if one["namespaced"]:
                        base_ns = f"{base}/namespaces/{NAMESPACE}/{one['name']}"
                        plurals[api, one["kind"]] = (base_ns, True)
        if (api, kind) not in plurals:
            print(f"not served: {api} {kind}", file=sys.stderr)
            continue
        collection, namespaced = plurals[api, kind]
        if namespaced:
            obj["metadata"]["namespace"] = NAMESPACE
        path = f"{collection}/{obj['metadata']['name']}"
        status, _, body = server.ask("POST", collection, obj)
        paths.append(path)
        if status != 201:
            print(f"{path}: {body.decode()[:300]}", file=sys.stderr)
            continue
        if "status" in obj:
            status, _, body = server.ask("PATCH", f"{path}/status", {"status": obj["status"]})
            if status != 200:
                print(f"{path}/status: {body.decode()[:300]}", file=sys.stderr)
        if obj["metadata"]["name"].startswith("gone-"):
            server.ask("DELETE", path)
    return paths


def remove(server: Server, paths: list[str]) -> None:
    """Deletes the created objects, and removes their finalizers."""
    for path in [*reversed(paths), f"/api/v1/namespaces/{NAMESPACE}"]:
        server.ask("PATCH", path, {"metadata": {"finalizers": None}})
        server.ask("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        if path.startswith("/api/v1/namespaces/") and path.count("/") == 4:
            namespace = server.get(path)  # there may be no controller that finalizes it
            if namespace:
                server.ask("PUT", f"{path}/finalize", {**namespace, "spec": {}})


def listed(server: Server, path: str, name: str) -> tuple[str, Json]:
    """A resource's Table with the objects, and when the server made it."""
    status, date, body = server.ask("GET", f"{path}/{name}?includeObject=Object", accept=TABLE + "v1")
    if status != 200:  # a custom resource whose CRD does not work
        print(f"{path}/{name}: {body.decode()[:300]}", file=sys.stderr)
        return date, {"rows": None, "columnDefinitions": []}
    return date, loads(body)


def record(server: Server, made: set[str]) -> Json:
    """Records the Tables of all resources, with the rows of the created objects ("pods/name")."""
    tables = list[Json]()
    for path, group, version, resource in server.resources():
        date, table = listed(server, path, resource["name"])
        rows = list[Json]()
        for row in table["rows"] or ():
            meta = row["object"]["metadata"]
            if f"{resource['name']}/{meta['name']}" in made and meta.get("namespace", NAMESPACE) == NAMESPACE:
                meta.pop("managedFields", None)
                rows.append(row)
        columns = [[c["name"], c["type"], c["format"], c["priority"]] for c in table["columnDefinitions"]]
        head = {"group": group, "version": version, "kind": resource["kind"], "columns": columns}
        tables.append({**head, "date": date, "rows": rows})
    frames = dict[str, str]()
    for name, (path, accept) in FRAMES.items():
        text = server.ask("GET", path, accept=accept)[2].decode()
        frames[name] = re.sub(r'"description":"(?:[^"\\]|\\.)*"', '"description":""', text)
    objects = server.ask("GET", MAPS)[2].decode()
    return {"version": server.get("/version")["gitVersion"], "tables": tables, "frames": frames, "objects": objects}


def differences(table: Json, columns: Columns, date: str, objects: list[Json]) -> list[str]:
    """The differences between our rows and a Table's. Ages may differ by a second."""
    found = list[str]()
    shown = [list(one[:4]) for one in columns.definitions]
    theirs = [[c["name"], c["type"], c["format"], c["priority"]] for c in table["columnDefinitions"]]
    if theirs and shown != theirs:
        found.append(f"columns {theirs}, ours {shown}")
    at = parsedate_to_datetime(date).timestamp()
    for row, obj in zip(table["rows"] or (), objects, strict=True):
        answers = []
        for now in (at - 1, at, at + 0.999, at + 1.999):
            text = TableRow(columns, dumps(obj)[1:], obj).now_text(now) + b"null}"
            answers.append(loads(text))
        wanted = [row["cells"], row.get("conditions")]
        got = [[answer["cells"], answer.get("conditions")] for answer in answers]
        cells = [[one[0][i] for one in got] for i in range(len(got[0][0]))]
        same = len(cells) == len(wanted[0]) and all(w in c for w, c in zip(wanted[0], cells, strict=True))
        if not same or wanted[1] != got[0][1]:
            found.append(f"{obj['metadata'].get('name')}: {wanted}, ours {got[1]}")
    return found


def check(server: Server) -> int:
    """Compares all Tables of the server with ours. Returns the number of differences."""
    wrong = rows = kinds = 0
    definitions = server.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
    custom = {
        (one["spec"]["group"], version["name"], one["spec"]["names"]["kind"]): version.get("additionalPrinterColumns")
        for one in definitions
        for version in one["spec"]["versions"]
    }
    stored = dict[str, list[Json]]()
    for path, group, version, resource in server.resources():
        key, kind = (group, version, resource["kind"]), resource["kind"]
        columns = custom_columns(custom[key]) if key in custom else columns_of(group, kind)
        date, table = listed(server, path, resource["name"])
        objects = [row["object"] for row in table["rows"] or ()]
        if columns.form and columns.form != f"{group}/{version}".strip("/"):
            other = "/api/v1" if columns.form == "v1" else f"/apis/{columns.form}"
            objects = [row["object"] for row in listed(server, other, resource["name"])[1]["rows"] or ()]
        stored.setdefault(kind, objects)
        kinds, rows = kinds + 1, rows + len(objects)
        for line in differences(table, columns, date, objects):
            wrong += 1
            print(f"{group}/{version} {kind}: {line}")
    print(f"{kinds} resources, {rows} rows, {wrong} differences")
    return wrong


def main(words: Sequence[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("record", "check"))
    parser.add_argument("--server", required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("--corpus", type=Path, action="append")
    parser.add_argument("--keep", action="store_true", help="leave the objects on the server")
    options = parser.parse_args(words)
    server = Server(options.server, options.token)
    paths = make(server, [obj for path in options.corpus or [CORPUS] for obj in documents(path)])
    try:
        if options.what == "check":
            return int(bool(check(server)))
        made = {"/".join(path.rsplit("/", 2)[1:]) for path in paths}
        RECORDED.write_text(json.dumps(record(server, made), indent=1, sort_keys=True) + "\n")
    finally:
        if not options.keep:
            remove(server, paths)
    return 0
