#!/usr/bin/env python3
"""Generates gateway/openapi/data/openapi.json: how OpenAPI documents of earlier minors differ from the catalog's.

    hack/minors/openapi.py --server https://127.0.0.1:6443 --token TOKEN    # a kube-apiserver of the minor; live
    hack/minors/openapi.py --check    # exit 1 unless the file is as this script would write it

The documents of the kube-apiserver are compared with those that this server makes of the catalog; the minor's part of
the file is replaced.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gateway.kinds.builtin import builtin_registry  # noqa: E402
from gateway.openapi.documents import Documents  # noqa: E402
from gateway.openapi.earlier import FILE  # noqa: E402
from gateway.release.minors import minor_of  # noqa: E402
from gateway.release.release import release_of  # noqa: E402
from gateway.schema.catalog import serving  # noqa: E402
from hack.catalog import Fetch, live_documents  # noqa: E402
from hack.written import written  # noqa: E402

KINDS = "x-kubernetes-group-version-kind"
Json = dict[str, Any]


def bare(value: Any) -> Any:
    """A schema without its descriptions."""
    if isinstance(value, list):
        return [bare(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: bare(each) for key, each in value.items() if key != "description" or isinstance(each, dict)}


def difference(theirs: Json | None, ours: Json | None) -> Json | None:
    """What the file says of a type: {} if both are the same."""
    if theirs is None:
        return None
    if ours is None:
        return {"schema": theirs}
    has, there = theirs.get("properties", {}), ours.get("properties", {})
    names = {name: has.get(name) for name in sorted(has | there) if has.get(name) != there.get(name)}
    found: Json = {"properties": names} if names else {}
    if theirs.get("required") != ours.get("required"):
        found["required"] = theirs.get("required", [])
    if theirs.get(KINDS) != ours.get(KINDS):
        found["kinds"] = theirs.get(KINDS, [])
    return found


def parameters(document: Json) -> set[str]:
    text = json.dumps(document["paths"])
    return {each.partition('"')[0] for each in text.split('"name": "')[1:]}


def compared(fetch: Fetch, minor: str) -> Json:
    """The minor's part of the file."""
    documents = Documents(builtin_registry(release=release_of(minor=minor)), catalogued=True)
    types: Json = {}
    gone = set[str]()
    for place in documents.places:
        theirs = bare(fetch(f"/openapi/v3/{place}"))
        ours = bare(json.loads(documents.document(place) or b""))
        gone |= parameters(ours) - parameters(theirs)
        schemas = [each.get("components", {}).get("schemas", {}) for each in (theirs, ours)]
        for name in sorted(schemas[0] | schemas[1]):
            found = difference(schemas[0].get(name), schemas[1].get(name))
            if found != {}:
                types[name] = found
    return {"parameters": sorted(gone), "types": dict(sorted(types.items()))}


def text_of(content: Json) -> str:
    """One type a line."""
    minors = []
    for minor, facts in sorted(content.items()):
        lines = [
            f"{json.dumps(name)}:{json.dumps(each, separators=(',', ':'))}" for name, each in facts["types"].items()
        ]
        head = f'"{minor}":{{"parameters":{json.dumps(facts["parameters"])},"types":{{\n'
        minors.append(head + ",\n".join(lines) + "\n}}")
    return "{" + ",\n".join(minors) + "}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--server", help="URL of a running kube-apiserver")
    parser.add_argument("--token", default="", help="bearer token for --server")
    parser.add_argument("--check", action="store_true", help="compare with the committed file instead of writing it")
    options = parser.parse_args()
    content = json.loads(FILE.read_text()) if FILE.exists() else {}
    if options.server:
        fetch = live_documents(options.server, options.token)
        minor = minor_of(fetch("/version")["gitVersion"])
        with serving(minor):
            content[minor] = compared(fetch, minor)
    return written(text_of(content), FILE, options.check)


if __name__ == "__main__":
    sys.exit(main())
