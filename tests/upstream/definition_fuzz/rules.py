"""Random expressions for validation rules, by the types of a schema; some of them are wrong."""

from __future__ import annotations

import random

from .facts import NAMES, Json

WRONG = 0.015  # probability of an expression of a wrong type
ESCAPED = {"dash-ed": "dash__dash__ed", "dot.ted": "dot__dot__ted", "under__score": "under__underscores__score"} | {
    name: f"__{name}__" for name in ("if", "namespace")
}
LITERALS = {
    "int": ("0", "1", "-1", "5", "100"),
    "double": ("0.5", "1.0", "-2.5", "1e10"),
    "bool": ("true", "false"),
    "string": ("''", "'a'", "'foo'", '"x y"', "r'\\d'", "'10Mi'", "'10.0.0.1'", "'https://a.example/b'"),
    "timestamp": ("timestamp('2024-01-01T00:00:00Z')",),
    "duration": ("duration('1h')", "duration('90s')"),
    "bytes": ("b'abc'",),
}
CHANGES = ("lowerAscii()", "trim()", "upperAscii()", "substring(1)", "charAt(0)")
TESTS = ("startsWith", "endsWith", "contains", "matches")
CHECKS = ("isURL", "isIP", "isCIDR", "isQuantity", "!format.dns1123Label().validate")
FORMATTED = {"date-time": "timestamp", "date": "timestamp", "duration": "duration", "byte": "bytes"}


def type_of(schema: Json) -> str:
    """The CEL type of a schema's values; "" if expressions cannot access them."""
    if schema.get("x-kubernetes-int-or-string"):
        return "dyn"
    match schema.get("type"):
        case "string":
            return FORMATTED.get(schema.get("format", ""), "string")
        case "integer":
            return "int"
        case "number":
            return "double"
        case "boolean":
            return "bool"
        case "array":
            return "list"
        case "object":
            return "map" if isinstance(schema.get("additionalProperties"), dict) else "object"
    return ""


class Expressions:
    """Expressions over variables of known schemas."""

    def __init__(self, rng: random.Random, variables: dict[str, Json]) -> None:
        self.rng, self.reachable = rng, dict[str, list[tuple[str, Json]]]()
        self.fields = list[tuple[str, str]]()  # an object, and one of its fields
        for name, schema in variables.items():
            self._reach(name, schema, 0)

    def _reach(self, text: str, schema: Json, depth: int) -> None:
        kind = type_of(schema)
        self.reachable.setdefault(kind, []).append((text, schema))
        if kind == "object" and depth < 4:
            for name, below in (schema.get("properties") or {}).items():
                field = ESCAPED.get(name, name)
                self.fields.append((text, field))
                self._reach(f"{text}.{field}", below, depth + 1)

    def of(self, kind: str, depth: int = 0) -> str:
        """An expression of a type."""
        if self.rng.random() < WRONG:
            kind = self.rng.choice([*LITERALS, "list"])
        if kind == "bool":
            return self.bool(depth)
        known = self.reachable.get(kind)
        if known and self.rng.random() < 0.7:
            return self.rng.choice(known)[0]
        made = self._call(kind, depth) if depth < 3 else ""
        return made or self.rng.choice(LITERALS.get(kind, ("[1, 2]",)))

    def _call(self, kind: str, depth: int) -> str:
        of, deeper = self.of, depth + 1
        choices = {
            "int": (
                lambda: f"size({of('string', deeper)})",
                lambda: f"{of('int', deeper)} {self.rng.choice('+-*/%')} {of('int', deeper)}",
                lambda: f"int({of('string', deeper)})",
                lambda: f"{of('string', deeper)}.indexOf({of('string', deeper)})",
                lambda: f"{of('timestamp', deeper)}.getFullYear()",
                lambda: f"({of('bool', deeper)} ? {of('int', deeper)} : {of('int', deeper)})",
            ),
            "double": (
                lambda: f"double({of('int', deeper)})",
                lambda: f"{of('double', deeper)} {self.rng.choice('+-*/')} {of('double', deeper)}",
            ),
            "string": (
                lambda: f"({of('string', deeper)} + {of('string', deeper)})",
                lambda: f"string({of('int', deeper)})",
                lambda: f"{of('string', deeper)}.{self.rng.choice(CHANGES)}",
                lambda: f"{of('string', deeper)}.replace({of('string', deeper)}, 'b')",
                lambda: f"{of('string', deeper)}.find('[a-z]+')",
                lambda: f"{of('string', deeper)}.split(' ').join(',')",
                lambda: f"'%s and %d'.format([{of('string', deeper)}, {of('int', deeper)}])",
            ),
            "duration": (lambda: f"({of('timestamp', deeper)} - {of('timestamp', deeper)})",),
            "timestamp": (lambda: f"({of('timestamp', deeper)} + {of('duration', deeper)})",),
        }
        return self.rng.choice(choices[kind])() if kind in choices else ""

    def bool(self, depth: int = 0) -> str:
        """A condition."""
        rng, of, deeper = self.rng, self.of, depth + 1
        kind = rng.choice(("int", "string", "double", "timestamp", "duration", "dyn", "bytes"))
        compare = lambda: f"{of(kind, deeper)} {rng.choice(['==', '!=', '<', '<=', '>', '>='])} {of(kind, deeper)}"  # noqa: E731
        if depth > 3:
            return rng.choice(["true", "false", compare()])
        choices = [
            compare,
            compare,
            lambda: f"{of('string', deeper)}.{rng.choice(TESTS)}({of('string', 9)})",
            lambda: f"{self.bool(deeper)} {rng.choice(['&&', '||'])} {self.bool(deeper)}",
            lambda: f"!({self.bool(deeper)})",
            lambda: f"({self.bool(deeper)} ? {self.bool(deeper)} : {self.bool(deeper)})",
            lambda: f"{rng.choice(CHECKS)}({of('string', deeper)})",
            lambda: f"quantity({of('string', deeper)}).isGreaterThan(quantity('1Mi'))",
            lambda: f"{of('string', deeper)} in ['a', 'foo', {of('string', deeper)}]",
            lambda: self.reachable.get("bool", [("true", {})])[0][0],
        ]
        if self.fields:
            choices += [self._has] * 4
        if self.reachable.get("list") or self.reachable.get("map"):
            choices += [self._fold] * 4
        return rng.choice(choices)()

    def _has(self) -> str:
        holder, field = self.rng.choice(self.fields)
        if self.rng.random() < WRONG * 2:
            field = self.rng.choice(NAMES[:4])
        match self.rng.randrange(3):
            case 0:
                return f"has({holder}.{field})"
            case 1:
                return f"(!has({holder}.{field}) || {self.bool(2)})"
        return f"{holder}.?{field}.hasValue()"

    def _fold(self) -> str:
        text, schema = self.rng.choice(self.reachable.get("list", []) + self.reachable.get("map", []))
        below = schema.get("items") if type_of(schema) == "list" else {"type": "string"}
        turn = f"e{len(text) % 7}"
        inner = Expressions(self.rng, {turn: below or {}})
        kind = type_of(below or {})
        macro = self.rng.choice(["all", "exists", "exists_one", "filter", "map", "size", "in", "sorted", "two"])
        match macro:
            case "filter":
                return f"size({text}.filter({turn}, {inner.bool(2)})) < 3"
            case "map":
                return f"{text}.map({turn}, {inner.of('int', 2)}).sum() >= 0"
            case "size":
                return f"size({text}) {self.rng.choice(['<', '==', '>'])} {self.of('int', 2)}"
            case "in":
                return f"{self.of(kind or 'string', 2)} in {text}"
            case "sorted":
                return f"{text}.isSorted()"
            case "two":
                return f"{text}.all(k, v, {Expressions(self.rng, {'v': below or {}}).bool(2)})"
        return f"{text}.{macro}({turn}, {inner.bool(2)})"


def rules_of(rng: random.Random, schema: Json) -> list[Json]:
    """Some rules for a node of a schema."""
    made = []
    for _ in range(rng.choice([1, 1, 2])):
        old = rng.random() < 0.2
        rule: Json = {}
        variables = {"self": schema}
        if old:
            variables["oldSelf"] = schema
            if rng.random() < 0.2:
                rule["optionalOldSelf"] = True
        expressions = Expressions(rng, variables)
        rule["rule"] = "self == oldSelf" if old and rng.random() < 0.3 else expressions.bool()
        if rng.random() < 0.02:
            place = rng.randrange(len(rule["rule"]))
            rule["rule"] = rule["rule"][:place] + rule["rule"][place + 1 :]
        if rng.random() < 0.3:
            rule["message"] = rng.choice(["must hold", "no", "a rule"])
        if rng.random() < 0.2:
            rule["messageExpression"] = expressions.of("string", 1)
        if rng.random() < 0.2:
            rule["reason"] = rng.choice(["FieldValueRequired", "FieldValueForbidden", "FieldValueDuplicate"])
        if rng.random() < 0.1 and schema.get("properties"):
            rule["fieldPath"] = f".{rng.choice(sorted(schema['properties']))}"
        made.append(rule)
    return made
