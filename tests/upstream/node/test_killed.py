"""A cluster whose owner is killed leaves nothing behind. (This file is before test_nodes.py, whose cluster stays.)"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.until import until
from tests.upstream.node import programs
from tests.upstream.node.cluster import CGROUPS, groups
from tests.upstream.node.conftest import MARK

_OWNER = """
import time
from tests.upstream.node.cluster import cluster
from tests.upstream.node.joining import join
with cluster() as made:
    join(made, "n1")
    print(made.directory, made.init, flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(not os.environ.get(MARK), reason="there are no nodes: `make test-nodes` runs these tests, as root")
def test_a_killed_owner_leaves_nothing_behind() -> None:
    links = _links()
    words = [sys.executable, "-c", _OWNER]
    owner = subprocess.Popen(words, cwd=programs.ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert owner.stdout is not None
    with owner.stdout as told:
        directory, init = told.readline().split()
    processes = _processes(int(init))
    assert len(processes) > 8, "the control plane and a node run"
    assert _groups(Path(directory))
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    until(lambda: not any(Path(f"/proc/{each}").exists() for each in processes), told=lambda: "a process is left")
    until(lambda: not Path(directory).exists(), told=lambda: "a directory is left")
    assert not _groups(Path(directory)), "control groups are left"
    assert directory not in Path("/proc/self/mounts").read_text()
    assert _links() == links


def _processes(first: int) -> list[int]:
    """The processes of the PID namespaces of a process and of nodes that are started in it."""
    found: dict[int, tuple[str, str]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            own, of_children = (str((place / "ns" / name).readlink()) for name in ("pid", "pid_for_children"))
            found[int(place.name)] = own, of_children
    control_plane, _ = found[first]
    namespaces = {control_plane} | {children for own, children in found.values() if own == control_plane}
    return [process for process, (own, _) in found.items() if own in namespaces]


def _groups(directory: Path) -> list[Path]:
    return [each for hierarchy in CGROUPS.iterdir() for each in hierarchy.glob(groups(directory))]


def _links() -> list[str]:
    """The network interfaces of this machine."""
    return sorted(each.name for each in Path("/sys/class/net").iterdir())
