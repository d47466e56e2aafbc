"""Parsers of the flags for browsers: --cors-allowed-origins and --strict-transport-security-directives."""

from __future__ import annotations

from gateway.settings.flag_values import names

_START, _END = ("^", "//"), ("$", ":")


def origins(text: str) -> tuple[str, ...]:
    """Parses regular expressions for origins, in Go's syntax.

    Raises ValueError, as kube-apiserver does, for one that does not mark the start and the end of the host.
    """
    import re2

    found = names(text)
    for pattern in found:
        try:
            re2.compile(pattern)
        except re2.error as error:
            raise ValueError(f"{pattern} is not a regular expression: {error}") from None
        if not (any(mark in pattern for mark in _START) and any(mark in pattern for mark in _END)):
            raise ValueError(
                f"{pattern} must fix the start and the end of the host, as in ^https://ui\\.example\\.org$"
            )
    return found


def transport_security(text: str) -> tuple[str, ...]:
    """Parses directives of the header Strict-Transport-Security (RFC 6797). Raises ValueError."""
    found = names(text)
    for directive in found:
        name, equals, age = directive.partition("=")
        if directive not in ("includeSubDomains", "preload") and not (name == "max-age" and equals and age.isdecimal()):
            raise ValueError("give max-age=SECONDS, includeSubDomains or preload")
    return found
