"""Serves as `python -m gateway` of the current directory does, and looks where it is each millisecond of CPU time.

SIGUSR1 begins; SIGUSR2 ends, and writes samples by stage as JSON to the file that PROFILE_OUT names. A sample counts
for the innermost function whose module belongs to a stage (STAGES): what such a function calls counts for it. What runs
in C is seen at the next step of Python, so that TLS counts for HTTP, and epoll for what comes next. Samples slow the
server by some percent; all stages alike. With PROFILE_BY=stack samples are by the functions that run, outermost first.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

REST = "event loop and tasks"

STAGES = {
    "HTTP and TLS": ("uvicorn/", "/ssl.py", "gateway/http/protocol", "gateway/http/cycle", "gateway/http/scope"),
    "answer: head, sending": ("gateway/http/send", "gateway/http/framing", "gateway/writing/answer"),
    "authentication": ("gateway/requests/identity", "gateway/access/authentication", "gateway/access/impersonation"),
    "priority and fairness": ("gateway/flowcontrol/",),
    "authorization": ("gateway/requests/access", "gateway/access/"),
    "default": ("gateway/defaults/",),
    "admission": ("gateway/admission/", "gateway/quotas/", "gateway/allocation/"),
    "managed fields": ("gateway/apply/", "gateway/writing/field_tracking"),
    "encode": (
        "gateway/schema/encode",
        "gateway/schema/order",
        "gateway/endpoints/write_version",
        "gateway/encodings/",
    ),
    "read and decode the body": ("gateway/writing/body", "gateway/schema/"),
    "prepare and validate": ("gateway/kinds/", "gateway/validation/"),
    "etcd client, gRPC": ("storage/etcd/", "grpc/", "storage/store", "storage/change", "storage/metrics"),
    "cache, watches, controllers": ("storage/", "gateway/controllers/", "gateway/reading/"),
    "stages, routes, metrics": ("gateway/requests/", "gateway/verbs/", "gateway/http/", "gateway/launch/"),
    "course of the write": ("gateway/writing/", "gateway/endpoints/", "gateway/time_limits", "gateway/jsontypes"),
}
"""The modules of each stage, as parts of their paths. The first stage that matches counts."""

_found: Counter[str] = Counter()
_known: dict[CodeType, str] = {}


def stage_of(path: str) -> str:
    """The stage of a module's file, or ""."""
    tail = path[max(path.rfind("/gateway/"), path.rfind("/storage/"), path.rfind("/site-packages/"), 0) :]
    return next((stage for stage, parts in STAGES.items() if any(part in tail for part in parts)), "")


def stack_of(frame: FrameType | None) -> str:
    """The functions that run, outermost first, each as FILE:NAME, with semicolons between them."""
    found = list[str]()
    while frame is not None:
        code = frame.f_code
        name = _known.get(code)
        if name is None:
            name = _known[code] = f"{_short(code.co_filename)}:{code.co_qualname}"
        found.append(name)
        frame = frame.f_back
    return ";".join(reversed(found))


def _short(path: str) -> str:
    """A file's path from its package on: nothing of where this machine has it."""
    for root in ("/site-packages/", f"/python3.{sys.version_info.minor}/"):
        if root in path:
            return path.rpartition(root)[2]
    return next((path[path.rfind(root) + 1 :] for root in ("/gateway/", "/storage/") if root in path), Path(path).name)


def _stage(frame: FrameType | None) -> str:
    while frame is not None:
        code = frame.f_code
        stage = _known.get(code)
        if stage is None:
            stage = _known[code] = stage_of(code.co_filename)
        if stage and code.co_name not in ("launch", "_run", "serve"):  # below which everything runs
            return stage
        frame = frame.f_back
    return REST


_look = stack_of if os.environ.get("PROFILE_BY") == "stack" else _stage


def _sample(_signal: int, frame: FrameType | None) -> None:
    _found[_look(frame)] += 1


def _begin(*_: object) -> None:
    signal.set_wakeup_fd(-1)  # the server would be woken by each sample
    _found.clear()
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)


def _end(*_: object) -> None:
    signal.setitimer(signal.ITIMER_PROF, 0, 0)
    out = Path(os.environ["PROFILE_OUT"])
    out.with_suffix(".part").write_text(json.dumps(_found), encoding="utf-8")
    out.with_suffix(".part").rename(out)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _begin)
    signal.signal(signal.SIGUSR2, _end)
    signal.signal(signal.SIGPROF, _sample)
    signal.siginterrupt(signal.SIGPROF, False)
    runpy.run_module("gateway", run_name="__main__")
