"""Random values of a structural schema, most of them valid."""

from __future__ import annotations

import copy
import random
from typing import Any

from .facts import FORMATS, INTEGERS, NUMBERS, ODD_NUMBERS, PATTERNS, STRINGS, WRONG, Json

ODD = 0.02  # probability of a value of a random type
RESOURCE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inner", "labels": {"a": "b"}}}


def value_of(rng: random.Random, schema: Json, odd: float = ODD, depth: int = 0) -> Any:
    """A value of a schema. Each part is, with probability `odd`, a random value of any type."""
    if rng.random() < odd:
        return copy.deepcopy(rng.choice(WRONG))
    if schema.get("nullable") and rng.random() < 0.2:
        return None
    if (given := schema.get("enum")) and rng.random() < 0.95:
        return copy.deepcopy(rng.choice(given))
    if schema.get("x-kubernetes-int-or-string"):
        return rng.choice([0, 5, "5", "50%", "x"])
    match schema.get("type"):
        case "string":
            return _string(rng, schema)
        case "integer":
            return _number(rng, schema, INTEGERS)
        case "number":
            return _number(rng, schema, NUMBERS)
        case "boolean":
            return rng.random() < 0.5
        case "array":
            return _array(rng, schema, odd, depth)
        case "object":
            return _object(rng, schema, odd, depth)
    return rng.choice([{}, {"alpha": {"beta": [1, None]}}, "x", 1, ["a"]])


def _string(rng: random.Random, schema: Json) -> str:
    if (form := schema.get("format")) in FORMATS:
        known = FORMATS[form]
        return known[0] if rng.random() < 0.8 else rng.choice(known)
    if (pattern := schema.get("pattern")) in PATTERNS and rng.random() < 0.9:
        return rng.choice(PATTERNS[pattern])
    text = rng.choice(STRINGS)
    if rng.random() < 0.9:
        text = text.ljust(max(schema.get("minLength", 0), 0), "a")
        if (most := schema.get("maxLength")) is not None and most >= 0:
            text = text[:most]
    return text


def _number(rng: random.Random, schema: Json, usual: tuple[Any, ...]) -> Any:
    if rng.random() < 0.03:
        return rng.choice(ODD_NUMBERS)
    low, high = schema.get("minimum", -(10**30)), schema.get("maximum", 10**30)
    fitting = [n for n in usual if low <= n <= high]
    return rng.choice(fitting if fitting and rng.random() < 0.9 else usual)


def _array(rng: random.Random, schema: Json, odd: float, depth: int) -> list[Any]:
    least = max(schema.get("minItems", 0), 0)
    count = max(least, rng.choice([0, 1, 1, 2, 3])) if depth < 6 else least
    if rng.random() < 0.9:
        count = min(count, max(schema.get("maxItems", 99), 0))
    items = schema.get("items")
    made = [value_of(rng, items if isinstance(items, dict) else {}, odd, depth + 1) for _ in range(count)]
    if schema.get("x-kubernetes-list-type") in ("set", "map") and rng.random() < 0.9:
        return _distinct(made, schema.get("x-kubernetes-list-map-keys"))
    return made


def _distinct(items: list[Any], keys: list[str] | None) -> list[Any]:
    kept: dict[str, Any] = {}
    for item in items:
        told = [item.get(key) for key in keys or ()] if keys and isinstance(item, dict) else item
        kept.setdefault(repr(told), item)
    return list(kept.values())


def _object(rng: random.Random, schema: Json, odd: float, depth: int) -> Json:
    made: Json = {}
    if schema.get("x-kubernetes-embedded-resource") and rng.random() < 0.95:
        made |= copy.deepcopy(RESOURCE)
    required = schema.get("required") or ()
    for name, below in (schema.get("properties") or {}).items():
        if schema.get("x-kubernetes-embedded-resource") and name in made:
            continue
        if rng.random() < (0.98 if name in required else 0.6 if depth < 6 else 0.1):
            made[name] = value_of(rng, below, odd, depth + 1)
    additional = schema.get("additionalProperties")
    if additional:
        below = additional if isinstance(additional, dict) else {}
        for name in rng.sample(("one", "two", "a.b/c", "x y"), rng.choice([0, 1, 2])):
            made[name] = value_of(rng, below, odd, depth + 1)
    if schema.get("x-kubernetes-preserve-unknown-fields") or rng.random() < odd:
        made["unknown"] = rng.choice([1, "x", {"a": None, "b": [{}]}])
    return made


# --- mutations --------------------------------------------------------------------------------------------------

Path = tuple[str | int, ...]


def sites(value: Any, path: Path = ()) -> list[Path]:
    """The paths of all parts of a value."""
    found = [path]
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        found += sites(member, (*path, key))
    return found


def at(value: Any, path: Path) -> Any:
    """The part of a value at a path."""
    for key in path:
        value = value[key]
    return value


def mutate_value(rng: random.Random, value: Any, path: Path) -> str:
    """Changes the part at a path, in place. Returns a description of the change."""
    holder, key, old = at(value, path[:-1]), path[-1], at(value, path)
    match rng.randrange(7):
        case 0:
            del holder[key]
            return f"remove {_shown(path)}"
        case 1 if isinstance(old, list) and old:
            old.insert(rng.randint(0, len(old)), copy.deepcopy(rng.choice(old)))
            return f"repeat an item of {_shown(path)}"
        case 1 | 2 if isinstance(old, dict):
            old[rng.choice(["unknown", "alpha", "beta", "metadata"])] = copy.deepcopy(rng.choice(WRONG))
            return f"add a member to {_shown(path)}"
        case 2 if isinstance(old, list):
            rng.shuffle(old)
            return f"shuffle {_shown(path)}"
        case 3 if isinstance(old, str):
            holder[key] = rng.choice([old + "x", old * 40, old.upper(), "", *STRINGS])
        case 4 if isinstance(old, (int, float)) and not isinstance(old, bool):
            holder[key] = rng.choice([*ODD_NUMBERS, *INTEGERS])
        case 5 if isinstance(old, (dict, list, str)):
            holder[key] = type(old)()
        case _:
            holder[key] = copy.deepcopy(rng.choice(WRONG))
    return f"change {_shown(path)} to {str(holder[key])[:30]}"


def _shown(path: Path) -> str:
    return ".".join(map(str, path))
