"""Identifiers in expressions: reserved ones, and the escaping of property names that are not identifiers (page
"Validation rules", "Escaping").
"""

from __future__ import annotations

import re

RESERVED = frozenset(
    (
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"),
        *("package", "namespace", "null", "return", "true", "var", "void", "while"),
    )
)
_SPECIAL = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ORDINARY = {written: plain for plain, written in _SPECIAL.items()}
_NAME = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*")
_ESCAPED = re.compile(r"__|[./-]")
_WRITTEN = re.compile(r"__([^_]+)__")


def escape(name: str) -> str | None:
    """The escaped name of a property in expressions; None if expressions cannot name it."""
    if name in RESERVED:
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda found: _SPECIAL[found[0]], name)


def unescape(written: str) -> str | None:
    """The property of an escaped name; None if the name is not a valid escape."""
    if "__" not in written:
        return written
    parts, at = list[str](), 0
    for found in _WRITTEN.finditer(written):
        plain = _ORDINARY.get(found[0])
        if plain is None:
            if found[1] not in RESERVED or len(found[0]) != len(written):
                return None
            plain = found[1]
        parts += [written[at : found.start()], plain]
        at = found.end()
    return "".join([*parts, written[at:]])
