"""The CEL selectors of devices (page "Dynamic Resource Allocation"): their variables and cost limit."""

from __future__ import annotations

from gateway.cel.declared_types import DeclaredTypes
from gateway.cel.editions import edition_of_new
from gateway.cel.environment import Environment
from gateway.cel.estimates import estimate
from gateway.cel.macros import BINDINGS
from gateway.cel.program import InstantiationError, Program, compile_expression
from gateway.cel.schema_types import SchemaDeclaration
from gateway.cel.source import CompilationError
from gateway.cel.types import ANY, BOOL, STRING, map_of, struct
from gateway.release.gates import Enabled
from gateway.validation.field import FieldError, forbidden, internal, invalid

MOST = 1_000_000  # the greatest estimated cost of a selector
# the greatest lengths of names and values, and the greatest number of names
_DOMAIN, _IDENTIFIER, _DRIVER, _VALUE, _NAMES = 63, 32, 63, 64, 32
_QUANTITY = struct("kubernetes.Quantity")
_TYPES = DeclaredTypes(
    {
        "kubernetes.DRADevice": {
            "driver": STRING,
            "allowMultipleAllocations": BOOL,
            "attributes": map_of(STRING, map_of(STRING, ANY)),
            "capacity": map_of(STRING, map_of(STRING, _QUANTITY)),
        }
    }
)
_VARIABLES = {"device": struct("kubernetes.DRADevice")}


def _by_name(value: SchemaDeclaration) -> SchemaDeclaration:
    """A map of maps: values by domain, then by identifier."""
    inner = SchemaDeclaration(element=value, is_map=True, most=_NAMES, longest_key=_IDENTIFIER)
    return SchemaDeclaration(element=inner, is_map=True, most=_NAMES, longest_key=_DOMAIN)


_SIZES = SchemaDeclaration(
    fields={
        "driver": ("driver", SchemaDeclaration(STRING, most=_DRIVER)),
        "allowMultipleAllocations": ("allowMultipleAllocations", SchemaDeclaration(BOOL, most=1)),
        "attributes": ("attributes", _by_name(SchemaDeclaration(ANY, most=_VALUE))),
        "capacity": ("capacity", _by_name(SchemaDeclaration(_QUANTITY))),
    }
)


def check_selector(text: str, path: str, enabled: Enabled) -> list[FieldError]:
    """The errors of a new selector, with kube-apiserver's messages. `enabled` selects the edition of CEL."""
    environment = Environment(_VARIABLES, _TYPES, frozenset({BINDINGS}), edition=edition_of_new(enabled))
    try:
        program = compile_expression(text, environment)
    except CompilationError as error:
        return [invalid(path, text, f"compilation failed: {error}")]
    except InstantiationError as error:
        return [internal(path, f"program instantiation failed: {error}")]
    if program.type is not ANY and program.type.kind is not BOOL.kind:
        return [invalid(path, text, f"must evaluate to bool or the unknown type, not {program.type}")]
    return [forbidden(path, "too complex, exceeds cost limit")] if _most(program, environment) > MOST else []


def _most(program: Program, environment: Environment) -> int:
    return estimate(program.tree, _SIZES, environment.edition, "device").most
