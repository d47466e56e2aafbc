"""Merges extension API servers' parts into the OpenAPI v2 document, and renames conflicting definitions.

If a definition has the name of another one with other content, it is renamed as in kube-aggregator: to `NAME_v2`,
`NAME_v3` and so on, the first name that is free or has the same content.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gateway.jsontypes import JsonObject, loads
from gateway.openapi.others import Named, Part

log = logging.getLogger(__name__)

DEFINITIONS = "#/definitions/"
KINDS = "x-kubernetes-group-version-kind"
_DEEPEST = 64  # the greatest number of nested levels of a part

Encode = Callable[[str, str, JsonObject], bytes]  # (map of the document, name, value) -> the map's member


class Merged:
    """The encoded paths and definitions of extension API servers, by name.

    `own` are this server's definitions as JSON members (`"name":{…}`).
    """

    def __init__(self, own: Mapping[str, bytes], encode: Encode) -> None:
        self.paths: dict[str, bytes] = {}
        self.definitions: dict[str, bytes] = {}
        self._own, self._encode = own, encode
        self._added: dict[str, JsonObject] = {}

    def add(self, part: Part) -> None:
        """Adds the part of a server. If the part is invalid, logs that and adds nothing."""
        try:
            paths, definitions = self._renamed(part)
            said = {name: self._encode("Paths", name, value) for name, value in paths.items()}
            defined = {name: self._encode("Definitions", name, value) for name, value in definitions.items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            log.warning("the OpenAPI v2 document of an extension API server is left out", extra={"error": repr(error)})
            return
        self.paths = said | self.paths
        self.definitions |= defined
        self._added |= definitions

    def _renamed(self, part: Part) -> tuple[Named, Named]:
        """The paths, and the new or changed definitions, with their final names. Raises ValueError if too deep."""
        reachable(Part({**part.paths, **part.definitions}, {}))  # raises ValueError if nested too deep
        used = dict(sorted(part.definitions.items()))
        names = {name: self._name(name, value, used) for name, value in used.items()}
        others = {name: other for name, other in names.items() if name != other}
        definitions: dict[str, JsonObject] = {}
        for name, value in used.items():
            known = self._known(names[name])
            if known is None:
                definitions[names[name]] = _referring(value, others) if others else value
            elif more := [kind for kind in _kinds(value) if kind not in _kinds(known)]:
                definitions[names[name]] = {**known, KINDS: [*_kinds(known), *more]}
        return (_referring(part.paths, others) if others else part.paths), definitions

    def _name(self, name: str, value: JsonObject, used: Named) -> str:
        """The final name of a definition: that of an equal one in the document, or a free one."""
        found, number = name, 1
        while (known := self._known(found)) is not None and _bare(known) != _bare(value):
            number += 1
            found = f"{name}_v{number}"
            while found in used:
                number += 1
                found = f"{name}_v{number}"
        return found

    def _known(self, name: str) -> JsonObject | None:
        if (added := self._added.get(name)) is not None:
            return added
        member = self._own.get(name)
        if member is None:
            return None
        found: JsonObject = loads(b"{" + member + b"}")[name]
        return found


def _kinds(definition: JsonObject) -> list[Any]:
    found = definition.get(KINDS)
    return found if isinstance(found, list) else []


def reachable(part: Part) -> set[str]:
    """The names of the definitions to which the paths refer, directly or not. Raises ValueError if nested too deep."""
    found: dict[str, None] = {}
    coming = list(_references(part.paths))
    while coming:
        name = coming.pop()
        if name not in found:
            found[name] = None
            coming += _references(part.definitions.get(name))
    return set(found)


def _references(value: Any, level: int = 0) -> Iterator[str]:
    if level > _DEEPEST:
        raise ValueError(f"the document has more than {_DEEPEST} levels")
    if isinstance(value, dict):
        for key, member in value.items():
            if key == "$ref" and isinstance(member, str):
                yield member.removeprefix(DEFINITIONS)
            else:
                yield from _references(member, level + 1)
    elif isinstance(value, list):
        for member in value:
            yield from _references(member, level + 1)


def _referring(value: Any, names: Mapping[str, str]) -> Any:
    """The value with the names in its references replaced by `names`."""
    if isinstance(value, dict):
        return {
            key: DEFINITIONS + names.get(name, name)
            if key == "$ref" and isinstance(member, str) and (name := member.removeprefix(DEFINITIONS))
            else _referring(member, names)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [_referring(member, names) for member in value]
    return value


def _bare(value: Any, level: int = 0) -> Any:
    """A definition without kinds and descriptions, for comparison. Not every server has descriptions installed."""
    if isinstance(value, dict):
        left = {KINDS} if level == 0 else set()
        return {
            key: _bare(member, level + 1)
            for key, member in value.items()
            if key not in left and not (key == "description" and isinstance(member, str))
        }
    if isinstance(value, list):
        return [_bare(member, level + 1) for member in value]
    return value
