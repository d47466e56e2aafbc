"""The place where CEL expressions in API objects are checked (KEP-3488, KEP-3716, KEP-4381).

A compiler registers itself with `use_compiler`; without one, expressions are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from gateway.validation.field import FieldError, invalid

# (expression, names of the variables that it may use, type of its result: "bool", "string"…) -> what is wrong, or ""
Compiler = Callable[[str, Collection[str], str], str]
_compilers: list[Compiler] = []

REQUEST_VARIABLES = ("object", "oldObject", "request", "authorizer", "namespaceObject")


def use_compiler(compiler: Compiler) -> None:
    """Makes `compiler` check every expression from now on."""
    _compilers[:] = [compiler]


def check_expression(
    expression: str, path: str, variables: Collection[str] = REQUEST_VARIABLES, result: str = "bool"
) -> list[FieldError]:
    """Invalid if the expression does not compile."""
    if not _compilers or not (problem := _compilers[0](expression, variables, result)):
        return []
    return [invalid(path, expression, problem)]
