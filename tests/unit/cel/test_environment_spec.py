"""The published conformance tests of cel-spec pass, where Kubernetes' environment has what they need."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.upstream import cel_spec

# how many tests need what is not there; docs/architecture/cel.md names them too
NOT_APPLICABLE = {
    "protobuf messages": 683,
    "the math library": 199,
    "no type check": 98,
    "lists and maps of several types": 47,
    "quoted field names": 34,
    "cel.block": 25,
    cel_spec.DIFFERENT: 23,
    "a container": 17,
    "cel.bind": 5,
    "functions of their own": 5,
    "the encoders library": 4,
}


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
    assert report.passed == 1204
    assert dict(report.skipped) == NOT_APPLICABLE
