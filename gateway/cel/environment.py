"""The environment of an expression: variables and their types, fields of object types, functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gateway.cel.declarations import Function, functions, optional_functions, type_names
from gateway.cel.edition import FIRST, Edition
from gateway.cel.types import CelType

Maker = Callable[[dict[str, Any]], Any]


class Structs(Protocol):
    """The object types of an environment."""

    def known(self, name: str) -> bool:
        """Whether there is an object type of that name."""

    def field(self, name: str, field: str) -> CelType | None:
        """The type of a field, None if the object type has no such field. `field` is escaped as in expressions."""

    def maker(self, name: str) -> Maker | None:
        """The function that makes an object from a dict of field values; None if expressions may not create it."""


class NoStructs:
    """No object types."""

    def known(self, name: str) -> bool:
        """See Structs."""
        return False

    def field(self, name: str, field: str) -> CelType | None:
        """See Structs."""
        return None

    def maker(self, name: str) -> Maker | None:
        """See Structs."""
        return None


@dataclass(slots=True)
class Environment:
    """The variables, object types and functions of an expression.

    `libraries` are its optional libraries ("jsonpatch", "bindings"); `absent` are functions that it does not have, in
    addition to those that its edition lacks.
    """

    variables: Mapping[str, CelType] = field(default_factory=dict)
    structs: Structs = field(default_factory=NoStructs)
    libraries: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    edition: Edition = FIRST

    def function(self, name: str) -> Function | None:
        """The function of a name, or None. A leading dot (an absolute name) is ignored."""
        name = name.removeprefix(".")
        edition = self.edition
        if name in self.absent or name in edition.absent:
            return None
        if name.partition(".")[0] in self.libraries and name in optional_functions():
            return optional_functions()[name]
        found = functions().get(name)
        return found.without(edition.withdrawn) if found is not None and edition.withdrawn else found

    def variable(self, name: str) -> CelType | None:
        """The type of a variable, or of the name of a type (`int`); None for an unknown name."""
        name = name.removeprefix(".")
        return self.variables.get(name) or type_names().get(name)
