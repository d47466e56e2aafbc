"""Draws docs/architecture.svg, the rooms of the code and their imports: `hack/architecture.py [--check]`.

Rooms and imports are those of tests/unit/test_structure.py. A room stands above all rooms that it imports; an arrow is
left out where others lead to the same room.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from hack.written import write_or_check  # noqa: E402
from tests.unit.sources import modules  # noqa: E402
from tests.unit.test_structure import ROOMS, imports, room_of  # noqa: E402

PAGE = ROOT / "docs" / "architecture.svg"
COMMON = frozenset(
    index
    for index, names in enumerate(ROOMS)
    if names[0].startswith("gateway.")
    and "__main__" not in names[0]
    and all((ROOT / f"{name.replace('.', '/')}.py").is_file() and name.count(".") == 1 for name in names)
)
"""The lines of single modules at the top of gateway/, which all rooms use: they are one box."""

WIDTH, STEP, BOX, HEIGHT, MARGIN = 900, 64, 196, 30, 24
_STYLE = """
text { font: 13px sans-serif; fill: #1b2733; text-anchor: middle; dominant-baseline: central; }
rect { fill: #eef3f8; stroke: #5b7a99; } .storage rect { fill: #e9f5ea; stroke: #5a8a5e; }
.process rect { fill: #fbf1e3; stroke: #a98445; } path { fill: none; stroke: #8397ab; marker-end: url(#tip); }
"""
PROCESS = {"launch", "commands", "trials", "operations", "observability", "settings", "credentials", "transfer"}


def _box(room: int) -> int:
    return min(COMMON) if room in COMMON else room


@cache
def below(box: int) -> frozenset[int]:
    """The boxes that modules of a box import directly."""
    found = {
        _box(room_of(imported))
        for module, all_imported in imports().items()
        if module != "gateway" and _box(room_of(module)) == box
        for imported in all_imported - {"gateway"}
    }
    return frozenset(found - {box})


@cache
def reached(box: int) -> frozenset[int]:
    """The boxes that a box imports, directly or through others."""
    return below(box).union(*map(reached, below(box)))


@cache
def arrows(box: int) -> list[int]:
    """The boxes below to which no other arrow leads."""
    return sorted(each for each in below(box) if not any(each in reached(other) for other in below(box) - {each}))


@cache
def layer(box: int) -> int:
    """How many boxes are below it, one above the other."""
    return 1 + max(map(layer, arrows(box)), default=-1)


def boxes() -> list[int]:
    """All boxes, the lowest rooms first."""
    return sorted({_box(room_of(module)) for module in modules() if module != "gateway"})


def places() -> dict[int, tuple[float, float]]:
    """The middle of each box. In its layer, a box stands where the boxes to which it leads are."""
    layers: dict[int, list[int]] = {}
    for box in boxes():
        layers.setdefault(layer(box), []).append(box)
    found: dict[int, tuple[float, float]] = {}
    for depth in sorted(layers):
        middles = {
            box: sum(found[each][0] for each in arrows(box)) / len(arrows(box)) if arrows(box) else WIDTH / 2
            for box in layers[depth]
        }
        row = sorted(layers[depth], key=lambda box: (middles[box], box))
        for index, box in enumerate(row):
            x = WIDTH * (index + 0.5) / len(row)
            found[box] = x, MARGIN + HEIGHT / 2 + (max(layers) - depth) * STEP
    return found


def _name(box: int) -> str:
    if box in COMMON:
        return "gateway/*.py"
    names = [name.removeprefix("gateway.").replace(".", "/") for name in ROOMS[box]]
    return ", ".join(dict.fromkeys(names))


def _kind(box: int) -> str:
    names = {name.removeprefix("gateway.") for name in ROOMS[box]}
    if any(name.startswith("storage") for name in names):
        return "storage"
    return "process" if names & PROCESS or any(name.endswith("__main__") for name in names) else "api"


def drawn() -> Iterator[str]:
    """The picture as SVG."""
    at = places()
    height = max(y for _, y in at.values()) + HEIGHT / 2 + MARGIN
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img">\n'
    yield "<title>The rooms of the code; an arrow leads from a room to one that it imports</title>\n"
    yield f"<style>{_STYLE}</style>\n"
    yield '<marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
    yield '<polygon points="0,0 6,3 0,6" fill="#8397ab"/></marker>\n'
    for box, (x, y) in at.items():
        for each in arrows(box):
            to_x, to_y = at[each]
            top, bottom = y + HEIGHT / 2, to_y - HEIGHT / 2
            half = (top + bottom) / 2
            yield f'<path d="M{x:.0f},{top:g} C{x:.0f},{half:g} {to_x:.0f},{half:g} {to_x:.0f},{bottom:g}"/>\n'
    for box, (x, y) in at.items():
        yield f'<g class="{_kind(box)}"><rect x="{x - BOX / 2:.0f}" y="{y - HEIGHT / 2:g}" '
        yield f'width="{BOX}" height="{HEIGHT}" rx="4"/><text x="{x:.0f}" y="{y:g}">{escape(_name(box))}</text></g>\n'
    yield "</svg>\n"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, lambda: "".join(drawn()), __doc__))
