"""pytest plug-ins that users of the package need not have.

Tests that run pytest disable them: their import takes a second, several times the rest of pytest's start.
"""

from __future__ import annotations

OURS = ("-p", "no:schemathesis", "-p", "no:hypothesispytest")
"""The pytest arguments that disable them."""
