"""Runs all commands of docs/how-to/compose.md, in their order, on an engine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.clients.binaries import binary
from tests.engine import tools
from tests.engine.project import Project
from tests.integration.testing.pages import blocks

PAGE = tools.ROOT / "docs" / "how-to" / "compose.md"
CHECKOUT = ("deploy", "docker-compose.yml", "gateway", "storage", "apiserver_gateway", ".dockerignore")
CHECKOUT += ("pyproject.toml", "setup.py", "README.md", "LICENSE")


def test_every_command_of_the_page_works(project: Project, tmp_path: Path) -> None:
    for name in CHECKOUT:
        source = tools.ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / name)
    (programs := tmp_path / "bin").mkdir()
    (programs / "kubectl").symlink_to(binary("kubectl"))
    path = os.pathsep.join((str(programs), project.environment["PATH"]))
    commands = [each for block in blocks(PAGE.read_text()) if block.language == "sh" for each in block.commands]
    assert len(commands) > 20, "the page has commands"
    for command in commands:
        project.run(["sh", "-ec", f"cd '{tmp_path}' && {command}"], PATH=path)
