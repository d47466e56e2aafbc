"""The Kubernetes release is written in one place only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from gateway.release.gates import known
from gateway.release.minors import CATALOGS, DEFAULT, GIT_VERSIONS

ROOT = Path(__file__).parents[3]
MINOR = re.compile(r"\bv?1\.(3[4-9]|4\d)\b")


def texts(path: Path) -> Iterator[str]:
    """The texts of a module that names a minor: all but what stands alone, as docstrings do."""
    source = path.read_text(encoding="utf-8")
    if not MINOR.search(source):
        return
    tree = ast.parse(source)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def test_no_module_but_those_of_the_release_names_a_version_of_kubernetes() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for top in ("gateway", "storage", "apiserver_gateway")
        for path in sorted((ROOT / top).rglob("*.py"))
        if not path.is_relative_to(ROOT / "gateway" / "release")
        for text in texts(path)
        if MINOR.search(text)
    ]
    assert not found, "ask gateway.release for the version: " + "; ".join(found)


def test_each_minor_that_is_served_has_its_gates() -> None:
    assert DEFAULT in GIT_VERSIONS
    for minor, version in GIT_VERSIONS.items():
        assert known(minor) and version.startswith(f"v{minor}.")


def test_the_facts_of_go_types_are_made_for_each_minor_with_a_catalog_of_its_own() -> None:
    script = (ROOT / "hack" / "minors" / "gotypes.py").read_text()
    [named] = re.findall(r"^OWN = \((.*)\)$", script, re.MULTILINE)
    assert set(re.findall(r'"([\d.]+)"', named)) == CATALOGS.keys()
    assert all((ROOT / "hack" / f"gotypes-{minor}.json").is_file() for minor in CATALOGS)


def test_installations_name_the_minor_that_they_serve() -> None:
    """A default of a later release changes none of them."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    chart = yaml.safe_load((ROOT / "deploy" / "helm" / "apiserver-gateway" / "values.yaml").read_text())
    serving = {name: " ".join(each.get("command", ())) for name, each in compose.items()}
    commands = [command for command in serving.values() if command.startswith("serve ")]
    minors = [minor for command in commands for minor in re.findall(r"--kubernetes-version=\S+:-([\d.]+)}", command)]
    assert len(minors) == len(commands) > 1
    assert {*minors, chart["kubernetesVersion"]} == {"1.36"}
