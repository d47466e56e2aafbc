"""Type-checks a policy's expressions against the schemas of the kinds that the policy matches.

See the page "Validating Admission Policy", "Type checking". Errors of the type check are only warnings: objects have
the type dyn when expressions are evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gateway.cel.checker import check
from gateway.cel.environment import Environment, Structs
from gateway.cel.parser import parse
from gateway.cel.policies import (
    ASKING,
    AUTHORIZER,
    NAMESPACE,
    OBJECT_VARIABLE,
    OLD_OBJECT,
    PARAMS,
    REQUEST,
    VARIABLES,
    VARIABLES_TYPE,
    PolicyTypes,
    seen_type,
)
from gateway.cel.schema_types import SchemaDeclaration, SchemaTypes
from gateway.cel.source import CompilationError
from gateway.cel.types import DYN, CelType, struct
from gateway.cel.validators import validate


class TypedExpressions:
    """Type-checks the expressions of a policy for one pair of an object kind and a params kind.

    `of_object` and `of_params` declare their types; None means dyn. `variables` are the names and texts of the
    policy's variables, in their order.
    """

    def __init__(
        self,
        kind: str,
        of_object: SchemaDeclaration | None,
        of_params: SchemaDeclaration | None,
        *,
        params: bool,
        variables: Sequence[tuple[str, str]],
    ) -> None:
        self._defined: dict[str, CelType] = {}
        others, types = list[Structs](), dict[str, CelType]()
        for role, declared in ((f"{kind}0", of_object), ("Params0", of_params)):
            known = None if declared is None else SchemaTypes(declared, role)
            others += [] if known is None else [known]
            types[role] = DYN if known is None else known.type
        seen: Mapping[str, CelType] = {
            OBJECT_VARIABLE: types[f"{kind}0"],
            OLD_OBJECT: types[f"{kind}0"],
            NAMESPACE: struct("kubernetes.Namespace"),
            REQUEST: struct("kubernetes.AdmissionRequest"),
            AUTHORIZER: ASKING,
            VARIABLES: struct(VARIABLES_TYPE),
            **({PARAMS: types["Params0"]} if params else {}),
        }
        self._environment = Environment(seen, PolicyTypes(self._defined, *others))
        for name, text in variables:
            found = self._type_of(text)
            self._defined[name] = DYN if isinstance(found, str) else seen_type(found)

    def problem(self, text: str) -> str:
        """The type errors of an expression as one message; "" if there are none."""
        found = self._type_of(text)
        return found if isinstance(found, str) else ""

    def _type_of(self, text: str) -> CelType | str:
        try:
            tree = check(text, parse(text), self._environment)
            validate(text, tree)
        except CompilationError as error:
            return str(error)
        return tree.type
