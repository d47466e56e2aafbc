#!/usr/bin/env python3
"""Generates gateway/schema/catalog*.json: what a kube-apiserver serves, and the schema of its types.

Three sources are merged: the server's aggregated discovery documents (/api and /apis), its OpenAPI v3 documents, and
hack/gotypes.json (facts of the Go types that OpenAPI does not tell; hack/gotypes/main.go makes it).

    hack/catalog.py --server https://127.0.0.1:6443 --token TOKEN    # live; certificates are not verified
    hack/catalog.py --saved DIR    # DIR/discovery.json: {"/api": ..., "/apis": ...}; DIR/openapi-v3/apis_apps_v1.json
    hack/catalog.py --check [--saved DIR]    # exit 1 unless the committed file is what would be written; without a
                                             # source only its Go facts are compared
    hack/catalog.py --minor 1.37 ...    # that of a minor that has a catalog of its own, with hack/gotypes-1.37.json
    hack/catalog.py --on-demand DIR ... # DIR: documents of a kube-apiserver with --runtime-config=api/all=true

Groups that have no Go types here (custom resources, aggregated APIs) are left out. Layout of the result:

    {"version": "1.36", "bareElements": whether OpenAPI gives elements of lists and maps no defaults; absent if not,
     "groups": [{"name", "versions": [{"version", "resources": [{"name", "kind", "singular", "namespaced", "verbs",
                "shortNames", "categories", "subresources": [{"name", "kind", "verbs"}]}]}]}],    in discovery order
     "onDemand": {"coordination.k8s.io/v1beta1": resources as above, of a version that is off by default},
     "kinds": {"apps/v1/Deployment": TYPE NAME},
     "types": {TYPE NAME: {"go", "is" or "fields", "atomic", "unions"}}}

A kind of another group than the resource's is written "autoscaling/v1/Scale". A field has "name", "go", "type" and
where they differ from the usual "omit", "number", "patch" (strategy), "mergeKey", "embedded"; from OpenAPI "list",
"keys", "map", "required", "default", "enum", "each" (the enum of elements), "plain" (a reference alone). Defaults that
are zero are "zero" where a field may have none; elsewhere they say nothing. A type may have "unions".
"""

from __future__ import annotations

import argparse
import json
import ssl
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from hack.written import written  # noqa: E402

OWN = ("1.37",)  # the minors that have a catalog of their own
ON_DEMAND: dict[tuple[str, str], frozenset[str]] = {("coordination.k8s.io", "v1beta1"): frozenset({"LeaseCandidate"})}
"""The kinds without a stable version that the server has; hack/gotypes/main.go has them, too."""
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
UNLISTED = (META, "io.k8s.api.apidiscovery.v2.")  # packages whose types are answered without being resources
GO_FIELD = ("name", "go", "type", "omit", "number", "patch", "mergeKey", "embedded")
OPENAPI_FIELD = ("list", "keys", "map", "required", "default", "enum", "each", "plain", "zero")

Json = dict[str, Any]
Fetch = Callable[[str], Json]


def saved_documents(folder: Path) -> Fetch:
    """Gives documents by URL path out of a folder of saved ones."""

    def fetch(path: str) -> Json:
        if path in ("/api", "/apis"):
            document: Json = json.loads((folder / "discovery.json").read_text())[path]
        else:
            file = folder / "openapi-v3" / f"{path.removeprefix('/openapi/v3/').replace('/', '_')}.json"
            document = json.loads(file.read_text()) if file.exists() else {}
        return document

    return fetch


def live_documents(server: str, token: str) -> Fetch:
    """Gives documents by URL path from a running server."""
    context = ssl._create_unverified_context()

    def fetch(path: str) -> Json:
        accept = AGGREGATED if path in ("/api", "/apis") else "application/json"
        headers = {"Authorization": f"Bearer {token}", "Accept": accept}
        with urllib.request.urlopen(urllib.request.Request(server + path, headers=headers), context=context) as answer:
            document: Json = json.load(answer)
        return document

    return fetch


def kind_of(response: Json, group: str, version: str) -> str:
    """A response kind: its bare name, or with group and version when those are not the resource's own."""
    own = not response["version"] or (response["group"], response["version"]) == (group, version)
    return response["kind"] if own else f"{response['group']}/{response['version']}/{response['kind']}"


def resource_entry(found: Json, group: str, version: str) -> Json:
    entry: Json = {
        "name": found["resource"],
        "kind": kind_of(found["responseKind"], group, version),
        "singular": found["singularResource"],
        "namespaced": found["scope"] == "Namespaced",
        "verbs": found["verbs"],
    }
    for key in ("shortNames", "categories"):
        if found.get(key):
            entry[key] = found[key]
    if found.get("subresources"):
        entry["subresources"] = [
            {"name": s["subresource"], "kind": kind_of(s["responseKind"], group, version), "verbs": s["verbs"]}
            for s in found["subresources"]
        ]
    return entry


def group_entries(fetch: Fetch) -> Iterator[Json]:
    """The served groups in discovery order, the core group first."""
    for path in ("/api", "/apis"):
        for item in fetch(path)["items"]:
            name = item["metadata"].get("name", "")
            versions = [
                {"version": v["version"], "resources": [resource_entry(r, name, v["version"]) for r in v["resources"]]}
                for v in item["versions"]
            ]
            yield {"name": name, "versions": versions}


def openapi_path(group: str, version: str) -> str:
    return f"/openapi/v3/apis/{group}/{version}" if group else f"/openapi/v3/api/{version}"


def openapi_facts(schema: Json, required: bool, optional: bool) -> Json:
    """What OpenAPI adds to a field; an `optional` one may have no value."""
    element = schema.get("items") or schema.get("additionalProperties")
    facts: Json = {
        "list": schema.get("x-kubernetes-list-type"),
        "keys": schema.get("x-kubernetes-list-map-keys"),
        "map": schema.get("x-kubernetes-map-type"),
        "required": required,
        "default": schema.get("default"),
        "enum": schema.get("enum"),
        "each": element.get("enum") if isinstance(element, dict) else None,
        "plain": "$ref" in schema,
        "zero": optional and schema.get("default") in ("", 0),  # False is 0
    }
    return {key: value for key, value in facts.items() if value}


def type_entry(go: Json, schema: Json) -> Json:
    entry: Json = {"go": go["go"]}
    if "is" in go:
        entry["is"] = go["is"]
    if schema.get("x-kubernetes-map-type") == "atomic":
        entry["atomic"] = True
    if unions := schema.get("x-kubernetes-unions"):
        entry["unions"] = unions
    if "fields" in go:
        properties, required = schema.get("properties", {}), schema.get("required", ())
        entry["fields"] = [
            {**facts, **openapi_facts(properties.get(name, {}), name in required, is_optional(facts))}
            for facts, name in ((go_facts(field), field[0]) for field in go["fields"])
        ]
    return entry


def is_optional(facts: Json) -> bool:
    return "omit" in facts or facts["type"].startswith("*")


def go_facts(field: list[Any]) -> Json:
    return {key: value for key, value in zip(GO_FIELD, field, strict=False) if value}


def on_demand(fetch: Fetch | None, types: Json) -> tuple[Json, Json]:
    """The resources of ON_DEMAND by group and version, and their schemas by type name; without `fetch` none."""
    found: dict[str, list[Json]] = {}
    schemas: dict[str, Json] = {}
    for group in group_entries(fetch) if fetch else ():
        for version in group["versions"]:
            place = (group["name"], version["version"])
            if kept := [each for each in version["resources"] if each["kind"] in ON_DEMAND.get(place, ())]:
                found["/".join(place)] = kept
                own = fetch(openapi_path(*place)).get("components", {}).get("schemas", {}) if fetch else {}
                schemas |= {name: schema for name, schema in own.items() if f".{place[1]}." in name and name in types}
    return found, schemas


def kind_names(schemas: dict[str, Json], groups: list[Json], types: Json) -> dict[str, str]:
    """The type name of each kind; a kind that OpenAPI has no schema of lives in the package of its siblings."""
    kinds: dict[str, str] = {}
    for name, schema in schemas.items():
        for kind in schema.get("x-kubernetes-group-version-kind", ()):
            kinds[f"{kind['group']}/{kind['version']}/{kind['kind']}"] = name
    for group in groups:
        for version in group["versions"]:
            prefix = f"{group['name']}/{version['version']}/"
            package = kinds[prefix + version["resources"][0]["kind"]].rpartition(".")[0]
            for resource in version["resources"]:
                for entry in (resource, *resource.get("subresources", ())):
                    name = f"{package}.{entry['kind']}"
                    if name in types:
                        kinds.setdefault(prefix + entry["kind"], name)
    return kinds


def reachable(types: Json, roots: Iterator[str]) -> set[str]:
    """Names of all types that the roots lead to."""
    found: set[str] = set()
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name in found or name not in types:
            continue
        found.add(name)
        entry = types[name]
        expressions = " ".join([entry.get("is", "")] + [field[2] for field in entry.get("fields", ())])
        todo += expressions.translate(str.maketrans("[]*", "   ")).split()
        todo.append(name.removesuffix("OrBool").removesuffix("OrStringArray").removesuffix("OrArray"))
    return found


def element_defaults(schema: Any) -> bool:
    """Whether the elements of a list or map have a default somewhere in a schema."""
    if isinstance(schema, list):
        return any(map(element_defaults, schema))
    if not isinstance(schema, dict):
        return False
    elements = (schema.get("items"), schema.get("additionalProperties"))
    return any(isinstance(each, dict) and "default" in each for each in elements) or any(
        map(element_defaults, schema.values())
    )


def build(fetch: Fetch, go_types: Json, also: Fetch | None) -> Json:
    """The catalog as a JSON value; `also` fetches documents that include the versions on demand."""
    types = go_types["types"]
    schemas: dict[str, Json] = {}
    groups: list[Json] = []
    for group in group_entries(fetch):
        own: dict[str, Json] = {}
        for version in group["versions"]:
            own |= fetch(openapi_path(group["name"], version["version"])).get("components", {}).get("schemas", {})
        known = [k for name, s in own.items() if name in types for k in s.get("x-kubernetes-group-version-kind", ())]
        if any(kind["group"] == group["name"] for kind in known):
            groups.append(group)
            schemas |= own
    demanded, demanded_schemas = on_demand(also, types)
    schemas = demanded_schemas | schemas
    names = {kind: name for kind, name in kind_names(schemas, groups, types).items() if name in types}
    kept = reachable(types, (name for name in types if name in names.values() or name.startswith(UNLISTED)))
    return {
        "version": fetch(openapi_path("", "v1"))["info"]["version"],
        "bareElements": not element_defaults(list(schemas.values())),
        "groups": groups,
        "onDemand": demanded,
        "kinds": dict(sorted(names.items())),
        "types": {name: type_entry(types[name], schemas.get(name, {})) for name in sorted(kept)},
    }


def text_of(catalog: Json) -> str:
    """One group's version, kind or type a line, so that differences read well."""

    def compact(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    def block(name: str, lines: list[str], brackets: str) -> str:
        return f'"{name}":{brackets[0]}\n' + ",\n".join(lines) + f"\n{brackets[1]}"

    groups = []
    for group in catalog["groups"]:
        versions = [
            '{"version":' + compact(v["version"]) + ',"resources":[\n' + ",\n".join(map(compact, v["resources"])) + "]}"
            for v in group["versions"]
        ]
        groups.append('{"name":' + compact(group["name"]) + ',"versions":[' + ",\n".join(versions) + "]}")
    parts = [
        f'"version":{compact(catalog["version"])}' + (',"bareElements":true' if catalog["bareElements"] else ""),
        block("groups", groups, "[]"),
        block("onDemand", [f"{compact(k)}:{compact(v)}" for k, v in catalog["onDemand"].items()], "{}"),
        block("kinds", [f"{compact(k)}:{compact(v)}" for k, v in catalog["kinds"].items()], "{}"),
        block("types", [f"{compact(k)}:{compact(v)}" for k, v in catalog["types"].items()], "{}"),
    ]
    return "{" + ",\n".join(parts) + "}\n"


def go_facts_fresh(target: Path, catalog: Json, go_types: Json) -> bool:
    """Whether the Go facts of the catalog in `target` are those of hack/gotypes*.json."""
    for name, entry in catalog["types"].items():
        fields = [{k: v for k, v in field.items() if k not in OPENAPI_FIELD} for field in entry.get("fields", ())]
        go = go_types["types"].get(name, {})
        facts = (go.get("go"), go.get("is"), [go_facts(field) for field in go.get("fields", ())])
        if (entry["go"], entry.get("is"), fields) != facts:
            print(f"{target}: {name} differs from the types of Go in hack/", file=sys.stderr)
            return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--server", help="URL of a running kube-apiserver")
    parser.add_argument("--token", default="", help="bearer token for --server")
    parser.add_argument("--saved", type=Path, help="folder of saved documents")
    parser.add_argument("--on-demand", type=Path, help="folder of documents that include the versions on demand")
    parser.add_argument("--check", action="store_true", help="compare with the committed file instead of writing it")
    parser.add_argument("--minor", default="", choices=("", *OWN), help="the minor whose catalog it is")
    options = parser.parse_args()
    suffix = f"-{options.minor}" if options.minor else ""
    target = ROOT / "gateway" / "schema" / f"catalog{suffix}.json"
    go_types = json.loads((ROOT / "hack" / f"gotypes{suffix}.json").read_text())
    if not (options.server or options.saved):
        if not options.check:
            parser.error("one of --server, --saved or --check is needed")
        return 0 if go_facts_fresh(target, json.loads(target.read_text()), go_types) else 1
    fetch = saved_documents(options.saved) if options.saved else live_documents(options.server, options.token)
    also = saved_documents(options.on_demand) if options.on_demand else None
    return written(text_of(build(fetch, go_types, also)), target, options.check)


if __name__ == "__main__":
    sys.exit(main())
