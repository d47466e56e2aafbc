"""The signal that stops a container is judged when the stored object has one.

The expected texts were compared with kube-apiserver 1.37.2, over objects that one with the gate on had stored.
"""

from __future__ import annotations

import pytest

from gateway.validation.stop_signal import validate_stop_signal


@pytest.mark.parametrize(
    ("signal", "system", "error"),
    [
        ("SIGTERM", "linux", ""),
        ("SIGRTMIN+15", "linux", ""),
        ("SIGRTMAX-14", "linux", ""),
        ("SIGRTMIN+16", "linux", 'Unsupported value: "SIGRTMIN+16": supported values: "SIGABRT", "SIGALRM", "SIGBUS"'),
        ("SIGKILL", "windows", ""),
        ("SIGHUP", "windows", 'Unsupported value: "SIGHUP": supported values: "SIGKILL", "SIGTERM"'),
        ("any", "mac", ""),
        ("SIGTERM", None, "Forbidden: may not be set for containers with empty `spec.os.name`"),
    ],
)
def test_a_stop_signal_depends_on_the_operating_system(signal: str, system: str | None, error: str) -> None:
    found = list(map(str, validate_stop_signal(signal, system, "p")))
    assert bool(found) == bool(error)
    assert all(each.startswith(f"p: {error}") for each in found)
