"""The expressions of admission policies and of webhooks' match conditions: their variables and result types.

Source: pages "Validating Admission Policy", "Mutating Admission Policy" and "Dynamic Admission Control". The types are
those that kube-apiserver declares.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from gateway.cel.edition import FIRST, Edition
from gateway.cel.environment import Environment, Maker, Structs
from gateway.cel.patch_objects import JSON_PATCH, OBJECT, PatchTypes
from gateway.cel.program import InstantiationError, Program, compile_expression
from gateway.cel.source import CompilationError
from gateway.cel.types import BOOL, DYN, INT, NULL, STRING, TIMESTAMP, CelType, Kind, list_of, map_of, same, struct
from gateway.validation.expressions import ExpressionFault, Use

OBJECT_VARIABLE, OLD_OBJECT, PARAMS, REQUEST = "object", "oldObject", "params", "request"
NAMESPACE, AUTHORIZER, REQUEST_RESOURCE = "namespaceObject", "authorizer", "authorizer.requestResource"
VARIABLES = "variables"

_TEXTS, VARIABLES_TYPE = list_of(STRING), "kubernetes.variables"
_KIND = {"group": STRING, "version": STRING, "kind": STRING}
_RESOURCE = {"group": STRING, "version": STRING, "resource": STRING}
_TYPES: Mapping[str, Mapping[str, CelType]] = {
    "kubernetes.GroupVersionKind": _KIND,
    "kubernetes.GroupVersionResource": _RESOURCE,
    "kubernetes.UserInfo": {
        "username": STRING,
        "uid": STRING,
        "groups": _TEXTS,
        "extra": map_of(STRING, _TEXTS),
    },
    "kubernetes.AdmissionRequest": {
        **dict.fromkeys(("kind", "requestKind"), struct("kubernetes.GroupVersionKind")),
        **dict.fromkeys(("resource", "requestResource"), struct("kubernetes.GroupVersionResource")),
        **dict.fromkeys(("subResource", "requestSubResource", "name", "namespace", "operation"), STRING),
        "userInfo": struct("kubernetes.UserInfo"),
        "dryRun": BOOL,
        "options": DYN,
    },
    "kubernetes.Namespace": {
        "metadata": struct("kubernetes.NamespaceMetadata"),
        "spec": struct("kubernetes.NamespaceSpec"),
        "status": struct("kubernetes.NamespaceStatus"),
    },
    "kubernetes.NamespaceSpec": {"finalizers": _TEXTS},
    "kubernetes.NamespaceStatus": {"conditions": list_of(struct("kubernetes.NamespaceCondition")), "phase": STRING},
    "kubernetes.NamespaceCondition": {
        **dict.fromkeys(("status", "type", "message", "reason"), STRING),
        "lastTransitionTime": TIMESTAMP,
    },
    "kubernetes.NamespaceMetadata": {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), STRING),
        **dict.fromkeys(("labels", "annotations"), map_of(STRING, STRING)),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TIMESTAMP),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        "finalizers": _TEXTS,
    },
}
ASKING = struct("kubernetes.authorization.Authorizer")
_CHECKED = struct("kubernetes.authorization.ResourceCheck")
# the result types that each use allows; a variable may have any type
_RETURNS: Mapping[Use, tuple[CelType, ...]] = {
    Use.CONDITION: (BOOL,),
    Use.MESSAGE: (STRING,),
    Use.AUDIT_ANNOTATION: (STRING, NULL),
    Use.VARIABLE: (),
    Use.APPLY_CONFIGURATION: (struct(OBJECT),),
    Use.JSON_PATCH: (list_of(struct(JSON_PATCH)),),
}
_PATCHES = (Use.APPLY_CONFIGURATION, Use.JSON_PATCH)
_SCALARS = {Kind.NULL, Kind.BOOL, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.STRING, Kind.BYTES, Kind.DURATION}


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression, and its program or the fault for which it has none."""

    text: str
    program: Program | None
    fault: ExpressionFault | None = None


class PolicyTypes:
    """The object types of one policy: those of the admission request, the policy's variables, and `others`."""

    def __init__(self, variables: Mapping[str, CelType], *others: Structs) -> None:
        self._variables, self._others = variables, others

    def _fields(self, name: str) -> Mapping[str, CelType] | None:
        return self._variables if name == VARIABLES_TYPE else _TYPES.get(name)

    def known(self, name: str) -> bool:
        """See Structs."""
        return self._fields(name) is not None or any(each.known(name) for each in self._others)

    def field(self, name: str, field: str) -> CelType | None:
        """See Structs."""
        if (fields := self._fields(name)) is not None:
            return fields.get(field)
        return next((found for each in self._others if (found := each.field(name, field)) is not None), None)

    def maker(self, name: str) -> Maker | None:
        """See Structs."""
        return next((found for each in self._others if (found := each.maker(name)) is not None), None)


class PolicyExpressions:
    """The expressions of one policy, or of one webhook, in the order in which they are compiled.

    `params`: the policy has a paramKind. `composed`: expressions may use the variables that were compiled before them.
    `absent`: functions that new expressions may not use. The expressions in `kept` are stored already, and may.
    """

    def __init__(
        self,
        params: bool,
        composed: bool,
        absent: frozenset[str] = frozenset(),
        kept: Collection[str] = (),
        edition: Edition = FIRST,
    ) -> None:
        self._absent, self._kept = absent, kept
        variables = {
            OBJECT_VARIABLE: DYN,
            OLD_OBJECT: DYN,
            NAMESPACE: struct("kubernetes.Namespace"),
            REQUEST: struct("kubernetes.AdmissionRequest"),
        }
        if params:
            variables[PARAMS] = DYN
        if composed:
            variables[VARIABLES] = struct(VARIABLES_TYPE)
        authorized = {
            **variables,
            AUTHORIZER: ASKING,
            REQUEST_RESOURCE: _CHECKED,
        }
        self._defined = dict[str, CelType]()
        types = PolicyTypes(self._defined)
        self._plain = Environment(authorized, types, edition=edition)
        self._message = Environment(variables, types, edition=edition)
        patching = PolicyTypes(self._defined, PatchTypes())
        self._patching = Environment(authorized, patching, frozenset({"jsonpatch"}), edition=edition)

    def compile(self, text: str, use: Use) -> Compiled:
        """Compiles an expression for one use, such as a condition or a message. An error is in `Compiled.fault`."""
        environment = self._message if use is Use.MESSAGE else self._patching if use in _PATCHES else self._plain
        if self._absent and text not in self._kept:
            environment = replace(environment, absent=self._absent)
        try:
            program = compile_expression(text, environment)
        except CompilationError as error:
            return Compiled(text, None, ExpressionFault(f"compilation failed: {error}"))
        except InstantiationError as error:
            return Compiled(text, None, ExpressionFault(f"program instantiation failed: {error}", internal=True))
        wanted = _RETURNS[use]
        if wanted and not any(same(program.type, each) for each in wanted):
            return Compiled(text, None, ExpressionFault(_other_type(wanted, program.type)))
        return Compiled(text, program)

    def variable(self, name: str, text: str) -> Compiled:
        """Compiles a variable. Later expressions may use it; its type is dyn for them if it does not compile."""
        compiled = self.compile(text, Use.VARIABLE)
        self._defined[name] = DYN if compiled.program is None else seen_type(compiled.program.type)
        return compiled

    def check(self, text: str, use: Use) -> ExpressionFault | None:
        """See gateway.validation.expressions.Expressions."""
        return self.compile(text, use).fault

    def define(self, name: str, text: str) -> ExpressionFault | None:
        """See gateway.validation.expressions.Expressions."""
        return self.variable(name, text).fault


def _other_type(wanted: tuple[CelType, ...], found: CelType) -> str:
    if len(wanted) == 1:
        return f"must evaluate to {_written(wanted[0])} but got {_written(found)}"
    return f"must evaluate to one of [{' '.join(map(_written, wanted))}] but got {_written(found)}"


def _written(of: CelType) -> str:
    return f"{of.name}({', '.join(map(_written, of.parameters))})" if of.parameters else of.name


def seen_type(of: CelType) -> CelType:
    """The type of a variable in other expressions. Objects, and all types but scalars, lists and maps, become dyn."""
    if of.kind in _SCALARS or of.kind is Kind.TIMESTAMP:
        return of
    if of.kind is Kind.LIST:
        return list_of(seen_type(of.parameters[0]))
    if of.kind is Kind.MAP:
        return map_of(*map(seen_type, of.parameters))
    return DYN
