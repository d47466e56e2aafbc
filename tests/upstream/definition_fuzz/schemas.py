"""Random CRDs with structural schemas, and mutations that make them invalid."""

from __future__ import annotations

import copy
import random
from typing import Any

from .facts import FORMATS, KEYWORDS, MEMBERS, NAMES, PATTERNS, Json
from .rules import rules_of
from .values import at, value_of

COLUMNS = (".spec.alpha", ".spec.items[*]", ".metadata.creationTimestamp", ".status.beta", ".spec")
NESTING = ("properties", "items", "additionalProperties", "allOf", "anyOf", "oneOf", "not")


class Maker:
    """Makes schemas. The same random numbers give the same schemas."""

    def __init__(self, rng: random.Random, rules: float = 0.06) -> None:
        self.rng, self.rules = rng, rules

    def definition(self, group: str, number: int) -> Json:
        """A CRD of Things, in its own group."""
        rng = self.rng
        names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
        if rng.random() < 0.3:
            names |= {"shortNames": ["th"], "categories": ["all"]}  # type: ignore[dict-item]
        versions = [self.version("v1")]
        if rng.random() < 0.25:
            other = self.version("v2") if rng.random() < 0.5 else {**copy.deepcopy(versions[0]), "name": "v2"}
            versions.append({**other, "storage": False})
        name = f"n{number}.{group}"
        spec = {"group": name, "scope": "Cluster", "names": names, "versions": versions}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"things.{name}"},
            "spec": spec,
        }

    def version(self, name: str) -> Json:
        rng = self.rng
        properties = {key: self.schema(1, kind="object") for key in ("spec", "status")}
        if rng.random() < 0.2:
            properties[rng.choice(NAMES)] = self.schema(1)
        if rng.random() < 0.1:
            properties["metadata"] = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}}
        schema: Json = {"type": "object", "properties": properties}
        if rng.random() < 0.3:
            schema["required"] = ["spec"]
        self._ruled(schema)
        version = {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        if rng.random() < 0.5:
            version["subresources"] = {"status": {}}
        if rng.random() < 0.3:
            columns = [{"name": f"C{i}", "type": "string", "jsonPath": path} for i, path in enumerate(COLUMNS)]
            version["additionalPrinterColumns"] = rng.sample(columns, 2)
        return version

    def schema(self, depth: int, kind: str = "") -> Json:
        """A structural schema."""
        rng = self.rng
        simple = ("string", "string", "integer", "number", "boolean", "int-or-string", "any")
        kind = kind or rng.choice(simple if depth > 3 else (*simple, "object", "object", "map", "array", "array"))
        match kind:
            case "string":
                schema = self._string()
            case "integer" | "number":
                schema = self._number(kind)
            case "boolean":
                schema = {"type": "boolean"}
            case "int-or-string":
                schema = {"x-kubernetes-int-or-string": True}
                if rng.random() < 0.5:
                    schema["anyOf"] = [{"type": "integer"}, {"type": "string"}]
            case "any":
                schema = {"x-kubernetes-preserve-unknown-fields": True}
                if rng.random() < 0.5:
                    schema["type"] = "object"
            case "object":
                schema = self._object(depth)
            case "map":
                schema = {"type": "object", "additionalProperties": self.schema(depth + 1)}
                if rng.random() < 0.9:
                    schema["maxProperties"] = rng.choice([1, 3, 10])
            case _:
                schema = self._array(depth)
        return self._finished(schema, kind)

    def _finished(self, schema: Json, kind: str) -> Json:
        rng = self.rng
        if rng.random() < 0.1:
            schema["nullable"] = True
        if rng.random() < 0.15 and kind not in ("int-or-string", "any"):
            schema |= self._junctors(schema)
        self._ruled(schema)
        if rng.random() < 0.2:
            schema["default"] = value_of(rng, schema, 0.01)
        return schema

    def _ruled(self, schema: Json) -> None:
        if self.rng.random() < self.rules:
            schema["x-kubernetes-validations"] = rules_of(self.rng, schema)

    def _string(self) -> Json:
        rng, schema = self.rng, {"type": "string"}
        if rng.random() < 0.9:
            schema["maxLength"] = rng.choice([3, 10, 40, 64])
        match rng.randrange(6):
            case 0:
                schema["format"] = rng.choice(list(FORMATS))
            case 1:
                schema["pattern"] = rng.choice(list(PATTERNS)[:5])
            case 2:
                schema["enum"] = ["a", "foo", "bar"]
            case 3:
                schema["minLength"] = rng.choice([1, 2])
        return schema

    def _number(self, kind: str) -> Json:
        rng, schema = self.rng, {"type": kind}
        if rng.random() < 0.4:
            schema["minimum"] = rng.choice([0, 1, -5, 0.5] if kind == "number" else [0, 1, -5])
            if rng.random() < 0.3:
                schema["exclusiveMinimum"] = True
        if rng.random() < 0.4:
            schema["maximum"] = rng.choice([5, 10, 100])
        if rng.random() < 0.15:
            schema["multipleOf"] = rng.choice([2, 5, 0.5] if kind == "number" else [2, 5])
        if rng.random() < 0.2:
            schema["format"] = rng.choice(["int32", "int64"] if kind == "integer" else ["float", "double"])
        if rng.random() < 0.1:
            schema["enum"] = [1, 2, 3]
        return schema

    def _object(self, depth: int) -> Json:
        rng = self.rng
        names = rng.sample(NAMES, rng.choice([1, 2, 3, 4]))
        schema: Json = {"type": "object", "properties": {name: self.schema(depth + 1) for name in names}}
        if rng.random() < 0.3:
            schema["required"] = rng.sample(names, rng.randint(1, len(names)))
        if rng.random() < 0.1:
            schema["x-kubernetes-preserve-unknown-fields"] = True
        if rng.random() < 0.07:
            schema["x-kubernetes-embedded-resource"] = True
        if rng.random() < 0.1:
            schema[rng.choice(["minProperties", "maxProperties"])] = 1
        if rng.random() < 0.1:
            schema["x-kubernetes-map-type"] = rng.choice(["atomic", "granular"])
        return schema

    def _array(self, depth: int) -> Json:
        rng = self.rng
        schema: Json = {"type": "array"}
        match rng.choice(["", "", "atomic", "set", "map", "map"]):
            case "map":
                item = self._object(depth + 1)
                key = rng.choice(NAMES[:4])
                item["properties"][key] = {"type": rng.choice(["string", "string", "integer"])}
                if item["properties"][key]["type"] == "string":
                    item["properties"][key]["maxLength"] = 20
                item["required"] = sorted({*item.get("required", ()), key})
                schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key], "items": item}
                self._ruled(item)
            case "set":
                kind = rng.choice(["string", "integer", "number", "boolean"])
                item = {"type": kind}
                if kind == "string":
                    item["maxLength"] = 20
                schema |= {"x-kubernetes-list-type": "set", "items": item}
            case kind:
                if kind:
                    schema["x-kubernetes-list-type"] = kind
                schema["items"] = self.schema(depth + 1)
        if rng.random() < 0.9:
            schema["maxItems"] = rng.choice([2, 5, 10])
        if rng.random() < 0.1:
            schema["minItems"] = 1
        return schema

    def _junctors(self, schema: Json) -> Json:
        rng = self.rng
        key = rng.choice(["allOf", "anyOf", "oneOf", "not"])
        if key == "not":
            return {"not": self._validation(schema)}
        return {key: [self._validation(schema) for _ in range(rng.choice([1, 2, 2, 3]))]}

    def _validation(self, schema: Json, depth: int = 0) -> Json:
        """The validation keywords of a schema in allOf, anyOf, oneOf or not."""
        rng = self.rng
        match schema.get("type"):
            case "string":
                choices: list[Json] = [{"pattern": "^a"}, {"maxLength": 3}, {"minLength": 2}, {"enum": ["a", "foo"]}]
            case "integer" | "number":
                choices = [{"minimum": 1}, {"maximum": 3}, {"multipleOf": 2}, {"enum": [1, 2]}]
            case "array":
                choices = [{"minItems": 1}, {"maxItems": 1}]
                if depth < 2 and isinstance(items := schema.get("items"), dict):
                    choices.append({"items": self._validation(items, depth + 1)})
            case "object" if properties := schema.get("properties"):
                name = rng.choice(sorted(properties))
                choices = [{"required": [name]}, {"required": [rng.choice(NAMES)]}, {"minProperties": 2}]
                if depth < 2:
                    choices += [{"properties": {name: self._validation(properties[name], depth + 1)}}] * 2
            case "boolean":
                choices = [{"enum": [True]}, {"enum": [False]}]
            case _:
                choices = [{}]
        return rng.choice(choices)


# --- mutations --------------------------------------------------------------------------------------------------


def nodes(schema: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all schemas in one."""
    if not isinstance(schema, dict):
        return []
    found = [path]
    for key in NESTING:
        below = schema.get(key)
        members = {None: below}
        if key == "properties" and isinstance(below, dict):
            members = below
        elif isinstance(below, list):
            members = dict(enumerate(below))  # type: ignore[arg-type]
        for name, member in members.items():
            found += nodes(member, (*path, key) if name is None else (*path, key, name))
    return found


def mutate_definition(rng: random.Random, definition: Json) -> list[str]:
    """Changes a CRD in place, in one or two places. Returns descriptions of the changes."""
    done = []
    for _ in range(rng.choice([1, 1, 2])):
        if rng.random() < 0.25:
            done.append(_change_member(rng, definition["spec"]))
            continue
        version = rng.choice(definition["spec"].get("versions") or [{}])
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if not (found := nodes(schema)):
            continue
        path = rng.choice(found)
        node = at(schema, path)
        where = ".".join(map(str, path))
        if node and rng.random() < 0.25:
            key = rng.choice(sorted(node))
            del node[key]
            done.append(f"remove {key} at {where}")
        else:
            key = rng.choice(list(KEYWORDS))
            node[key] = copy.deepcopy(rng.choice(KEYWORDS[key]))
            done.append(f"{key} = {str(node[key])[:40]} at {where}")
    return done


def _change_member(rng: random.Random, spec: Json) -> str:
    path = rng.choice(list(MEMBERS))
    value = copy.deepcopy(rng.choice(MEMBERS[path]))
    if path[:2] == ("versions", 0) and not spec.get("versions"):
        return "nothing"
    holder = at(spec, path[:-1])
    if value is None and path[-1] != "schema":
        holder.pop(path[-1], None)
    else:
        holder[path[-1]] = value
    return f"{'.'.join(map(str, path))} = {str(value)[:40]}"
