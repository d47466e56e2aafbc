"""Conflicts of an apply: fields that it would change although other managers own them."""

from __future__ import annotations

from gateway.apply.entries import ManagerIdentity
from gateway.apply.field_set import shown_path
from gateway.http.status import StatusError
from gateway.validation.field import go_quote

Conflicts = list[tuple[ManagerIdentity, tuple[str, ...]]]


class ApplyConflict(Exception):
    """An apply has conflicts. `conflicts` has pairs of a manager and the path of a field that it owns."""

    def __init__(self, conflicts: Conflicts) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = conflicts


def conflict_error(conflicts: Conflicts) -> StatusError:
    """The StatusError 409 with a cause for each path, sorted by manager."""
    conflicts = sorted(conflicts, key=lambda conflict: str(conflict[0]))
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_shown(manager)}",
            "field": shown_path(path),
        }
        for manager, path in conflicts
    ]
    return StatusError(409, "Conflict", _message(conflicts), {"causes": causes})


def _message(conflicts: Conflicts) -> str:
    if len(conflicts) == 1:
        manager, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {_shown(manager)}: {shown_path(path)}"
    lines: list[str] = []
    last: ManagerIdentity | None = None
    for manager, path in conflicts:
        if manager != last:
            lines.append(f"conflicts with {_shown(manager)}:")
            last = manager
        lines.append(f"- {shown_path(path)}")
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _shown(manager: ManagerIdentity) -> str:
    text = go_quote(manager.manager)
    if manager.subresource:
        text += f" with subresource {go_quote(manager.subresource)}"
    return f"{text} using {manager.api_version}" if manager.operation == "Update" else text
