#!/usr/bin/env python3
"""Writes gateway/validation/internal_types.json: the fields of Go's internal types that error messages print whole.

usage: hack/internal_types.py KUBERNETES API [MINOR]   the sources of the Go modules k8s.io/kubernetes and k8s.io/api

With a minor, such as 1.37, only the types that differ from those of internal_types.json are written, to
internal_types-MINOR.json. Make internal_types.json first.

A type is a list of [Go's name, JSON's name, kind]: "" for what is null when absent, "s", "i" and "b" for strings,
numbers and booleans held by value, "[]T" for a list of structs, "*T" for a pointer to a struct, "T" for a struct held
by value, "T..." for one whose fields are the holder's own.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Container
from pathlib import Path

OUTPUT = Path(__file__).parent.parent / "gateway" / "validation" / "internal_types.json"
GROUPS = ("core", "apps", "batch")
ROOTS = (
    "PodSpec PodTemplateSpec EphemeralContainer SecurityContext NodeSelectorTerm PodResourceClaim Taint "
    "NodeConfigSource DeploymentStrategy StatefulSetUpdateStrategy DaemonSetUpdateStrategy PodFailurePolicy "
    "SuccessPolicy UncountedTerminatedPods NodeAddress PersistentVolumeClaim PersistentVolumeSpec"
)
SCALARS = {"string": "s", "bool": "b", "int": "i", "int32": "i", "int64": "i", "float64": "i"}
# fields of the pod's specification that Go's internal type has in its security context
MOVED = ("HostNetwork", "HostPID", "HostIPC", "ShareProcessNamespace", "HostUsers")
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.M | re.S)
NAMED = re.compile(r"^type (\w+) (string|bool|int32|int64|int)$", re.M)
FIELD = re.compile(r"^\t(?:(\w+)\s+)?([\w.*\[\]]+)(?:\s+`(.*?)`)?\s*(?://.*)?$", re.M)

Fields = list[list[str]]


def structs(text: str) -> dict[str, list[tuple[str, str, str]]]:
    """Type -> (name, Go's type, tag) of each field."""
    return {name: [(n or "", t, tag or "") for n, t, tag in FIELD.findall(body)] for name, body in STRUCT.findall(text)}


def json_names(api: Path) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for group in GROUPS:
        for name, fields in structs((api / group / "v1" / "types.go").read_text()).items():
            tags = {field: re.search(r'json:"([^,"]*)', tag) for field, _, tag in fields}
            found[name] = {field: match[1] for field, match in tags.items() if match and match[1]}
    return found


def kind_of(go_type: str, known: Container[str], scalars: dict[str, str]) -> str:
    base = go_type.rsplit(".", 1)[-1].lstrip("*[]")
    if go_type.startswith("[]"):
        return f"[]{base}" if base in known else ""
    if go_type.startswith(("*", "map[")):
        return f"*{base}" if go_type.startswith("*") and base in known else ""
    if base in known:
        return base
    if base in ("Time", "MicroTime", "ResourceList"):
        return ""
    return {"IntOrString": "i", "Quantity": "s"}.get(base) or scalars.get(base, "s")


def internal_types(kubernetes: Path, api: Path) -> dict[str, Fields]:
    text = "\n".join((kubernetes / "pkg" / "apis" / group / "types.go").read_text() for group in GROUPS)
    known, names = structs(text), json_names(api)
    scalars = SCALARS | {name: SCALARS[base] for name, base in NAMED.findall(text)}
    result: dict[str, Fields] = {}
    waiting = ROOTS.split()
    while waiting:
        name = waiting.pop()
        if name in result or name not in known:
            continue
        result[name] = []
        for field, go_type, _ in known[name]:
            if not field:
                base = go_type.rsplit(".", 1)[-1]
                if base == "TypeMeta":  # its JSON is empty in internal objects
                    continue
                result[name].append(["", "metadata" if base == "ObjectMeta" else "", f"{base}..."])
                waiting.append(base)
                continue
            kind = kind_of(go_type, known, scalars)
            tag = names.get(name, {}).get(field) or names.get("PodSpec", {}).get(field, "" if field in MOVED else field)
            shown = f"^{tag}" if name == "PodSecurityContext" and field in MOVED else tag
            result[name].append([field, shown, kind])
            waiting.append(kind.lstrip("*[]"))
    return result


if __name__ == "__main__":
    types = internal_types(Path(sys.argv[1]), Path(sys.argv[2]))
    if len(sys.argv) > 3:
        base = json.loads(OUTPUT.read_text())
        types = {name: fields for name, fields in types.items() if fields != base.get(name)}
        OUTPUT = OUTPUT.with_stem(f"{OUTPUT.stem}-{sys.argv[3]}")
    lines = (f"{json.dumps(name)}:{json.dumps(types[name], separators=(',', ':'))}" for name in sorted(types))
    OUTPUT.write_text("{" + ",\n".join(lines) + "}\n")
