"""Pod templates that are known to pass a rule: most updates of a workload leave its template as it was.

A rule is here a function of the template alone: QUIET, or the rules of a create in a release with the same gates and
changes (`PodOptions.known_as`). Those of a create are the strictest: a template that passes them passes those of every
update.
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject, dumps
from gateway.memo import Memory

QUIET = "quiet"
"""The template has no warnings. All releases have the same warnings: `template_warnings` takes no release."""

_passed: Memory[tuple[str, bytes], bool] = Memory()


def has_passed(rule: str, template: JsonObject) -> bool:
    """Whether a template is known to pass a rule."""
    return (rule, dumps(template)) in _passed


def passes(rule: str, template: JsonObject) -> None:
    """Remembers that a template passes a rule."""
    text = dumps(template)
    _passed.keep((rule, text), True, len(text))
