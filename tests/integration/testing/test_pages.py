"""README and the pages of docs/ are right: their commands and code are extracted and run."""

from __future__ import annotations

import re
import shlex
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.etcd_version import older_than
from tests.integration.testing.pages import ELSEWHERE, ROOT, Reader, blocks, elsewhere

PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *(ROOT / "deploy" / "helm").rglob("*.md"))
}
PICTURES = (
    "docs/architecture.md",
    *(f"docs/architecture/{name}.md" for name in ("folders", "cel", "clusters", "writes")),
)
COMMANDS = [
    (page, command)
    for page, text in PAGES.items()
    for block in blocks(text)
    if block.language == "sh"
    for command in block.commands
]


def commands_of(page: str) -> list[str]:
    """The commands of a page, in order."""
    return [command for of, command in COMMANDS if of == page]


def is_repeated(page: str) -> bool:
    """Whether an earlier page has all commands of this one, in this order."""
    code = [block for block in blocks(PAGES[page]) if block.language not in ("sh", "text")]
    earlier = list(PAGES)[: list(PAGES).index(page)]
    return not code and any(set(commands_of(page)) <= set(commands_of(other)) for other in earlier)


SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


@pytest.mark.parametrize("page", [page for page in PAGES if not is_repeated(page)])
def test_a_stranger_can_follow(page: str) -> None:
    text = PAGES[page]
    if "--bump-revision" in text and older_than((3, 6, 0)):
        pytest.skip("etcdutl before 3.6 has no --bump-revision")
    with tempfile.TemporaryDirectory(prefix="page-") as directory, ExitStack() as stack:
        reader = Reader(Path(directory), stack)
        commands = "\n".join(commands_of(page))
        if (".run/" in text or "helm install" in text) and "make run" not in commands:
            reader.has_a_server()
        if "helm install" in text:
            reader.has_jobs_run()
        if "127.0.0.1:2379" in commands and "etcd --data-dir" not in commands:
            reader.has_an_etcd()
        for block in blocks(text):
            reader.follow(block)


@pytest.mark.parametrize("page", PAGES)
def test_all_code_is_in_fences(page: str) -> None:
    """No test would run an indented code block; those in PICTURES are drawings."""
    prose = re.sub(r"^( *)```.*?^\1```$", "", PAGES[page], flags=re.DOTALL | re.MULTILINE)
    assert page in PICTURES or not re.findall(r"(?:^|\n)\n {4,}(?![-*\d ]).*", prose)


def test_commands_that_are_not_run_are_few() -> None:
    for pattern in ELSEWHERE:
        assert any(re.match(rf"\s*({pattern})", command) for _, command in COMMANDS), pattern
    left_out = sum(bool(elsewhere(command)) for _, command in COMMANDS)
    assert left_out < len(COMMANDS) / 2


@pytest.mark.parametrize(("page", "command"), [(page, each) for page, each in COMMANDS if "docker compose" in each])
def test_compose_commands_name_services_that_exist(page: str, command: str) -> None:
    words = shlex.split(command.partition("docker compose")[2], comments=True)
    profiles = {words[i + 1] for i, word in enumerate(words) if word == "--profile"}
    rest = [word for i, word in enumerate(words) if not word.startswith("-") and words[i - 1] != "--profile"]
    action, arguments = rest[0], rest[1:]
    assert action in ("up", "cp", "run", "stop", "down", "ps", "logs", "build", "restart"), command
    for word in arguments[:1] if action in ("cp", "run") else arguments:
        name = word.partition(":")[0]
        assert name in SERVICES, f"{page}: {command}"
        wanted = set(SERVICES[name].get("profiles", ()))
        assert action != "up" or not wanted or wanted & profiles, f"{page}: {command}"
