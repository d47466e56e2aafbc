"""What the pages about tests say is what happens: their code is read out of them and run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.testing.test_frameworks import run_pytest

ROOT = Path(__file__).parents[3]


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


def commands(page: str) -> list[str]:
    return re.findall(r"^    (\S.*)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)


def test_the_first_example_runs() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    code = blocks("testing.md")[0]
    outcome = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.parametrize(("page", "number"), [("testing.md", 1), ("kopf.md", 0)])
def test_tests_of_the_pages_pass(tmp_path: Path, page: str, number: int) -> None:
    outcome = run_pytest(tmp_path, blocks(page)[number])
    assert outcome.returncode == 0 and "1 passed" in outcome.stdout, outcome.stdout


def test_commands_of_the_pages(tmp_path: Path) -> None:
    """With the program as a script on PATH. There is no `cargo` to be had; what runs it is tested."""
    (script := tmp_path / "bin" / "apiserver-gateway").parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I "{ROOT}/apiserver_gateway/__main__.py" "$@"\n')
    script.chmod(0o755)
    path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for page, line in (
        (
            "envtest.md",
            'export KUBEBUILDER_ASSETS=$(apiserver-gateway envtest-assets); test -x "$KUBEBUILDER_ASSETS/etcd"',
        ),
        ("jenvtest.md", "apiserver-gateway envtest-assets ~/.kubeapitest/k8s/1.36.3-linux-amd64"),
        ("kube-rs.md", "apiserver-gateway up -- true"),
    ):
        said = line.partition(";")[0].removesuffix("true")
        assert any(command.startswith(said) for command in commands(page)), (page, said)
        outcome = subprocess.run(["sh", "-ec", line], env=environment, capture_output=True, text=True, timeout=60)
        assert outcome.returncode == 0, outcome.stderr
    assert (tmp_path / ".kubeapitest/k8s/1.36.3-linux-amd64/kube-apiserver").exists()
