"""Draws where the CPU time of a create goes: a flame graph, docs/performance/create-pod.svg.

    python -m tests.benchmarks.flame [--slices 200] [--case "create pod"] [--out docs/performance/create-pod.svg]

The server's main thread is sampled by its CPU time (sampled.py). A box is a function; below it stands its caller. Its
width is its share of the samples. Boxes that are narrower than LEAST of all are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

from tests.benchmarks import sampled
from tests.benchmarks.compare import Clients, cases, fill, serve
from tests.benchmarks.stages import OBJECTS, SHOWN, settle, written

OUT = Path(__file__).parents[2] / "docs/performance/create-pod.svg"
LEAST = 0.006
LOOP = "asyncio/runners.py:Runner.run"  # everything is below it
WIDTH, ROW, LETTER = 1200, 17, 6.2
PLUMBING = ("gateway/writing/offload.py", "gateway/time_limits.py")  # they only call what they are given: no boxes
COLOURS = {
    "gateway/http": "#9ecae1", "uvicorn": "#9ecae1", "ssl": "#9ecae1", "gateway/requests": "#c7e9c0",
    "gateway/verbs": "#c7e9c0", "gateway/writing": "#fdd0a2", "gateway/admission": "#dadaeb",
    "gateway/kinds": "#fee391", "gateway/validation": "#fee391", "gateway/schema": "#fcbba1",
    "gateway/apply": "#f7b6d2", "storage": "#a1d99b", "": "#d9d9d9",
}  # fmt: skip
"""The colours of functions, by the beginning of their file's path; the first that fits counts."""


@dataclass
class Node:
    """A function that was called in one way: its samples, with those of all that it called."""

    samples: int = 0
    calls: dict[str, Node] = field(default_factory=dict)


def tree(stacks: Mapping[str, int]) -> Node:
    """The calls below the event loop. A stack is FILE:FUNCTION, outermost first, with semicolons between them."""
    root = Node()
    for stack, count in stacks.items():
        names = stack.split(";")
        names = names[names.index(LOOP) + 1 :] if LOOP in names else names
        node = root
        node.samples += count
        for name in names:
            if not name.startswith(PLUMBING):
                node = node.calls.setdefault(name, Node())
                node.samples += count
    return root


def boxes(node: Node, least: float, start: float = 0.0, level: int = 0) -> Iterator[tuple[str, float, int, int]]:
    """The boxes above a node: name, samples before it, its samples, its level."""
    for name, call in sorted(node.calls.items()):
        if call.samples >= least:
            yield name, start, call.samples, level
            yield from boxes(call, least, start, level + 1)
        start += call.samples


def picture(root: Node, title: str) -> str:
    """The flame graph as SVG."""
    drawn = list(boxes(root, root.samples * LEAST))
    height = ROW * (2 + max((level for *_, level in drawn), default=0)) + ROW
    scale = WIDTH / max(1, root.samples)
    made = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="monospace" font-size="10">',
        f'<text x="4" y="12">{escape(title)}</text>',
    ]
    for name, start, samples, level in drawn:
        x, y, width = start * scale, height - ROW * (level + 1), samples * scale
        file, _, function = name.partition(":")
        colour = next(colour for beginning, colour in COLOURS.items() if file.startswith(beginning))
        shown = function.replace("<locals>.", "")[: int(width / LETTER)]
        told = f"{name}, {100 * samples / root.samples:.1f} %"
        made.append(
            f'<g><title>{escape(told)}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 1}" '
            f'fill="{colour}"/><text x="{x + 2:.1f}" y="{y + 12}">{escape(shown)}</text></g>'
        )
    return "\n".join([*made, "</svg>", ""])


async def sample(name: str, clients: Clients, out: Path, slices: int) -> Counter[str]:
    """The samples of a case, by stack."""
    await fill(clients, OBJECTS)
    await settle()
    case = next(each for each in cases(OBJECTS) if each.name == name)
    found = Counter[str]()
    for number in range(4 + slices):
        requests = list(case.requests(number))
        if number < 4:  # the first ones compile what all use
            await clients.send(requests, case.media_type)
            continue
        os.kill(clients.server.pid, signal.SIGUSR1)
        await clients.send(requests, case.media_type)
        os.kill(clients.server.pid, signal.SIGUSR2)
        found.update(await asyncio.to_thread(written, out))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slices", type=int, default=200)
    parser.add_argument("--case", default=SHOWN, help="the name of a case of tests.benchmarks.compare")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        samples = Path(directory) / "samples.json"
        environment = {"PROFILE_OUT": str(samples), "PROFILE_BY": "stack"}
        server = serve(Path.cwd(), Path(directory) / "served", stack, (sampled.__file__,), environment)
        found = asyncio.run(sample(options.case, Clients(server), samples, options.slices))
    title = f"CPU time of the event loop: {options.case}, {found.total()} samples"
    options.out.write_text(picture(tree(found), title), encoding="utf-8")


if __name__ == "__main__":
    main()
