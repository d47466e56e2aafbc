"""tests/unit mirrors gateway/ and storage/, so that the tests of a module are found by its name.

They are in the folder of its room, in test_MODULE.py, or in test_MODULE_SUBJECT.py if there are several. What is not is
listed here. The lists may only become shorter.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

UNIT = Path(__file__).parent
ROOT = UNIT.parents[1]

FOLDERS = {"deploy": "of deploy/, which is not a package"}
OF_NO_MODULE = frozenset(
    {
        *("chance", "conformance", "crashed_worker", "kept", "long", "mirror", "mutations", "order", "simulation"),
        *(
            "log_texts",
            "memories",
            "names",
            "patterns",
            "pieces_that_fail",
            "readers",
            "rooms",
            "scripts",
            "start",
            "structure",
        ),
        *("survival", "troubleshooting", "where", "workers"),
    }
)
"""Tests at the top that are of all rooms, or of the tests and programs beside the server."""

NAMED_OTHERWISE = {
    "release": 1,  # of the worksheet that hack/minors makes
    "validation": 3,  # of all its modules: faulty objects, also of earlier minors
}
"""By room: the number of its tests that are named after no module of the room."""


def rooms() -> set[str]:
    """The folders that tests may be in: those of gateway/, and storage/ with its own."""
    gateway = {path.parent.relative_to(ROOT / "gateway").as_posix() for path in (ROOT / "gateway").rglob("__init__.py")}
    storage = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "storage").rglob("__init__.py")}
    return (gateway - {"."}) | storage


def modules_of(folder: str) -> set[str]:
    """The names of the modules and packages of a folder, at any depth."""
    top = ROOT if folder.split("/")[0] == "storage" else ROOT / "gateway"
    return {path.stem for path in (top / folder).rglob("*.py")} | {path.name for path in (top / folder).rglob("*")}


def is_named_after(stem: str, modules: set[str]) -> bool:
    """Whether a test has the name of a module, or begins with it."""
    name = stem.removeprefix("test_")
    return name in modules or any(name.startswith(f"{module}_") for module in modules)


def test_each_folder_is_that_of_a_room() -> None:
    folders = {path.parent.relative_to(UNIT).as_posix() for path in UNIT.rglob("test_*.py")} - {"."}
    assert folders - rooms() == FOLDERS.keys()


def test_what_is_at_the_top_is_named_after_a_module_or_is_of_all_rooms() -> None:
    top = {path.stem for path in (ROOT / "gateway").glob("*.py")}
    found = {path.stem.removeprefix("test_") for path in UNIT.glob("test_*.py")}
    assert found - top == OF_NO_MODULE


def test_no_more_tests_have_a_name_of_their_own() -> None:
    found: Counter[str] = Counter()
    for path in UNIT.rglob("test_*.py"):
        folder = path.parent.relative_to(UNIT).as_posix()
        if folder not in (".", *FOLDERS) and not is_named_after(path.stem, modules_of(folder)):
            found[folder] += 1
    assert found == NAMED_OTHERWISE
