"""Object types with names, and their fields."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.cel.environment import Maker
from gateway.cel.types import CelType


class DeclaredTypes:
    """Object types by name. Expressions cannot create objects of these types."""

    def __init__(self, types: Mapping[str, Mapping[str, CelType]]) -> None:
        self._types = types

    def known(self, name: str) -> bool:
        """See gateway.cel.environment.Structs."""
        return name in self._types

    def field(self, name: str, field: str) -> CelType | None:
        """See gateway.cel.environment.Structs."""
        return self._types.get(name, {}).get(field)

    def maker(self, name: str) -> Maker | None:
        """See gateway.cel.environment.Structs."""
        return None
