"""The published conformance tests of cel-spec pass, where Kubernetes' environment has what they need."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hack import cel_spec


def _module() -> Path | None:
    try:
        cache = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        cache = Path("~/go/pkg/mod").expanduser()
    folder = Path(cache) / cel_spec.MODULE
    return folder if folder.exists() else None


@pytest.mark.skipif(_module() is None, reason="the Go module cel.dev/expr is not at hand")
def test_conformance() -> None:
    folder = _module()
    assert folder is not None
    report = cel_spec.run(folder)
    assert not report.failed
    assert report.passed > 1100
