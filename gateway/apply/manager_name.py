"""The name of a field manager: finds and validates it."""

from __future__ import annotations

from gateway.validation.field import FieldError, invalid, too_long

MAX_LENGTH = 128


def validate_manager_name(name: str, path: str = "fieldManager") -> list[FieldError]:
    """Errors of the request parameter fieldManager: at most 128 bytes, printable characters only."""
    errors: list[FieldError] = []
    if len(name.encode()) > MAX_LENGTH:
        errors.append(too_long(path, MAX_LENGTH))
    position = 0
    for char in name:
        if not _is_printable(char):
            errors.append(invalid(path, name, f"invalid character U+{ord(char):04X} (at position {position})"))
        position += len(char.encode())
    return errors


def manager_or_user_agent(name: str, user_agent: str) -> str:
    """The manager of a write: the parameter fieldManager, else the part of the User-Agent before the first slash."""
    if name:
        return name
    prefix = "".join(char for char in user_agent.partition("/")[0] if _is_printable(char))
    return prefix.encode()[:MAX_LENGTH].decode(errors="ignore")


def _is_printable(char: str) -> bool:
    """As Go's unicode.IsPrint: the only printable space is the ASCII one."""
    return char.isprintable()
