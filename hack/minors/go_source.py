"""Reads declarations of Go source by its layout, as gofmt leaves it: functions, and fields of structs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

FUNCTION = re.compile(r"^func (?:\(\w* ?\*?(\w+)(?:\[[^\]]*\])?\) )?(\w+)[\[(].*?^\}$", re.M | re.S)
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}$", re.M | re.S)
FIELD = re.compile(r"^\t(?:\w+\s+)?[^\n`]*`[^`\n]*json:\"(\w+)[^`\n]*`", re.M)
COMMENT = re.compile(r"^\s*//.*\n", re.M)
UNREAD = (
    *("_test.go", "/register.go", "/install.go", "/conversion.go"),
    *(f"zz_generated.{each}.go" for each in ("deepcopy", "conversion", "defaults", "prerelease-lifecycle")),
)
"""The ends of the paths of files without rules."""


def functions(root: Path, folders: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """The functions below some folders of a module: (file, name) -> text without comments.

    A method's name is "Type.method".
    """
    found = {}
    for path in _files(root, folders):
        inside = path.relative_to(root).as_posix()
        for match in FUNCTION.finditer(path.read_text(errors="replace")):
            name = f"{match[1]}.{match[2]}" if match[1] else match[2]
            found[inside, name] = COMMENT.sub("", match[0])
    return found


def fields(root: Path) -> dict[str, set[str]]:
    """The JSON names of the fields of all structs in the types.go of a module: "group/version.Struct" -> names."""
    found: dict[str, set[str]] = {}
    for path in sorted(root.rglob("types*.go")):
        if path.name.endswith("_test.go"):
            continue
        place = path.parent.relative_to(root).as_posix()
        for name, body in STRUCT.findall(path.read_text(errors="replace")):
            found.setdefault(f"{place}.{name}", set()).update(FIELD.findall(COMMENT.sub("", body)))
    return found


def _files(root: Path, folders: tuple[str, ...]) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((root / folder).rglob("*.go")):
            if not path.as_posix().endswith(UNREAD) and "testing" not in path.parts:
                yield path
