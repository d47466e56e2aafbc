"""Programs of hack/ and tests/upstream/ import only existing names of each other: they are run rarely, some by .ci/run
only.
"""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from hack.limits import PLACEHOLDER, TEMPLATE, amount
from tests.upstream.__main__ import TOOLS

ROOT = Path(__file__).resolve().parents[2]
UPSTREAM = ROOT / "tests" / "upstream"
SCRIPTS = sorted([*(ROOT / "hack").rglob("*.py"), *(ROOT / ".ci").glob("*.py"), *UPSTREAM.rglob("*.py")])
SHARED = ("written.py", "go_source.py", "worksheet.py")  # parts of generators
ALONE = re.compile(r"-m tests\.upstream\.\w+")
SERVED = {
    "catalog.py": "is made of a kube-apiserver's OpenAPI documents",
    "rbac_policy.py": "is made of a kube-apiserver's roles",
}


def _defined(file: Path) -> set[str]:
    """The names that a module defines at top level."""
    found = set[str]()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found.update((each.asname or each.name).partition(".")[0] for each in names)
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_script_imports_from_others_what_they_have(script: Path) -> None:
    package = ".".join(script.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        base = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
        module = ".".join([*base, node.module])
        if not module.startswith(("hack.", "tests.")):
            beside = script.with_name(f"{module.partition('.')[0]}.py")
            assert UPSTREAM not in script.parents or not beside.is_file(), f"{module} is named without its package"
            continue
        spec = find_spec(module)
        assert spec is not None and spec.origin is not None, f"there is no {module}"
        wanted = {each.name for each in node.names}
        found = _defined(Path(spec.origin)) | {path.stem for path in Path(spec.origin).parent.iterdir()}
        assert wanted <= found, f"{module} has no {wanted - found}"


def _is_tool(place: Path) -> bool:
    """Whether a module or package of tests/upstream has a function `main` with the command line's words as its
    parameter.
    """
    file = place / "__main__.py" if place.is_dir() else place
    if file.suffix != ".py" or not file.is_file() or file == UPSTREAM / "__main__.py":
        return False
    body = ast.parse(file.read_text(encoding="utf-8")).body
    mains = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == "main"]
    return bool(mains) and len(mains[0].args.args) == 1


def test_each_tool_is_named_and_is_there() -> None:
    assert {place.stem for place in UPSTREAM.iterdir() if _is_tool(place)} == set(TOOLS)


def test_tools_are_called_by_their_one_entry() -> None:
    """If a module of a tool is run directly, it does nothing and exits with status 0, so nobody would notice."""
    places = [
        ROOT / "Makefile",
        *filter(Path.is_file, (ROOT / ".ci").iterdir()),
        *(ROOT / "docs").rglob("*.md"),
        *UPSTREAM.rglob("*.py"),
    ]
    found = [f"{place.name}: {call}" for place in places for call in ALONE.findall(place.read_text(encoding="utf-8"))]
    assert found == []


def test_each_generator_is_reachable_by_make_and_listed_on_a_page() -> None:
    """What hack/ has is listed as a generator. The tools of the gate and of a release are in .ci/."""
    makefile, page = (
        (ROOT / "Makefile").read_text("utf-8"),
        (ROOT / "docs" / "architecture" / "releases.md").read_text("utf-8"),
    )
    made = set(re.findall(r"python (hack/[\w/]+\.py)", makefile))
    for names, folder in re.findall(r"for each in ([\w ]+); do \$\(BIN\)/python (hack/[\w/]*)\$\$each\.py", makefile):
        made |= {f"{folder}{name}.py" for name in names.split()}
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "hack").rglob("*.py") if path.name not in SHARED}
    assert made == there
    rows = "".join(line for line in page.splitlines() if line.startswith("| `hack/"))
    assert set(re.findall(r"`(hack/[\w/]+\.py)`", rows)) == there


def test_hack_has_generators_alone() -> None:
    """Programs that compare servers, measure them or record answers are in tests/upstream."""
    talks = {"http.client", "urllib.request", "apiserver_gateway.testing"}
    for script in (ROOT / "hack").rglob("*.py"):
        tree = ast.parse(script.read_text(encoding="utf-8"))
        modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        names = {each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}
        found = (modules | names) & talks
        assert not found or script.name in SERVED, f"{script.name} talks to a server: {found}"


def test_a_row_of_the_page_of_limits_is_short_and_its_number_is_the_codes() -> None:
    rows = [line for line in TEMPLATE.read_text("utf-8").splitlines() if " | " in line]
    limits_of = [row for row in rows if not row.startswith("what |")]
    assert [row for row in limits_of if len(PLACEHOLDER.sub("1", row).replace("|", " ").split()) > 25] == []
    assert sum(bool(PLACEHOLDER.search(row)) for row in limits_of) > 0.9 * len(limits_of)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3 << 20, "b", "3 MiB"),
        (50_000, "b", "50 000 bytes"),
        (0.005, "s", "5 ms"),
        (900.0, "s", "15 min"),
        (20_000, "", "20 000"),
    ],
)
def test_the_page_of_limits_shows_amounts_with_their_units(value: float, unit: str, text: str) -> None:
    assert amount(value, unit) == text
