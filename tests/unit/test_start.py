"""Which modules a start imports, and which it leaves for later."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gateway.launch import launch
from tests.unit.later import LATER, within

ROOT = Path(__file__).parents[2]

ALSO_LATER = (  # beside tests/unit/later.py: what those parts import in their turn
    "gateway.admission.webhooks.webhook_call",  # with the first webhook
    "gateway.customresources.cleanup",
    "gateway.customresources.model",
    "gateway.validation.private_keys",
    "jsonpatch",
    "gateway.validation.schema_values",
    "gateway.kinds.strategies.customresourcedefinitions",
    "gateway.launch.preflight",  # by what starts a process, and by the doctor
    "fastapi",  # with the first request for version, metrics or documents
    "click",  # for people
    "multiprocessing",
)

MOST = 516  # modules of the server's own: phases of a write, routes, tasks, owners of metrics, readers, early versions


SHARE = 6.0  # of the CPU time of an import of the libraries: 3.4 to 4.2 were measured


def said(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_what_nobody_has_asked_for_is_not_imported() -> None:
    imported = said("import sys, gateway.launch.process; print(*sys.modules)").split()
    assert [each for each in imported if within(each, LATER) or each in ALSO_LATER] == []


def test_a_start_imports_no_more_modules_than_it_did() -> None:
    """Each module costs a tenth of a millisecond or more, and ten times that while it is not compiled: what is large
    and rare is imported at its first use (tests/unit/later.py).
    """
    own = said("import sys, gateway.launch.process; print(*sys.modules)").split()
    assert sum(each.startswith(("gateway.", "storage.")) for each in own) <= MOST


def test_no_collection_of_garbage_delays_a_start() -> None:
    code = (
        "import gc, gateway.commands.cli as cli, gateway.commands.serving as serving\n"
        "collections = []\n"
        "def imports(words):\n    import gateway.launch.process\n    return 0\n"
        "serving.serve = imports\n"
        "gc.callbacks.append(lambda phase, _: collections.append(phase))\n"
        "print(cli.main(['serve']), len(collections))"
    )
    assert said(code) == "0 0\n"


def test_an_import_of_the_server_takes_little_beside_its_libraries() -> None:
    """`python -m tests.benchmarks.imports` says which module takes how long. The libraries do not depend on the server,
    so that their CPU time, in the same run, says how fast the machine is.
    """
    nothing = _cpu("pass")
    libraries = _cpu("import asyncio, ssl, grpc.aio, uvicorn, orjson") - nothing
    assert _cpu("import gateway.launch.process") - nothing <= SHARE * libraries


def _cpu(code: str) -> float:
    """The least CPU seconds of a new interpreter that runs some code."""
    found = list[float]()
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        said(code)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def test_uvicorn_is_whole_to_whoever_asks_for_more() -> None:
    code = "import gateway.http.engine as ours, uvicorn; print(uvicorn.run.__module__, uvicorn.Server is ours.Server)"
    assert said(code) == "uvicorn.main True\n"


def test_models_of_documents_are_built_when_they_are_used() -> None:
    code = (
        "import gateway.operations.framework, pydantic; from fastapi.openapi.models import Schema\n"
        "class Own(pydantic.BaseModel):\n    number: int\n"
        "print(Schema.__pydantic_complete__, Own.__pydantic_complete__)\n"
        "made = Schema(items={'type': 'string'})\n"
        "print(made.items.type, Schema.__pydantic_complete__, Own(number='1').number)"
    )
    assert said(code) == "False True\nstring True 1\n"


def test_who_starts_a_killed_server_again_keeps_its_directory() -> None:
    for said in (b"", b"\n"):
        ours, theirs = socket.socketpair()
        with theirs, ThreadPoolExecutor(1) as pool:
            alone = pool.submit(launch._is_alone, theirs.fileno())
            ours.send(said)
            ours.close()
            assert alone.result() is (not said), "it says so when it has killed the server"
