"""Evaluates the questions of hack/cel_answers.py with gateway/cel, in the form of the recorded answers."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

from gateway.cel.conversions import format_double
from gateway.cel.environment import Environment
from gateway.cel.estimates import estimate
from gateway.cel.moments import format_duration, format_timestamp
from gateway.cel.program import InstantiationError, Program, compile_expression
from gateway.cel.rules import compile_rules, compile_schema
from gateway.cel.schema_types import SchemaDeclaration, declare
from gateway.cel.sizes import LARGEST
from gateway.cel.source import CompilationError
from gateway.cel.types import describe
from gateway.cel.values import NONE, Duration, Optional, Timestamp, TypeValue, Uint, type_name

FOLDER = Path(__file__).parent
Json = dict[str, Any]


@cache
def document() -> Json:
    """The cases."""
    loaded: Json = json.loads((FOLDER / "cases.json").read_text())
    return loaded


@cache
def answers() -> Json:
    """What was answered, by the same keys."""
    loaded: Json = json.loads((FOLDER / "answers.json").read_text())
    return loaded


@cache
def server_answers() -> Json:
    """What a kube-apiserver said of definitions and objects (see tests/upstream/cel_server.py)."""
    loaded: Json = json.loads((FOLDER / "server.json").read_text())
    return loaded


def answer(expression: str) -> Json:
    """What becomes of an expression in the bare environment."""
    try:
        program = compile_expression(expression, Environment())
    except CompilationError as error:
        return {"error": str(error)}
    except InstantiationError as error:
        return {"instantiation": str(error)}
    return {"type": describe(program.type), **_cost(program, None), **_evaluated(program, {})}


def answer_rule(case: Json) -> Json:
    """What becomes of a rule."""
    schema = document()["schemas"][case["schema"]]
    declared = declare(schema, root=bool(case.get("root")))
    if declared is None:
        return {"error": "failed to convert to declType for CEL validation rules"}
    optional = bool(case.get("optionalOldSelf"))
    (rule,) = compile_rules([{"rule": case["expression"], "optionalOldSelf": optional}], schema, declared)
    if rule.program is None:
        return {"error": rule.error}
    found = {**_cost(rule.program, declared), "maxCardinality": rule.cardinality, "oldSelf": rule.uses_old_self}
    if "self" not in case:
        return found
    variables = {name: _converted(declared, case.get(name)) for name in ("self", "oldSelf")}
    if optional:
        variables["oldSelf"] = Optional(variables["oldSelf"]) if "oldSelf" in case else NONE
    return {**found, **_evaluated(rule.program, variables)}


def _converted(declared: SchemaDeclaration, name: str | None) -> Any:
    value = None if name is None else document()["objects"][name]
    return value if declared.convert is None or value is None else declared.convert(value, {})


def _cost(program: Program, declared: SchemaDeclaration | None) -> Json:
    most = estimate(program.tree, declared).most
    return {"maxCost": -1 if most == LARGEST else most}


def _evaluated(program: Program, variables: Json) -> Json:
    outcome = program.evaluate(variables)
    if outcome.error:
        return {"failure": outcome.error, "cost": outcome.cost}
    return {"value": native(outcome.value), "cost": outcome.cost}


def answer_validation(case: Json) -> Json:
    """What all rules of a schema say of an object."""
    rules = compile_schema(document()["schemas"][case["schema"]])
    assert rules is not None
    objects = document()["objects"]
    old = objects[case["oldSelf"]] if "oldSelf" in case else None
    errors, warnings = rules.validate(objects[case["self"]], old, ratchet=old is not None)
    return {"errors": sorted([each.field, each.body] for each in errors), "warnings": sorted(map(str, warnings))}


def native(value: Any) -> Any:
    """A value as hack/cel writes it."""
    match value:
        case None | bool():
            return value
        case Uint():
            return f"{int(value)}u"
        case int():
            return str(value)
        case float():
            return {"double": format_double(value)}
        case str():
            return {"string": value}
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case list() | tuple():
            return [native(each) for each in value]
        case dict():
            return {
                "map": {json.dumps(native(key), separators=(",", ":")): native(each) for key, each in value.items()}
            }
        case Optional():
            return {"optional": native(value.value) if value.present else "none"}
        case Timestamp():
            return {type_name(value): format_timestamp(value)}
        case Duration():
            return {type_name(value): format_duration(value)}
        case TypeValue():
            return {"type": value.name}
    name = type_name(value)
    texts = {"net.IP": lambda: str(value.address), "net.CIDR": lambda: str(value)}
    return {name: texts[name]() if name in texts else ""}
