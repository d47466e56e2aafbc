"""Profiles of the running process, with --profiling: of the functions that its threads run, and of its memory.

A thread samples the stacks of all other threads at intervals; speedscope.app shows the profile as a flame graph.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections import Counter
from itertools import islice
from types import CodeType, FrameType

import orjson

INTERVAL = 0.01  # seconds
MOST_SECONDS = 120.0
_DEEP = 200  # functions of a stack that are kept, the innermost ones
_SOME = 10_000  # objects that are counted before other threads run
_KINDS = 100  # lines of the answer

PAGE = """<html>
<head><title>/debug/pprof/</title></head>
<body>
<p>Profiles of this server:</p>
<ul>
<li><a href="profile?seconds=10">profile</a>: what all threads do in the next seconds, a file for
<a href="https://www.speedscope.app">speedscope</a></li>
<li><a href="heap">heap</a>: the kinds of objects that take the most memory</li>
</ul>
</body>
</html>
"""

_Place = tuple[str, str, int]


def profile(seconds: float) -> bytes:
    """Samples all threads for `seconds`; the profile as a speedscope file (JSON). Call it in a thread."""
    places: dict[_Place, int] = {}
    stacks: dict[str, Counter[tuple[int, ...]]] = {}
    own, names = threading.get_ident(), {each.ident: each.name for each in threading.enumerate()}
    until = time.monotonic() + min(max(seconds, INTERVAL), MOST_SECONDS)
    while time.monotonic() < until:
        for thread, frame in sys._current_frames().items():
            if thread != own:
                name = names.get(thread, str(thread))
                stacks.setdefault(name, Counter())[_stack(frame, places)] += 1
        time.sleep(INTERVAL)
    frames = [{"name": name, "file": file, "line": line} for name, file, line in places]
    found = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": "apiserver-gateway",
        "shared": {"frames": frames},
        "profiles": [_sampled(name, each) for name, each in stacks.items()],
    }
    return orjson.dumps(found)


def _stack(frame: FrameType | None, places: dict[_Place, int]) -> tuple[int, ...]:
    """The indices in `places` of the functions on a stack, the outermost first."""
    found: list[int] = []
    while frame is not None and len(found) < _DEEP:
        found.append(places.setdefault(_place(frame.f_code), len(places)))
        frame = frame.f_back
    return tuple(reversed(found))


def _place(code: CodeType) -> _Place:
    return code.co_qualname, code.co_filename, code.co_firstlineno


def _sampled(name: str, stacks: Counter[tuple[int, ...]]) -> dict[str, object]:
    weights = [count * INTERVAL for count in stacks.values()]
    return {
        "type": "sampled",
        "name": name,
        "unit": "seconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": list(stacks),
        "weights": weights,
    }


def heap() -> bytes:
    """The types whose objects take the most memory, as text: bytes, number and name. Call it in a thread."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    objects = iter(_tracked())
    while some := list(islice(objects, _SOME)):
        for each in some:
            kind = type(each)
            name = f"{kind.__module__}.{kind.__qualname__}"
            counts[name] += 1
            sizes[name] += sys.getsizeof(each, 0)
        time.sleep(0)  # lets other threads run
    lines = [f"{size:>14} {counts[name]:>10}  {name}\n" for name, size in sizes.most_common(_KINDS)]
    return f"{'bytes':>14} {'objects':>10}  kind\n{''.join(lines)}".encode()


def _tracked() -> list[object]:
    """The objects that the garbage collector tracks, with the frozen ones (gateway/memory.py)."""
    collecting = gc.isenabled()
    gc.disable()  # a collection would now scan the unfrozen objects too
    try:
        gc.unfreeze()
        found: list[object] = gc.get_objects()
        gc.freeze()
    finally:
        if collecting:
            gc.enable()
    return found
