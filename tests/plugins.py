"""Plug-ins of pytest that who uses the package need not have.

Tests that run pytest leave them out: to import them takes a second, several times what the rest of its start takes.
"""

from __future__ import annotations

OURS = ("-p", "no:schemathesis", "-p", "no:hypothesispytest")
"""Words that leave them out."""
